/**
 * Validation of fill, add, multiply, scale and axpy.
 *
 * @module
 */

import {
  FLOATING_DTYPES,
  type FloatingDType,
  NUMERIC_DTYPES,
  type NumericDType,
} from "../../kernels/operands.ts";
import {
  bytesPerElement,
  createTypedArray,
  type DType,
  DTYPES,
  type ElementOf,
  integerRange,
  type TypedArrayOf,
} from "../../memory/dtype.ts";
import { narrowFloatBits } from "../../memory/element_bits.ts";
import { SUBNORMAL_ROUNDOFF, UNIT_ROUNDOFF } from "./bounds.ts";
import {
  compareBytes,
  compareNumbers,
  isBig,
  randomElements,
  readNumbers,
  storeNumbers,
  type ValidationCase,
} from "./validation_case.ts";

/** A value with different bytes in types of several bytes. */
function fillValue(dtype: DType): ElementOf<DType> {
  if (dtype === "bool") return true;
  const range = integerRange(dtype);
  if (range === undefined) return 1.25;
  const bits = 8 * bytesPerElement(dtype);
  const value = 0xfedcba9876543210n >> BigInt(64 - bits);
  const integer = range.lowest === 0n ? value : BigInt.asIntN(bits, value);
  return bits === 64 ? integer : Number(integer);
}

function filled<D extends DType>(dtype: D, length: number): TypedArrayOf<D, ArrayBuffer> {
  const array = createTypedArray(dtype, length) as unknown as { fill(value: unknown): void };
  const value = fillValue(dtype);
  const isRaw = dtype === "bfloat16" || dtype === "float8_e4m3" || dtype === "float8_e5m2";
  array.fill(
    isRaw ? narrowFloatBits(dtype, value as number) : dtype === "bool" ? 1 : value,
  );
  return array as unknown as TypedArrayOf<D, ArrayBuffer>;
}

function fillCase(dtype: DType): ValidationCase {
  return {
    operation: "fill",
    dtype,
    async run(device, size) {
      using out = device.allocate(dtype, size);
      device.kernels.fill(out, fillValue(dtype));
      return compareBytes(await out.toArray(), filled(dtype, size));
    },
  };
}

/** Sum or product of two stored elements, stored again: wrapping, or rounded once. */
function storedResult<D extends NumericDType>(
  operation: "add" | "multiply",
  dtype: D,
  x: TypedArrayOf<D>,
  y: TypedArrayOf<D>,
): TypedArrayOf<D, ArrayBuffer> {
  if (isBig(x) && isBig(y)) {
    const stored = createTypedArray(dtype, x.length);
    // Storing a big integer takes it modulo 2^64.
    if (isBig(stored)) {
      x.forEach((a, i) => stored[i] = operation === "add" ? a + y[i]! : a * y[i]!);
    }
    return stored;
  }
  const a = readNumbers(dtype, x);
  const b = readNumbers(dtype, y);
  if (dtype.startsWith("float") || dtype === "bfloat16") {
    const combined = a.map((value, i) => operation === "add" ? value + b[i]! : value * b[i]!);
    return storeNumbers(dtype, combined);
  }
  const stored = createTypedArray(dtype, a.length) as unknown as Int32Array;
  // Storing an integer in a typed array takes it modulo 2^bits.
  a.forEach((value, i) =>
    stored[i] = operation === "add" ? value + b[i]! : Math.imul(value, b[i]!)
  );
  return stored as unknown as TypedArrayOf<D, ArrayBuffer>;
}

function binaryCase(operation: "add" | "multiply", dtype: NumericDType): ValidationCase {
  return {
    operation,
    dtype,
    async run(device, size, random) {
      const a = randomElements(dtype, size, random);
      const b = randomElements(dtype, size, random);
      using x = device.upload(a, { dtype });
      using y = device.upload(b, { dtype });
      using out = device.allocate(dtype, size);
      device.kernels[operation](x, y, out);
      return compareNumbers(
        readNumbers(dtype, await out.toArray()),
        readNumbers(dtype, storedResult(operation, dtype, a, b)),
        () => 0,
      );
    },
  };
}

/** The scalar that the kernel receives: single precision except for double. */
function scalar(dtype: FloatingDType, value: number): number {
  return dtype === "float64" ? value : Math.fround(value);
}

/** Error bound of one fused multiply-add, rounded once to the element type. */
function fusedBound(dtype: FloatingDType, product: number, addend: number): number {
  const narrow = dtype === "float16" || dtype === "bfloat16";
  // The reference rounds product and sum in double precision; half-width results are rounded
  // from single precision.
  const inner = narrow ? UNIT_ROUNDOFF.float32 : 2 * UNIT_ROUNDOFF.float64;
  return Math.abs(product + addend) * UNIT_ROUNDOFF[dtype] * (1 + 2 ** -7) +
    (Math.abs(product) + Math.abs(addend)) * inner + SUBNORMAL_ROUNDOFF[dtype];
}

const FACTOR = 0.7;
const OFFSET = -1.3;

function scaleCase(dtype: FloatingDType): ValidationCase {
  return {
    operation: "scale",
    dtype,
    async run(device, size, random) {
      const a = randomElements(dtype, size, random);
      using x = device.upload(a, { dtype });
      using out = device.allocate(dtype, size);
      device.kernels.scale(x, FACTOR, out, { offset: OFFSET });
      const factor = scalar(dtype, FACTOR);
      const offset = scalar(dtype, OFFSET);
      const values = readNumbers(dtype, a);
      return compareNumbers(
        readNumbers(dtype, await out.toArray()),
        values.map((value) => factor * value + offset),
        (i) => fusedBound(dtype, factor * values[i]!, offset),
      );
    },
  };
}

function axpyCase(dtype: FloatingDType): ValidationCase {
  return {
    operation: "axpy",
    dtype,
    async run(device, size, random) {
      const a = randomElements(dtype, size, random);
      const b = randomElements(dtype, size, random);
      using x = device.upload(a, { dtype });
      using y = device.upload(b, { dtype });
      device.kernels.axpy(FACTOR, x, y);
      const factor = scalar(dtype, FACTOR);
      const xs = readNumbers(dtype, a);
      const ys = readNumbers(dtype, b);
      return compareNumbers(
        readNumbers(dtype, await y.toArray()),
        xs.map((value, i) => factor * value + ys[i]!),
        (i) => fusedBound(dtype, factor * xs[i]!, ys[i]!),
      );
    },
  };
}

/** All cases of this file. */
export const ELEMENTWISE_CASES: readonly ValidationCase[] = [
  ...DTYPES.map(fillCase),
  ...NUMERIC_DTYPES.map((dtype) => binaryCase("add", dtype)),
  ...NUMERIC_DTYPES.map((dtype) => binaryCase("multiply", dtype)),
  ...FLOATING_DTYPES.map(scaleCase),
  ...FLOATING_DTYPES.map(axpyCase),
];
