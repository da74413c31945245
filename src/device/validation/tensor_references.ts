/**
 * References of tensor operations in double precision, and bounds of their errors.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { narrowFromFloat32, widenToFloat32 } from "../../memory/element_bits.ts";

/** A function of one or two elements in double precision. */
type Reference = (x: number, y: number) => number;

/** A function, the bound of its error in units of the last place, and where it holds. */
export type NumericReference<F = (x: number, y: number, result: DType) => number> = readonly [
  F,
  number,
  ((x: number) => boolean)?,
];

/** Abramowitz and Stegun 7.1.6, whose terms are all positive. */
function erf(x: number): number {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; n < 200; n++) sum += term *= 2 * x * x / (2 * n + 1);
  return sum * 2 / Math.sqrt(Math.PI) * Math.exp(-x * x);
}

/** The nearest integer, of ties the even one. */
export function roundToEven(x: number): number {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

const gelu = (x: number) => 0.5 * x * (1 + erf(x * Math.SQRT1_2));

/** Whether float32 holds exp(-x), or its quotients are 0. */
const hasExponential = (x: number) => x > -80 || x < -200;

/** The remainder is exact; the sign is the divisor's. */
function floorModulus(x: number, y: number): number {
  const rest = x % y;
  return rest !== 0 && (rest < 0) !== (y < 0) ? rest + y : rest;
}

/** The quotient that fits the remainder, as NumPy's. */
function floorQuotient(x: number, y: number): number {
  const rest = x % y;
  if (y === 0 || Number.isNaN(rest)) return y === 0 ? x / y : NaN;
  return Math.round((x - rest) / y) - (rest !== 0 && (rest < 0) !== (y < 0) ? 1 : 0);
}

/**
 * Functions of one operand, the bound of their error in units of the last place, and where it holds.
 */
export const UNARY: Readonly<Record<string, NumericReference<Reference>>> = {
  negative: [(x) => -x, 0],
  abs: [Math.abs, 0],
  sign: [Math.sign, 0],
  square: [(x) => x * x, 1],
  reciprocal: [(x) => 1 / x, 1],
  sqrt: [Math.sqrt, 1],
  rsqrt: [(x) => 1 / Math.sqrt(x), 3],
  exp: [Math.exp, 5],
  exp2: [(x) => 2 ** x, 5],
  expm1: [Math.expm1, 6],
  log: [Math.log, 6],
  log2: [Math.log2, 6],
  log10: [Math.log10, 6],
  log1p: [Math.log1p, 6],
  sin: [Math.sin, 6],
  cos: [Math.cos, 6],
  tan: [Math.tan, 8],
  asin: [Math.asin, 6],
  acos: [Math.acos, 6],
  atan: [Math.atan, 6],
  sinh: [Math.sinh, 6],
  cosh: [Math.cosh, 6],
  tanh: [Math.tanh, 6],
  asinh: [Math.asinh, 6],
  acosh: [Math.acosh, 6],
  atanh: [Math.atanh, 6],
  erf: [erf, 12, (x) => Math.abs(x) < 6],
  floor: [Math.floor, 0],
  ceil: [Math.ceil, 0],
  trunc: [Math.trunc, 0],
  round: [roundToEven, 0],
  relu: [(x) => x < 0 ? 0 : x, 0],
  gelu: [gelu, 64, (x) => x > -1 && x < 3],
  geluTanh: [
    (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
    64,
    (x) => x > -1,
  ],
  silu: [(x) => x / (1 + Math.exp(-x)), 12, hasExponential],
  sigmoid: [(x) => 1 / (1 + Math.exp(-x)), 12, hasExponential],
  softplus: [(x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))), 12],
  isnan: [(x) => Number(Number.isNaN(x)), 0],
  isfinite: [(x) => Number(Number.isFinite(x)), 0],
  isinf: [(x) => Number(Math.abs(x) === Infinity), 0],
  signbit: [(x) => Number(x < 0 || Object.is(x, -0)), 0],
  logicalNot: [(x) => Number(x === 0), 0],
};

/** Functions of two operands, and the bound of their error likewise. */
export const BINARY: Readonly<Record<string, readonly [Reference, number]>> = {
  add: [(x, y) => x + y, 1],
  subtract: [(x, y) => x - y, 1],
  multiply: [(x, y) => x * y, 1],
  divide: [(x, y) => x / y, 1],
  floorDivide: [floorQuotient, 0],
  remainder: [
    (x, y) => y === 0 || Number.isNaN(y) || !Number.isFinite(x) ? NaN : floorModulus(x, y),
    1,
  ],
  // As in C: 1 to any power is 1, and so is -1 to an infinite one.
  pow: [(x, y) => x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y, 5],
  maximum: [(x, y) => Math.max(x, y), 0],
  minimum: [(x, y) => Math.min(x, y), 0],
  atan2: [Math.atan2, 6],
  hypot: [(x, y) => Math.hypot(x, y), 2],
  copysign: [(x, y) => Math.abs(x) * (y < 0 || Object.is(y, -0) ? -1 : 1), 0],
  equal: [(x, y) => Number(x === y), 0],
  notEqual: [(x, y) => Number(x !== y), 0],
  less: [(x, y) => Number(x < y), 0],
  lessEqual: [(x, y) => Number(x <= y), 0],
  greater: [(x, y) => Number(x > y), 0],
  greaterEqual: [(x, y) => Number(x >= y), 0],
  logicalAnd: [(x, y) => Number(x !== 0 && y !== 0), 0],
  logicalOr: [(x, y) => Number(x !== 0 || y !== 0), 0],
  logicalXor: [(x, y) => Number((x !== 0) !== (y !== 0)), 0],
};

/** Functions that are compared with moderate numbers only. */
export const FURTHER: Readonly<Record<string, NumericReference>> = {
  positive: [(x) => x, 0],
  logaddexp: [(x, y) => Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y))), 12, (x) => x >= 0],
  // Below a power of 2 the distance is half.
  nextafter: [
    (x, y, dtype) => rounded(dtype, x + Math.sign(y - x) * 0.6 * lastPlace(dtype, x)),
    0,
  ],
};

/** Shifts of integers by less than the width. */
export const SHIFTS: Readonly<Record<string, (x: bigint, y: bigint) => bigint>> = {
  bitwiseLeftShift: (x, y) => x << y,
  bitwiseRightShift: (x, y) => x >> y,
};

/** Functions of integers, which are exact modulo the width. */
export const INTEGER: Readonly<Record<string, (x: bigint, y: bigint) => bigint>> = {
  add: (x, y) => x + y,
  subtract: (x, y) => x - y,
  multiply: (x, y) => x * y,
  floorDivide: (x, y) => y === 0n ? 0n : x / y - (x % y !== 0n && (x < 0n) !== (y < 0n) ? 1n : 0n),
  remainder: (x, y) => y === 0n ? 0n : ((x % y) + y) % y,
  pow: (x, y) => y >= 0n ? x ** y : x === 1n ? 1n : x === -1n ? (y % 2n === 0n ? 1n : -1n) : 0n,
  maximum: (x, y) => x > y ? x : y,
  minimum: (x, y) => x < y ? x : y,
  bitwiseAnd: (x, y) => x & y,
  bitwiseOr: (x, y) => x | y,
  bitwiseXor: (x, y) => x ^ y,
  negative: (x) => -x,
  abs: (x) => x < 0n ? -x : x,
  sign: (x) => x > 0n ? 1n : x < 0n ? -1n : 0n,
  square: (x) => x * x,
  bitwiseInvert: (x) => ~x,
};

/** Digits of floating types. */
const BITS: Partial<Record<DType, number>> = {
  ...{ float64: 53, float32: 24, float16: 11, bfloat16: 8 },
  ...{ float8_e4m3: 4, float8_e5m2: 3 },
};
/** Their smallest normal numbers. */
const LEAST: Partial<Record<DType, number>> = {
  float64: 2 ** -1022,
  float32: 2 ** -126,
  float16: 2 ** -14,
  bfloat16: 2 ** -126,
  float8_e4m3: 2 ** -6,
  float8_e5m2: 2 ** -14,
};

/** The unit of the last place of a number. */
function lastPlace(dtype: DType, x: number): number {
  const exponent = Math.floor(Math.log2(Math.max(Math.abs(x), LEAST[dtype]!)));
  return 2 ** (exponent + 1 - BITS[dtype]!);
}

/** Numbers rounded to a floating type. */
export function roundedNumbers(dtype: DType, numbers: readonly number[]): number[] {
  if (dtype === "float64") return [...numbers];
  const singles = Float32Array.from(numbers);
  if (dtype === "float32") return [...singles];
  const narrow = narrowFromFloat32(dtype as "float16", singles);
  return [...widenToFloat32(dtype as "float16", narrow as never)];
}

/** A number rounded to a floating type. */
export function rounded(dtype: DType, x: number): number {
  return dtype === "float64"
    ? x
    : dtype === "float32"
    ? Math.fround(x)
    : roundedNumbers(dtype, [x])[0]!;
}

/** The distance in units of the last place of the expected value. */
export function unitsInLastPlace(dtype: DType, actual: number, expected: number): number {
  if (Object.is(actual, expected) || (actual === 0 && expected === 0)) return 0;
  const nearest = rounded(dtype, expected);
  if (Number.isNaN(expected) || Number.isNaN(actual) || !Number.isFinite(nearest)) {
    return Object.is(nearest, actual) ? 0 : Infinity;
  }
  return Math.abs(actual - expected) / lastPlace(dtype, expected);
}
