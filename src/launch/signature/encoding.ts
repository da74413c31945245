/**
 * Encodes scalars, vectors and structs as the bytes that a kernel sees, and decodes them.
 *
 * A value without such bytes is a result here, not an exception: the caller knows its name and
 * words the error.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import {
  narrowFloatBits,
  type NarrowFloatDType,
  narrowFloatValue,
} from "../../memory/element_bits.ts";
import { bytesPerElement, type DType, integerRange } from "../../memory/dtype.ts";
import type { FieldLayout, StructType } from "./struct_type.ts";

type ElementType = FieldLayout["element"];

/** Why a value cannot be encoded. */
export interface EncodingProblem {
  /** The place in the value: `.position[2]`; empty for the value itself. */
  readonly path: string;
  /** The allowed values: `an integer in 0..255`. */
  readonly allowed: string;
  readonly value: unknown;
  /** Whether the value has the right kind but is out of range. */
  readonly isRange: boolean;
}

/** The error for a value that cannot be encoded; `subject` is the action and the name of the value. */
export function encodingError(
  subject: string,
  { path, allowed, value, isRange }: EncodingProblem,
): TypeError | RangeError {
  const ErrorClass = isRange ? RangeError : TypeError;
  return new ErrorClass(`${subject}${path} must be ${allowed}: it is ${describeValue(value)}`);
}

export function bytesOfElement(element: ElementType): number {
  return typeof element === "string" ? bytesPerElement(element) : element.bytes;
}

function isNarrowFloat(type: DType): type is NarrowFloatDType {
  return type === "float16" || type === "bfloat16" || type.startsWith("float8");
}

/**
 * Encodes a value: floats are rounded to nearest, ties to even; integers must fit; padding of
 * structs becomes zero. Bytes are little-endian, as on every machine with CUDA.
 *
 * @param value Any value: it is checked.
 * @returns The problem; `undefined` on success.
 */
export function tryEncode(
  type: ElementType,
  value: unknown,
  view: DataView,
  offset: number,
): EncodingProblem | undefined {
  if (typeof type === "string") return encodeScalar(type, value, view, offset);
  return "fields" in type
    ? encodeStruct(type, value, view, offset)
    : encodeArray(type.element, [type.length], value, view, offset, type.name);
}

/** Decodes a value: 64-bit integers as `bigint`, arrays and vectors as arrays. */
export function decode(type: ElementType, view: DataView, offset: number): unknown {
  if (typeof type === "string") return decodeScalar(type, view, offset);
  if ("fields" in type) {
    return Object.fromEntries(
      type.fields.map((
        field,
      ) => [field.name, decodeArray(field.element, field.extents, view, offset + field.offset)]),
    );
  }
  return decodeArray(type.element, [type.length], view, offset);
}

// ---- Scalars -------------------------------------------------------------------------------------

/** The accessors of `DataView` for a type's bytes: `getInt8` and `setInt8` are `Int8`. */
const ACCESSORS: Readonly<Record<DType, string>> = {
  bool: "Uint8",
  int8: "Int8",
  uint8: "Uint8",
  int16: "Int16",
  uint16: "Uint16",
  int32: "Int32",
  uint32: "Uint32",
  int64: "BigInt64",
  uint64: "BigUint64",
  float64: "Float64",
  float32: "Float32",
  float16: "Uint16",
  bfloat16: "Uint16",
  float8_e4m3: "Uint8",
  float8_e5m2: "Uint8",
};

type Accessors = Record<string, (offset: number, ...rest: unknown[]) => number | bigint>;

function encodeScalar(
  type: DType,
  value: unknown,
  view: DataView,
  offset: number,
): EncodingProblem | undefined {
  const bits = bitsOf(type, value);
  if (bits !== undefined) {
    (view as unknown as Accessors)[`set${ACCESSORS[type]}`]!(offset, bits, true);
    return undefined;
  }
  const isWide = bytesPerElement(type) === 8;
  const isNumber = typeof value === "number" || (typeof value === "bigint" && isWide);
  const isRange = isNumber && integerRange(type) !== undefined;
  return { path: "", allowed: allowedValues(type), value, isRange };
}

/** The value of a scalar as `DataView` takes it; `undefined` if the type has no such value. */
export function bitsOf(type: DType, value: unknown): number | bigint | undefined {
  if (type === "bool") return typeof value === "boolean" ? Number(value) : undefined;
  const range = integerRange(type);
  if (range === undefined) {
    if (typeof value !== "number") return undefined;
    return isNarrowFloat(type) ? narrowFloatBits(type, value) : value;
  }
  const isWide = bytesPerElement(type) === 8;
  // A number beyond 2^53 may have lost digits already.
  if (!Number.isSafeInteger(value) && !(isWide && typeof value === "bigint")) return undefined;
  const integer = BigInt(value as number | bigint);
  if (integer < range.lowest || integer > range.highest) return undefined;
  return isWide ? integer : Number(integer);
}

function allowedValues(type: DType): string {
  if (type === "bool") return "a boolean";
  const range = integerRange(type);
  if (range === undefined) return "a number";
  const integers = `an integer in ${range.lowest}..${range.highest}`;
  return bytesPerElement(type) < 8
    ? integers
    : `${integers}, beyond ${Number.MAX_SAFE_INTEGER} as a bigint`;
}

function decodeScalar(type: DType, view: DataView, offset: number): number | bigint | boolean {
  const bits = (view as unknown as Accessors)[`get${ACCESSORS[type]}`]!(offset, true);
  if (type === "bool") return bits !== 0;
  return isNarrowFloat(type) ? narrowFloatValue(type, Number(bits)) : bits;
}

// ---- Vectors, structs and arrays -----------------------------------------------------------------

/** Whether a value has a length and elements: an array or a typed array. */
function isArrayValue(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function encodeStruct(
  struct: StructType,
  value: unknown,
  view: DataView,
  offset: number,
): EncodingProblem | undefined {
  if (typeof value !== "object" || value === null || isArrayValue(value)) {
    const allowed = `an object with the fields of ${struct.name}`;
    return { path: "", allowed, value, isRange: false };
  }
  new Uint8Array(view.buffer, view.byteOffset + offset, struct.bytes).fill(0);
  const members = value as Readonly<Record<string, unknown>>;
  for (const field of struct.fields) {
    // A getter may throw; that error is the caller's, and passes.
    const member = members[field.name];
    const { element, extents } = field;
    const problem = encodeArray(element, extents, member, view, offset + field.offset);
    if (problem !== undefined) return { ...problem, path: `.${field.name}${problem.path}` };
  }
  // An unknown field is a misspelt one, or one that would be lost.
  const unknown = Object.keys(value).find((name) =>
    !struct.fields.some((field) => field.name === name)
  );
  if (unknown === undefined) return undefined;
  const allowed = `absent, as ${struct.name} has no such field`;
  return { path: `.${unknown}`, allowed, value: members[unknown], isRange: false };
}

/** Encodes an element, or an array of them; the name is that of a vector. */
function encodeArray(
  element: ElementType,
  [extent, ...inner]: readonly number[],
  value: unknown,
  view: DataView,
  offset: number,
  vector?: string,
): EncodingProblem | undefined {
  if (extent === undefined) return tryEncode(element, value, view, offset);
  if (!isArrayValue(value) || value.length !== extent) {
    const numbers = vector === undefined
      ? ""
      : ` number${extent === 1 ? "" : "s"}, as it is ${vector}`;
    const allowed = `an array of ${extent}${numbers}`;
    return isArrayValue(value)
      ? { path: ".length", allowed: `that of ${allowed}`, value: value.length, isRange: true }
      : { path: "", allowed, value, isRange: false };
  }
  const step = bytesOf(element, inner);
  for (let i = 0; i < extent; i++) {
    const problem = encodeArray(element, inner, value[i], view, offset + i * step);
    if (problem !== undefined) return { ...problem, path: `[${i}]${problem.path}` };
  }
  return undefined;
}

function decodeArray(
  element: ElementType,
  [length, ...inner]: readonly number[],
  view: DataView,
  offset: number,
): unknown {
  if (length === undefined) return decode(element, view, offset);
  const step = bytesOf(element, inner);
  return Array.from({ length }, (_, i) => decodeArray(element, inner, view, offset + i * step));
}

function bytesOf(element: ElementType, extents: readonly number[]): number {
  return extents.reduce((product, extent) => product * extent, bytesOfElement(element));
}
