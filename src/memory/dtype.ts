/**
 * Element types of buffers and tensors, in TypeScript and in C.
 *
 * @module
 */

import { trueArray } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";

/**
 * The name of an element type, the same in code, on the command line and in JSON.
 * @category Memory
 */
export type DType =
  | "float64"
  | "float32"
  | "float16"
  | "bfloat16"
  | "float8_e4m3"
  | "float8_e5m2"
  | "int64"
  | "uint64"
  | "int32"
  | "uint32"
  | "int16"
  | "uint16"
  | "int8"
  | "uint8"
  | "bool";

/** The floating element types. */
export type FloatDType = Extract<DType, `float${string}` | "bfloat16">;

/** The integer element types, without `bool`. */
export type IntegerDType = Exclude<DType, FloatDType | "bool">;

/**
 * The typed array for elements of type `D` in JavaScript.
 * @category Memory
 */
export type TypedArrayOf<D extends DType, Buffer extends ArrayBufferLike = ArrayBufferLike> = {
  /** Numbers. */
  readonly float64: Float64Array<Buffer>;
  /** Numbers rounded to single precision. */
  readonly float32: Float32Array<Buffer>;
  /** Numbers rounded to half precision. */
  readonly float16: Float16Array<Buffer>;
  /** Raw bits: JavaScript has no such number. */
  readonly bfloat16: Uint16Array<Buffer>;
  /** Raw bits: JavaScript has no such number. */
  readonly float8_e4m3: Uint8Array<Buffer>;
  /** Raw bits: JavaScript has no such number. */
  readonly float8_e5m2: Uint8Array<Buffer>;
  /** Big integers. */
  readonly int64: BigInt64Array<Buffer>;
  /** Big integers. */
  readonly uint64: BigUint64Array<Buffer>;
  /** Integers. */
  readonly int32: Int32Array<Buffer>;
  /** Integers. */
  readonly uint32: Uint32Array<Buffer>;
  /** Integers. */
  readonly int16: Int16Array<Buffer>;
  /** Integers. */
  readonly uint16: Uint16Array<Buffer>;
  /** Integers. */
  readonly int8: Int8Array<Buffer>;
  /** Integers. */
  readonly uint8: Uint8Array<Buffer>;
  /** One byte each: 0 or 1. */
  readonly bool: Uint8Array<Buffer>;
}[D];

/**
 * Any typed array that holds elements of some type.
 * @category Memory
 */
export type AnyTypedArray<Buffer extends ArrayBufferLike = ArrayBufferLike> = TypedArrayOf<
  DType,
  Buffer
>;

/**
 * Any typed array whose class implies its element type; see {@linkcode DTypeOf}.
 * @category Memory
 */
export type SelfDescribingArray<Buffer extends ArrayBufferLike = ArrayBufferLike> =
  | TypedArrayOf<DType, Buffer>
  | Uint8ClampedArray<Buffer>;

/**
 * The JavaScript value of one element of type `D`.
 * @category Memory
 */
export type ElementOf<D extends DType> = D extends "int64" | "uint64" ? number | bigint
  : D extends "bool" ? boolean
  : number;

/**
 * The element type implied by a class of typed arrays. `Uint16Array` implies `uint16` and
 * `Uint8Array` implies `uint8`: `bfloat16`, the 8-bit floats and `bool` must be named.
 * @category Memory
 */
export type DTypeOf<Elements> = Elements extends Float64Array ? "float64"
  : Elements extends Float32Array ? "float32"
  : Elements extends Float16Array ? "float16"
  : Elements extends BigInt64Array ? "int64"
  : Elements extends BigUint64Array ? "uint64"
  : Elements extends Int32Array ? "int32"
  : Elements extends Uint32Array ? "uint32"
  : Elements extends Int16Array ? "int16"
  : Elements extends Uint16Array ? "uint16"
  : Elements extends Int8Array ? "int8"
  : Elements extends Uint8Array | Uint8ClampedArray ? "uint8"
  : undefined;

/** The storage of one element type. */
interface Storage {
  readonly bytes: 1 | 2 | 4 | 8;
  /** The C type's name in CUDA's own headers. */
  readonly cType: string;
  // TypedArrayOf gives the exact class of each element type.
  readonly array: new (buffer: ArrayBufferLike, byteOffset?: number, length?: number) => unknown;
}

const STORAGE: { readonly [D in DType]: Storage } = {
  float64: { bytes: 8, cType: "double", array: Float64Array },
  float32: { bytes: 4, cType: "float", array: Float32Array },
  float16: { bytes: 2, cType: "__half", array: Float16Array },
  bfloat16: { bytes: 2, cType: "__nv_bfloat16", array: Uint16Array },
  float8_e4m3: { bytes: 1, cType: "__nv_fp8_e4m3", array: Uint8Array },
  float8_e5m2: { bytes: 1, cType: "__nv_fp8_e5m2", array: Uint8Array },
  int64: { bytes: 8, cType: "long long", array: BigInt64Array },
  uint64: { bytes: 8, cType: "unsigned long long", array: BigUint64Array },
  int32: { bytes: 4, cType: "int", array: Int32Array },
  uint32: { bytes: 4, cType: "unsigned int", array: Uint32Array },
  int16: { bytes: 2, cType: "short", array: Int16Array },
  uint16: { bytes: 2, cType: "unsigned short", array: Uint16Array },
  int8: { bytes: 1, cType: "signed char", array: Int8Array },
  uint8: { bytes: 1, cType: "unsigned char", array: Uint8Array },
  bool: { bytes: 1, cType: "bool", array: Uint8Array },
};

/**
 * All element types, widest float first.
 * @category Memory
 */
export const DTYPES: readonly DType[] = Object.keys(STORAGE) as DType[];

const DTYPE_BY_ARRAY: ReadonlyMap<string, DType> = new Map([
  ...DTYPES.filter((dtype) => dtype !== "bfloat16" && dtype !== "bool" && !/8_/.test(dtype))
    .map((dtype) => [STORAGE[dtype].array.name, dtype] as const),
  ["Uint8ClampedArray", "uint8"],
]);

/** Whether a value is the name of an element type. */
export function isDType(value: unknown): value is DType {
  return typeof value === "string" && Object.hasOwn(STORAGE, value);
}

function storageOf(dtype: DType): Storage {
  // Values from JSON and the command line arrive here unchecked.
  if (isDType(dtype)) return STORAGE[dtype];
  throw new TypeError(
    `Cannot use ${describeValue(dtype)} as a dtype: it must be one of ${DTYPES.join(", ")}`,
  );
}

/**
 * The bytes one element occupies.
 *
 * @param dtype The element type.
 * @throws {TypeError} If `dtype` is not an element type.
 *
 * @example
 * ```ts
 * import { bytesPerElement } from "@gridstride/cuda";
 *
 * console.log(bytesPerElement("bfloat16")); // 2
 * ```
 * @category Memory
 */
export function bytesPerElement(dtype: DType): 1 | 2 | 4 | 8 {
  return storageOf(dtype).bytes;
}

/** Whether the elements are floating point. */
export function isFloatDType(dtype: DType): dtype is FloatDType {
  storageOf(dtype);
  return dtype.startsWith("float") || dtype === "bfloat16";
}

/** Whether the elements are integers, without `bool`. */
export function isIntegerDType(dtype: DType): dtype is IntegerDType {
  return !isFloatDType(dtype) && dtype !== "bool";
}

/** The range of an integer type; `undefined` for other types. */
export function integerRange(
  dtype: DType,
): { readonly lowest: bigint; readonly highest: bigint } | undefined {
  if (!isIntegerDType(dtype)) return undefined;
  const bits = BigInt(8 * bytesPerElement(dtype));
  if (dtype.startsWith("uint")) return { lowest: 0n, highest: (1n << bits) - 1n };
  return { lowest: -(1n << (bits - 1n)), highest: (1n << (bits - 1n)) - 1n };
}

/** The name of the element's C type, as CUDA's headers declare it: `__half` for `float16`. */
export function cTypeOf(dtype: DType): string {
  return storageOf(dtype).cType;
}

/** The name of the typed array that holds elements of a type, such as `Float32Array`. */
export function typedArrayName(dtype: DType): string {
  return storageOf(dtype).array.name;
}

/**
 * Makes a zeroed typed array for elements of a type.
 *
 * @param length Number of elements.
 * @throws {RangeError} If `length` is not a size.
 */
export function createTypedArray<D extends DType>(
  dtype: D,
  length: number,
): TypedArrayOf<D, ArrayBuffer> {
  const size = bytesPerElement(dtype);
  if (!Number.isSafeInteger(length) || length < 0 || !Number.isSafeInteger(length * size)) {
    throw new RangeError(
      `Cannot make a ${typedArrayName(dtype)} as length must be an integer of at least 0, ` +
        `and its bytes below 2^53: it is ${describeValue(length)}`,
    );
  }
  try {
    return typedArrayOver(dtype, new ArrayBuffer(length * size), 0, length);
  } catch (cause) {
    throw new RangeError(
      `Cannot make a ${typedArrayName(dtype)} as JavaScript has no room for ${length * size} bytes`,
      { cause },
    );
  }
}

/**
 * A typed array for elements of a type over existing memory.
 *
 * @param byteOffset The offset of the first element; a multiple of the element size.
 * @param length Number of elements.
 * @throws {RangeError} If the range is misaligned or does not lie in the buffer.
 */
export function typedArrayOver<D extends DType, Buffer extends ArrayBufferLike>(
  dtype: D,
  buffer: Buffer,
  byteOffset: number,
  length: number,
): TypedArrayOf<D, Buffer> {
  const { array } = storageOf(dtype);
  return new array(buffer, byteOffset, length) as TypedArrayOf<D, Buffer>;
}

/** The element type implied by a typed array's class, or `undefined`; see {@linkcode DTypeOf}. */
export function dtypeOf<Elements extends ArrayBufferView>(elements: Elements): DTypeOf<Elements> {
  return DTYPE_BY_ARRAY.get(trueArray(elements)?.kind ?? "") as DTypeOf<Elements>;
}

/**
 * The bytes of a typed array that must be of the class for an element type and must not be detached.
 * A `Uint8ClampedArray`, as used for the pixels of a canvas, holds `uint8`.
 *
 * @param action The action, the name of the array, and the reason for the type in the message.
 */
export function requireArrayOf(
  value: unknown,
  dtype: DType,
  action: string,
  name: string,
  reason = "",
): Uint8Array<ArrayBufferLike> {
  const array = trueArray(value);
  const wanted = typedArrayName(dtype);
  const isRight = array?.kind === wanted ||
    (dtype === "uint8" && array?.kind === "Uint8ClampedArray");
  if (isRight && array.bytes !== undefined) return array.bytes;
  const state = array !== undefined && array.bytes === undefined ? " that is detached" : "";
  throw new TypeError(
    `Cannot ${action} as ${name} must be a ${wanted}${reason}: it is ${
      describeValue(value)
    }${state}`,
  );
}
