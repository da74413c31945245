/**
 * Typed arrays of all kinds: their checks, and loops that move their elements.
 *
 * Elements are moved as integers of their width, because reading a float may change a NaN's bits.
 *
 * @module
 */

import { typeError } from "./arguments.ts";

/** A typed array of any kind: indices, or data that a layout reorders. */
export type IndexArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float16Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

export type WordArray = Uint8Array | Uint16Array | Int32Array | BigUint64Array;

/** The class name of a typed array; undefined for any other value. */
export function typedArrayKind(value: unknown): string | undefined {
  const isArray = ArrayBuffer.isView(value) && !(value instanceof DataView);
  return isArray ? (value as IndexArray)[Symbol.toStringTag] : undefined;
}

/** Throws a `TypeError` if the memory of a typed array was transferred away. */
export function requireAttached(action: string, name: string, { buffer }: IndexArray): void {
  if (buffer instanceof ArrayBuffer && buffer.detached) {
    throw new TypeError(`Cannot ${action} as the memory of ${name} was transferred away`);
  }
}

/** Throws a `TypeError` unless an argument is a typed array with memory. */
export function requireTypedArray(action: string, name: string, value: unknown): void {
  if (typedArrayKind(value) === undefined) {
    throw typeError(action, name, "a typed array", value);
  }
  requireAttached(action, name, value as IndexArray);
}

/** The elements of an array as integers, in its memory. */
export function wordsOf({ buffer, byteOffset, length, BYTES_PER_ELEMENT }: IndexArray): WordArray {
  switch (BYTES_PER_ELEMENT) {
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

export function overlap(one: IndexArray, other: IndexArray): boolean {
  return one.buffer === other.buffer &&
    one.byteOffset < other.byteOffset + other.byteLength &&
    other.byteOffset < one.byteOffset + one.byteLength;
}

/** A block to copy: where it begins, and the distances of rows and of elements in a row. */
interface Block {
  readonly rows: number;
  readonly columns: number;
  readonly source: number;
  readonly sourcePitch: number;
  readonly target: number;
  readonly targetPitch: number;
  readonly targetStride: number;
}

/** Copies a block between two arrays of one width. */
export function copyBlock(from: WordArray, to: WordArray, block: Block): void {
  const { rows, columns, sourcePitch, targetPitch, targetStride } = block;
  const [words, target] = [from as Uint8Array, to as Uint8Array];
  for (let row = 0; row < rows; row++) {
    const source = block.source + row * sourcePitch;
    let place = block.target + row * targetPitch;
    for (let i = source; i < source + columns; i++, place += targetStride) {
      target[place] = words[i]!;
    }
  }
}
