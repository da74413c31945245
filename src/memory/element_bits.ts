/**
 * The bit pattern of one element, for filling memory.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import { bytesPerElement, type DType, type ElementOf } from "./dtype.ts";
import { narrowFloatBits } from "./narrow_float.ts";

/** The bit pattern of an element of type `D`: a big integer where it has 64 bits. */
export type ElementBits<D extends DType> = D extends "float64" | "int64" ? bigint : number;

/** Lowest and highest value of the integer types that a number holds exactly. */
const INTEGER_RANGE: { readonly [dtype: string]: readonly [number, number] } = {
  int32: [-2147483648, 2147483647],
  uint32: [0, 4294967295],
  int16: [-32768, 32767],
  int8: [-128, 127],
  uint8: [0, 255],
};

const scratch = new DataView(new ArrayBuffer(8));

function rangeError(dtype: DType, allowed: string, value: unknown): RangeError {
  return new RangeError(
    `Cannot represent a value as ${dtype} as it must be ${allowed}: it is ${describeValue(value)}`,
  );
}

function int64Bits(value: unknown): bigint {
  const allowed = "an integer in -9223372036854775808..9223372036854775807, " +
    "beyond ±9007199254740991 as a bigint";
  // A number beyond 2^53 may already have lost digits of what the caller meant.
  if (typeof value !== "bigint" && !Number.isSafeInteger(value)) {
    throw rangeError("int64", allowed, value);
  }
  const integer = BigInt(value as number | bigint);
  if (BigInt.asIntN(64, integer) !== integer) throw rangeError("int64", allowed, value);
  return BigInt.asUintN(64, integer);
}

function boolBits(value: unknown): number {
  if (value === true || value === 1) return 1;
  if (value === false || value === 0) return 0;
  throw rangeError("bool", "true or false", value);
}

function integerBits(dtype: DType, value: unknown): number {
  const [lowest, highest] = INTEGER_RANGE[dtype]!;
  if (typeof value !== "number" || !Number.isInteger(value) || value < lowest || value > highest) {
    throw rangeError(dtype, `an integer in ${lowest}..${highest}`, value);
  }
  const bits = 8 * bytesPerElement(dtype);
  return bits === 32 ? value >>> 0 : value & ((1 << bits) - 1);
}

/**
 * The bit pattern that an element of a type has in memory.
 *
 * Floats are rounded to nearest, ties to even; integers must fit.
 *
 * @returns An unsigned integer: a `bigint` for the 64-bit types, else a `number`.
 * @throws {RangeError} If the value is no value of the type, an integer is out of range, or has a
 * fraction.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { elementBits } from "./element_bits.ts";
 *
 * assertEquals(elementBits("float32", 1), 0x3f800000);
 * assertEquals(elementBits("int8", -1), 0xff);
 * assertEquals(elementBits("int64", -1), 0xffffffffffffffffn);
 * ```
 */
export function elementBits<D extends DType>(dtype: D, value: ElementOf<D>): ElementBits<D>;
export function elementBits(dtype: DType, value: unknown): number | bigint {
  switch (dtype) {
    case "int64":
      return int64Bits(value);
    case "bool":
      return boolBits(value);
    case "int32":
    case "uint32":
    case "int16":
    case "int8":
    case "uint8":
      return integerBits(dtype, value);
  }
  bytesPerElement(dtype); // names the dtypes there are, if this is none of them
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
