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
export type Encoder = (
  value: unknown,
  view: DataView,
  offset: number,
) => EncodingProblem | undefined;

/** Makes the encoder of a type, which is prepared once and used for many launches. */
export function encoderOf(type: ElementType): Encoder {
  if (typeof type === "string") return SCALAR_ENCODERS[type];
  return "fields" in type
    ? structEncoder(type)
    : arrayEncoder(SCALAR_ENCODERS[type.element], bytesPerElement(type.element), type);
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

/** The problem of a value that a scalar type does not have. */
function refused(type: DType, value: unknown): EncodingProblem {
  const isWide = bytesPerElement(type) === 8;
  const isNumber = typeof value === "number" || (typeof value === "bigint" && isWide);
  const isRange = isNumber && integerRange(type) !== undefined;
  return { path: "", allowed: allowedValues(type), value, isRange };
}

type Store<Value> = (view: DataView, offset: number, value: Value) => void;

function narrowIntegers(type: DType, store: Store<number>): Encoder {
  const range = integerRange(type)!;
  const [lowest, highest] = [Number(range.lowest), Number(range.highest)];
  return (value, view, offset) => {
    if (typeof value !== "number" || !(value >= lowest && value <= highest)) {
      return refused(type, value);
    }
    if (!Number.isInteger(value)) return refused(type, value);
    store(view, offset, value);
    return undefined;
  };
}

function wideIntegers(type: DType): Encoder {
  const { lowest, highest } = integerRange(type)!;
  const lowestNumber = Math.max(Number(lowest), Number.MIN_SAFE_INTEGER);
  return (value, view, offset) => {
    // A number beyond 2^53 may have lost digits already.
    if (Number.isSafeInteger(value) && (value as number) >= lowestNumber) {
      view.setUint32(offset, value as number, true);
      view.setInt32(offset + 4, Math.floor((value as number) / 2 ** 32), true);
      return undefined;
    }
    if (typeof value !== "bigint" || value < lowest || value > highest) return refused(type, value);
    view.setBigInt64(offset, value, true);
    return undefined;
  };
}

function narrowFloats(type: NarrowFloatDType, store: Store<number>): Encoder {
  return (value, view, offset) => {
    if (typeof value !== "number") return refused(type, value);
    store(view, offset, narrowFloatBits(type, value));
    return undefined;
  };
}

const storeUint8: Store<number> = (view, offset, value) => view.setUint8(offset, value);
const storeUint16: Store<number> = (view, offset, value) => view.setUint16(offset, value, true);

const SCALAR_ENCODERS: Readonly<Record<DType, Encoder>> = {
  bool(value, view, offset) {
    if (typeof value !== "boolean") return refused("bool", value);
    view.setUint8(offset, Number(value));
    return undefined;
  },
  // `setInt8()` and `setUint8()` write the same bytes, as those of wider types do.
  int8: narrowIntegers("int8", storeUint8),
  uint8: narrowIntegers("uint8", storeUint8),
  int16: narrowIntegers("int16", storeUint16),
  uint16: narrowIntegers("uint16", storeUint16),
  int32: narrowIntegers("int32", (view, offset, value) => view.setInt32(offset, value, true)),
  uint32: narrowIntegers("uint32", (view, offset, value) => view.setUint32(offset, value, true)),
  int64: wideIntegers("int64"),
  uint64: wideIntegers("uint64"),
  float64(value, view, offset) {
    if (typeof value !== "number") return refused("float64", value);
    view.setFloat64(offset, value, true);
    return undefined;
  },
  float32(value, view, offset) {
    if (typeof value !== "number") return refused("float32", value);
    view.setFloat32(offset, value, true);
    return undefined;
  },
  float16: narrowFloats("float16", storeUint16),
  bfloat16: narrowFloats("bfloat16", storeUint16),
  float8_e4m3: narrowFloats("float8_e4m3", storeUint8),
  float8_e5m2: narrowFloats("float8_e5m2", storeUint8),
};

function allowedValues(type: DType): string {
  if (type === "bool") return "a boolean";
  const range = integerRange(type);
  if (range === undefined) return "a number";
  const integers = `an integer in ${range.lowest}..${range.highest}`;
  return bytesPerElement(type) < 8
    ? integers
    : `${integers}, beyond ${Number.MAX_SAFE_INTEGER} as a bigint`;
}

/** The accessors of `DataView` that read a type's bytes. */
const READERS: Readonly<Record<DType, `get${string}` & keyof DataView>> = {
  bool: "getUint8",
  int8: "getInt8",
  uint8: "getUint8",
  int16: "getInt16",
  uint16: "getUint16",
  int32: "getInt32",
  uint32: "getUint32",
  int64: "getBigInt64",
  uint64: "getBigUint64",
  float64: "getFloat64",
  float32: "getFloat32",
  float16: "getUint16",
  bfloat16: "getUint16",
  float8_e4m3: "getUint8",
  float8_e5m2: "getUint8",
};

function decodeScalar(type: DType, view: DataView, offset: number): number | bigint | boolean {
  const bits = view[READERS[type]](offset, true);
  if (type === "bool") return bits !== 0;
  return isNarrowFloat(type) ? narrowFloatValue(type, Number(bits)) : bits;
}

// ---- Vectors, structs and arrays -----------------------------------------------------------------

/** Whether a value has a length and elements: an array or a typed array. */
function isArrayValue(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function structEncoder(struct: StructType): Encoder {
  const names = new Set(struct.fields.map((field) => field.name));
  const fields = struct.fields.map(({ name, element, extents, offset }) => {
    return { name, encode: fieldEncoder(element, extents), offset };
  });
  const padding = paddingOf(struct);
  return (value, view, offset) => {
    if (typeof value !== "object" || value === null || isArrayValue(value)) {
      const allowed = `an object with the fields of ${struct.name}`;
      return { path: "", allowed, value, isRange: false };
    }
    for (let i = 0; i < padding.length; i++) view.setUint8(offset + padding[i]!, 0);
    const members = value as Readonly<Record<string, unknown>>;
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i]!;
      // A getter may throw; that error is the caller's, and passes.
      const problem = field.encode(members[field.name], view, offset + field.offset);
      if (problem !== undefined) return { ...problem, path: `.${field.name}${problem.path}` };
    }
    // An unknown field is a misspelt one, or one that would be lost.
    const given = Object.keys(value);
    for (let i = 0; i < given.length; i++) {
      const name = given[i]!;
      if (name === fields[i]?.name || names.has(name)) continue;
      const allowed = `absent, as ${struct.name} has no such field`;
      return { path: `.${name}`, allowed, value: members[name], isRange: false };
    }
    return undefined;
  };
}

/** The offsets of the bytes of a struct that belong to no field. */
function paddingOf({ fields, bytes }: StructType): readonly number[] {
  const ends = [0, ...fields.map((field) => field.offset + field.bytes)];
  const starts = [...fields.map((field) => field.offset), bytes];
  return ends.flatMap((end, i) => Array.from({ length: starts[i]! - end }, (_, at) => end + at));
}

/** The encoder of a field: an element, or an array of the given extents. */
function fieldEncoder(element: ElementType, [extent, ...inner]: readonly number[]): Encoder {
  if (extent === undefined) return encoderOf(element);
  return arrayEncoder(fieldEncoder(element, inner), bytesOf(element, inner), { length: extent });
}

/** The encoder of elements that follow each other; the name is that of a vector. */
function arrayEncoder(
  encode: Encoder,
  step: number,
  { length, name }: { readonly length: number; readonly name?: string },
): Encoder {
  const numbers = name === undefined ? "" : ` number${length === 1 ? "" : "s"}, as it is ${name}`;
  const allowed = `an array of ${length}${numbers}`;
  return (value, view, offset) => {
    if (!isArrayValue(value)) return { path: "", allowed, value, isRange: false };
    const given = value.length;
    if (given !== length) {
      return { path: ".length", allowed: `that of ${allowed}`, value: given, isRange: true };
    }
    for (let i = 0; i < length; i++) {
      const problem = encode(value[i], view, offset + i * step);
      if (problem !== undefined) return { ...problem, path: `[${i}]${problem.path}` };
    }
    return undefined;
  };
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
