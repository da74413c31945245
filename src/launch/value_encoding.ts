/**
 * Numbers and vectors to the bytes that a kernel sees, and back.
 *
 * A value that has no such bytes is a result here, not an exception: who passed it, and for what,
 * only the caller knows, and says so in the error.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import {
  narrowFloatBits,
  type NarrowFloatDType,
  narrowFloatValue,
} from "../memory/narrow_float.ts";
import { bytesOfScalar, integerRange, type ScalarType } from "./c_types.ts";
import type { VectorType } from "./vector_types.ts";

/** Why a value cannot be encoded. */
export interface EncodingProblem {
  /** Where in the value it is: `.position[2]`; empty for the value itself. */
  readonly path: string;
  /** What was allowed there: `an integer in 0..255`. */
  readonly allowed: string;
  /** What came. */
  readonly value: unknown;
  /** Whether it is of the right kind and out of range. */
  readonly isRange: boolean;
}

/**
 * The error for a value that cannot be encoded.
 *
 * @param subject What was done with it, and what it was called, to which the path is appended:
 * `Cannot launch f as argument particle`.
 */
export function encodingError(
  subject: string,
  { path, allowed, value, isRange }: EncodingProblem,
): TypeError | RangeError {
  const ErrorClass = isRange ? RangeError : TypeError;
  return new ErrorClass(`${subject}${path} must be ${allowed}: it is ${describeValue(value)}`);
}

/** Whether a type is a float of 16 or 8 bits, which JavaScript rounds here. */
export function isNarrowFloat(type: ScalarType): type is NarrowFloatDType {
  return type === "float16" || type === "bfloat16" || type.startsWith("float8");
}

/** What values a type takes, in words. */
function allowedValues(type: ScalarType): string {
  if (type === "bool") return "a boolean";
  const range = integerRange(type);
  if (range === undefined) return "a number";
  const integers = `an integer in ${range.lowest}..${range.highest}`;
  return bytesOfScalar(type) < 8
    ? integers
    : `${integers}, beyond ${Number.MAX_SAFE_INTEGER} as a bigint`;
}

function scalarProblem(type: ScalarType, value: unknown): EncodingProblem {
  const isNumber = typeof value === "number" ||
    (typeof value === "bigint" && bytesOfScalar(type) === 8);
  const isRange = isNumber && integerRange(type) !== undefined;
  return { path: "", allowed: allowedValues(type), value, isRange };
}

function writeInteger(type: ScalarType, value: number, view: DataView, offset: number): void {
  switch (bytesOfScalar(type)) {
    case 1:
      return view.setUint8(offset, value);
    case 2:
      return view.setUint16(offset, value, true);
    default:
      return view.setUint32(offset, value, true);
  }
}

/** The value as a 64-bit integer of the type; `undefined` where it is none. */
function wideInteger(type: ScalarType, value: unknown): bigint | undefined {
  const { lowest, highest } = integerRange(type)!;
  // A number beyond 2^53 may already have lost digits of what the caller meant.
  if (typeof value !== "bigint" && !Number.isSafeInteger(value)) return undefined;
  const integer = BigInt(value as number | bigint);
  return integer < lowest || integer > highest ? undefined : integer;
}

/** Encodes an integer, and says whether it is one of the type. */
function encodeInteger(
  type: ScalarType,
  value: unknown,
  view: DataView,
  offset: number,
): boolean {
  if (bytesOfScalar(type) === 8) {
    const integer = wideInteger(type, value);
    if (integer === undefined) return false;
    view.setBigUint64(offset, BigInt.asUintN(64, integer), true);
    return true;
  }
  const { lowest, highest } = integerRange(type)!;
  if (typeof value !== "number" || !Number.isInteger(value)) return false;
  if (value < Number(lowest) || value > Number(highest)) return false;
  writeInteger(type, value, view, offset);
  return true;
}

/** Encodes a float, and says whether the value is a number. */
function encodeFloat(type: ScalarType, value: unknown, view: DataView, offset: number): boolean {
  if (typeof value !== "number") return false;
  if (type === "float64") view.setFloat64(offset, value, true);
  else if (type === "float32") view.setFloat32(offset, value, true);
  else writeInteger(type, narrowFloatBits(type as NarrowFloatDType, value), view, offset);
  return true;
}

/**
 * Encodes one number or truth value: floats are rounded to nearest, ties to even; integers must
 * fit. Bytes are little-endian, as on every machine with CUDA.
 *
 * @returns Why it cannot be; `undefined` once it is.
 */
export function encodeScalar(
  type: ScalarType,
  value: unknown,
  view: DataView,
  offset: number,
): EncodingProblem | undefined {
  if (type === "bool") {
    if (typeof value !== "boolean") return scalarProblem(type, value);
    view.setUint8(offset, value ? 1 : 0);
    return undefined;
  }
  const encoded = integerRange(type) === undefined
    ? encodeFloat(type, value, view, offset)
    : encodeInteger(type, value, view, offset);
  return encoded ? undefined : scalarProblem(type, value);
}

/** Decodes what {@linkcode encodeScalar} encodes: 64-bit integers as `bigint`. */
export function decodeScalar(
  type: ScalarType,
  view: DataView,
  offset: number,
): number | bigint | boolean {
  switch (type) {
    case "bool":
      return view.getUint8(offset) !== 0;
    case "float64":
      return view.getFloat64(offset, true);
    case "float32":
      return view.getFloat32(offset, true);
    case "int64":
      return view.getBigInt64(offset, true);
    case "uint64":
      return view.getBigUint64(offset, true);
    case "int32":
      return view.getInt32(offset, true);
    case "uint32":
      return view.getUint32(offset, true);
    case "int16":
      return view.getInt16(offset, true);
    case "uint16":
      return view.getUint16(offset, true);
    case "int8":
      return view.getInt8(offset);
    case "uint8":
      return view.getUint8(offset);
    default:
      return narrowFloatValue(
        type,
        bytesOfScalar(type) === 2 ? view.getUint16(offset, true) : view.getUint8(offset),
      );
  }
}

/** A value that has a length and elements: an array or a typed array. */
export function isArrayValue(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/**
 * Encodes a vector, which is an array of as many numbers as it has elements.
 *
 * @returns Why it cannot be; `undefined` once it is.
 */
export function encodeVector(
  type: VectorType,
  value: unknown,
  view: DataView,
  offset: number,
): EncodingProblem | undefined {
  const { element, length } = type;
  if (!isArrayValue(value) || value.length !== length) {
    const numbers = length === 1 ? "number" : "numbers";
    const allowed = `an array of ${length} ${numbers}, as it is ${type.name}`;
    return arrayProblem(allowed, value);
  }
  const step = bytesOfScalar(element);
  for (let i = 0; i < length; i++) {
    const problem = encodeScalar(element, value[i], view, offset + i * step);
    if (problem !== undefined) return { ...problem, path: `[${i}]${problem.path}` };
  }
  return undefined;
}

/** Decodes what {@linkcode encodeVector} encodes. */
export function decodeVector(
  { element, length }: VectorType,
  view: DataView,
  offset: number,
): (number | bigint | boolean)[] {
  const step = bytesOfScalar(element);
  return Array.from({ length }, (_, i) => decodeScalar(element, view, offset + i * step));
}

/** The problem of a value that is no array, or one of another length. */
export function arrayProblem(allowed: string, value: unknown): EncodingProblem {
  if (!isArrayValue(value)) return { path: "", allowed, value, isRange: false };
  return { path: ".length", allowed: `that of ${allowed}`, value: value.length, isRange: true };
}
