/**
 * Elements of any type as integers of their width.
 *
 * Numbers are moved as bits: to read a float may change it, where it is not a number.
 *
 * @module
 */

import { describeInput } from "./index_error.ts";
import { type IndexArray, typedArrayKind } from "./index_batch.ts";

/** An array whose elements can be moved: a typed array. */
export type DataArray = IndexArray;

/** Elements as integers. */
export type WordArray = Uint8Array | Uint16Array | Int32Array | BigUint64Array;

const CLASSES = new Map(
  [
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float16Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
  ].map((Elements) => [Elements.name, Elements as new (length: number) => DataArray]),
);

/**
 * Checks that an argument is a typed array with memory.
 *
 * @throws {TypeError} If it is none.
 */
export function requireData(action: string, name: string, value: unknown): void {
  const kind = typedArrayKind(value);
  if (kind === undefined || !CLASSES.has(kind)) {
    throw new TypeError(
      `Cannot ${action} as ${name} must be a typed array: it is ${describeInput(value)}`,
    );
  }
  const { buffer } = value as DataArray;
  if (buffer instanceof ArrayBuffer && buffer.detached) {
    throw new TypeError(`Cannot ${action} as the memory of ${name} was transferred away`);
  }
}

/** A new array of the same kind and length. */
export function emptyLike<T extends DataArray>(data: T): T {
  return new (CLASSES.get(typedArrayKind(data)!)!)(data.length) as T;
}

/** The elements of an array as integers, in its memory. */
export function wordsOf(data: DataArray): WordArray {
  const { buffer, byteOffset, length } = data;
  switch (data.BYTES_PER_ELEMENT) {
    case 1:
      return new Uint8Array(buffer, byteOffset, length);
    case 2:
      return new Uint16Array(buffer, byteOffset, length);
    case 4:
      return new Int32Array(buffer, byteOffset, length);
    default:
      return new BigUint64Array(buffer, byteOffset, length);
  }
}

/** Whether two arrays have memory in common. */
export function overlap(one: DataArray, other: DataArray): boolean {
  return one.buffer === other.buffer &&
    one.byteOffset < other.byteOffset + other.byteLength &&
    other.byteOffset < one.byteOffset + one.byteLength;
}
