/**
 * Bit patterns of elements, and conversions of narrow floating formats: bfloat16, float16 and the two
 * 8-bit formats of the Open Compute Project.
 *
 * Rounding is to nearest, ties to even, directly from double precision. Values beyond the largest
 * finite value become infinity in float16 and bfloat16, and the largest finite value in the 8-bit
 * formats, like the constructors of CUDA's types.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import {
  bytesPerElement,
  type DType,
  type ElementOf,
  type IntegerDType,
  integerRange,
  isIntegerDType,
  requireArrayOf,
  type TypedArrayOf,
  typedArrayOver,
} from "./dtype.ts";

/** The floating element types narrower than `float32`. */
export type NarrowFloatDType = "float16" | "bfloat16" | "float8_e4m3" | "float8_e5m2";

interface FloatFormat {
  /** Bits of the significand after the point. */
  readonly fractionBits: number;
  /** Exponent of the smallest normal number. */
  readonly minExponent: number;
  /** Unsigned bit pattern of infinity or, without infinity, of the largest finite value. */
  readonly overflow: number;
  /** Bit pattern of NaN. */
  readonly nan: number;
  /** Whether the patterns with all exponent bits set are infinity and NaN, as in IEEE 754. */
  readonly ieee: boolean;
}

const FORMATS: { readonly [D in NarrowFloatDType]: FloatFormat } = {
  float16: { fractionBits: 10, minExponent: -14, overflow: 0x7c00, nan: 0x7fff, ieee: true },
  bfloat16: { fractionBits: 7, minExponent: -126, overflow: 0x7f80, nan: 0x7fff, ieee: true },
  float8_e4m3: { fractionBits: 3, minExponent: -6, overflow: 0x7e, nan: 0x7f, ieee: false },
  float8_e5m2: { fractionBits: 2, minExponent: -14, overflow: 0x7b, nan: 0x7e, ieee: true },
};

/** Adding and subtracting 1.5 · 2^52 rounds a double to an integer, ties to even. */
const ROUNDER = 6755399441055744;

const scratch = new DataView(new ArrayBuffer(8));

/** The exponent of a positive double as stored: -1023 for subnormal numbers and zero. */
function exponentOf(magnitude: number): number {
  scratch.setFloat64(0, magnitude);
  return (scratch.getUint16(0) >> 4) - 1023;
}

function signBitOf(dtype: NarrowFloatDType): number {
  return 1 << (8 * bytesPerElement(dtype) - 1);
}

/** The bit pattern of the number of a narrow format that is nearest to a value. */
export function narrowFloatBits(dtype: NarrowFloatDType, value: number): number {
  const { fractionBits, minExponent, overflow, nan } = FORMATS[dtype];
  if (Number.isNaN(value)) return nan;
  const sign = value < 0 || Object.is(value, -0) ? signBitOf(dtype) : 0;
  const magnitude = Math.abs(value);
  const exponent = Math.max(exponentOf(magnitude), minExponent);
  if (exponent > 127) return sign | overflow;
  // Scaling by a power of two is exact, so only `units` is rounded.
  const units = magnitude * 2 ** (fractionBits - exponent) + ROUNDER - ROUNDER;
  // A carry into the next power of two increments the exponent field.
  const bits = (exponent - minExponent) * 2 ** fractionBits + units;
  return sign | Math.min(bits, overflow);
}

/** The value of a bit pattern of a narrow format. */
export function narrowFloatValue(dtype: NarrowFloatDType, bits: number): number {
  const { fractionBits, minExponent, overflow, nan, ieee } = FORMATS[dtype];
  const signBit = signBitOf(dtype);
  const magnitude = bits & (signBit - 1);
  const sign = bits & signBit ? -1 : 1;
  const exponentField = magnitude >> fractionBits;
  const fraction = magnitude & ((1 << fractionBits) - 1);
  if (ieee) {
    const exponentMask = (signBit - 1) >> fractionBits;
    if (exponentField === exponentMask) return fraction === 0 ? sign * Infinity : NaN;
  } else if (magnitude === nan && magnitude > overflow) {
    return NaN;
  }
  if (exponentField === 0) return sign * fraction * 2 ** (minExponent - fractionBits);
  const units = fraction + 2 ** fractionBits;
  return sign * units * 2 ** (exponentField - 1 + minExponent - fractionBits);
}

const encodeTables = new Map<NarrowFloatDType, Uint8Array<ArrayBuffer>>();
const decodeTables = new Map<NarrowFloatDType, Float32Array<ArrayBuffer>>();

/** The 8-bit pattern for every upper half of a float32. */
function encodeTable(dtype: "float8_e4m3" | "float8_e5m2"): Uint8Array<ArrayBuffer> {
  let table = encodeTables.get(dtype);
  if (table === undefined) {
    table = Uint8Array.from(
      { length: 65536 },
      (_, upper) => narrowFloatBits(dtype, narrowFloatValue("bfloat16", upper)),
    );
    encodeTables.set(dtype, table);
  }
  return table;
}

/** The float32 of every 8-bit pattern. */
function decodeTable(dtype: "float8_e4m3" | "float8_e5m2"): Float32Array<ArrayBuffer> {
  let table = decodeTables.get(dtype);
  if (table === undefined) {
    table = Float32Array.from({ length: 256 }, (_, bits) => narrowFloatValue(dtype, bits));
    decodeTables.set(dtype, table);
  }
  return table;
}

function bitsOfFloats(source: Float32Array): Uint32Array {
  return new Uint32Array(source.buffer, source.byteOffset, source.length);
}

function narrowToBfloat16(source: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = bitsOfFloats(source);
  const result = new Uint16Array(bits.length);
  for (let i = 0; i < bits.length; i++) {
    const word = bits[i]!;
    const isNaN = (word & 0x7fffffff) > 0x7f800000;
    // Half a unit less one, plus the last kept bit: a tie carries exactly when that bit is odd.
    result[i] = isNaN ? 0x7fff : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return result;
}

function narrowToFloat8(
  dtype: "float8_e4m3" | "float8_e5m2",
  source: Float32Array,
): Uint8Array<ArrayBuffer> {
  const bits = bitsOfFloats(source);
  const table = encodeTable(dtype);
  const result = new Uint8Array(bits.length);
  for (let i = 0; i < bits.length; i++) {
    const word = bits[i]!;
    // Rounding to odd: the lower half only breaks ties, so its OR becomes the last bit of the upper
    // half, and the table rounds once.
    result[i] = table[(word >>> 16) | (word & 0xffff ? 1 : 0)]!;
  }
  return result;
}

function widenFloat8(
  dtype: "float8_e4m3" | "float8_e5m2",
  source: Uint8Array,
): Float32Array<ArrayBuffer> {
  const table = decodeTable(dtype);
  const result = new Float32Array(source.length);
  for (let i = 0; i < result.length; i++) result[i] = table[source[i]!]!;
  return result;
}

function widenBfloat16(source: Uint16Array): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(source.length);
  for (let i = 0; i < bits.length; i++) bits[i] = source[i]! << 16;
  return new Float32Array(bits.buffer);
}

const CONVERSIONS: {
  readonly [D in NarrowFloatDType]: {
    readonly narrow: (source: Float32Array) => TypedArrayOf<D, ArrayBuffer>;
    readonly widen: (source: TypedArrayOf<D>) => Float32Array<ArrayBuffer>;
  };
} = {
  float16: {
    narrow: (source) => new Float16Array(source),
    widen: (source) => new Float32Array(source),
  },
  bfloat16: {
    narrow: narrowToBfloat16,
    widen: widenBfloat16,
  },
  float8_e4m3: {
    narrow: (source) => narrowToFloat8("float8_e4m3", source),
    widen: (source) => widenFloat8("float8_e4m3", source),
  },
  float8_e5m2: {
    narrow: (source) => narrowToFloat8("float8_e5m2", source),
    widen: (source) => widenFloat8("float8_e5m2", source),
  },
};

function requireElements<D extends DType>(
  source: unknown,
  dtype: D,
  action: string,
): TypedArrayOf<D> {
  const { buffer, byteOffset, length } = requireArrayOf(source, dtype, action, "source");
  return typedArrayOver(dtype, buffer, byteOffset, length / bytesPerElement(dtype));
}

function requireNarrowFloat(dtype: string): void {
  if (typeof dtype === "string" && Object.hasOwn(FORMATS, dtype)) return;
  throw new TypeError(
    `Cannot convert between float32 and ${describeValue(dtype)}: it must be one of ${
      Object.keys(FORMATS).join(", ")
    }`,
  );
}

/**
 * Rounds an array of float32 to a narrow format.
 *
 * @param dtype The narrow format.
 * @param source The numbers.
 * @throws {TypeError} If the format is another, or the source is no `Float32Array`.
 *
 * @example
 * ```ts
 * import { narrowFromFloat32 } from "@gridstride/cuda";
 *
 * console.log(narrowFromFloat32("bfloat16", Float32Array.of(1, -2))); // [ 16256, 49152 ]
 * ```
 * @category Memory
 */
export function narrowFromFloat32<
  D extends "float16" | "bfloat16" | "float8_e4m3" | "float8_e5m2",
>(dtype: D, source: Float32Array): TypedArrayOf<D, ArrayBuffer> {
  const elements = requireElements(source, "float32", "narrow float32");
  requireNarrowFloat(dtype);
  return CONVERSIONS[dtype].narrow(elements);
}

/**
 * Widens an array of a narrow format to float32, which represents all of its values exactly.
 *
 * @param dtype The narrow format.
 * @param source The elements of that format.
 * @throws {TypeError} If the format is another, or the source has not its array type.
 *
 * @example
 * ```ts
 * import { widenToFloat32 } from "@gridstride/cuda";
 *
 * console.log(widenToFloat32("bfloat16", Uint16Array.of(0x3f80, 0xc000))); // [ 1, -2 ]
 * ```
 * @category Memory
 */
export function widenToFloat32<
  D extends "float16" | "bfloat16" | "float8_e4m3" | "float8_e5m2",
>(dtype: D, source: TypedArrayOf<D>): Float32Array<ArrayBuffer> {
  requireNarrowFloat(dtype);
  return CONVERSIONS[dtype].widen(requireElements(source, dtype, "widen to float32"));
}

/** The bit pattern of an element of type `D`: a `bigint` for 64-bit types. */
export type ElementBits<D extends DType> = D extends "float64" | "int64" | "uint64" ? bigint
  : number;

function rangeError(dtype: DType, allowed: string, value: unknown): RangeError {
  return new RangeError(
    `Cannot represent a value as ${dtype} as it must be ${allowed}: it is ${describeValue(value)}`,
  );
}

function boolBits(value: unknown): number {
  if (value === true || value === 1) return 1;
  if (value === false || value === 0) return 0;
  throw rangeError("bool", "true or false", value);
}

function integerBits(dtype: IntegerDType, value: unknown): number | bigint {
  const { lowest, highest } = integerRange(dtype)!;
  const bytes = bytesPerElement(dtype);
  // A number beyond 2^53 may already have lost digits.
  const isInteger = Number.isSafeInteger(value) || (bytes === 8 && typeof value === "bigint");
  const integer = isInteger ? BigInt(value as number | bigint) : lowest - 1n;
  if (integer < lowest || integer > highest) {
    const wide = bytes === 8 ? ", beyond ±9007199254740991 as a bigint" : "";
    throw rangeError(dtype, `an integer in ${lowest}..${highest}${wide}`, value);
  }
  const bits = BigInt.asUintN(8 * bytes, integer);
  return bytes === 8 ? bits : Number(bits);
}

/**
 * The bit pattern of an element in memory.
 *
 * Floats are rounded to nearest, ties to even; integers must fit.
 *
 * @returns An unsigned integer: a `bigint` for the 64-bit types, else a `number`.
 * @throws {RangeError} If the value does not have the type, or an integer is out of range or has a
 * fraction.
 */
export function elementBits<D extends DType>(dtype: D, value: ElementOf<D>): ElementBits<D>;
export function elementBits(dtype: DType, value: unknown): number | bigint {
  bytesPerElement(dtype); // throws if the dtype is unknown
  if (dtype === "bool") return boolBits(value);
  if (isIntegerDType(dtype)) return integerBits(dtype, value);
  if (typeof value !== "number") throw rangeError(dtype, "a number", value);
  switch (dtype) {
    case "float64":
      scratch.setFloat64(0, value);
      return scratch.getBigUint64(0);
    case "float32":
      scratch.setFloat32(0, value);
      return scratch.getUint32(0);
    default:
      return narrowFloatBits(dtype, value);
  }
}
