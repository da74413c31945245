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

/** The elements of an array as integers of their width. */
export type WordArray = Uint8Array | Uint16Array | Int32Array | BigUint64Array;

type ArrayClass = new (buffer: ArrayBufferLike, byteOffset: number, length: number) => IndexArray;

const CLASSES: ReadonlyMap<string, ArrayClass> = new Map(
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
  ].map((Elements) => [Elements.name, Elements as ArrayClass]),
);

const kindOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!.get!;

/** The class name of a typed array; undefined for any other value. */
export function typedArrayKind(value: unknown): string | undefined {
  return kindOf.call(value);
}

/** Throws a `TypeError` if the memory of a typed array was transferred away. */
export function requireAttached(action: string, name: string, { buffer }: IndexArray): void {
  if (buffer instanceof ArrayBuffer && buffer.detached) {
    throw new TypeError(`Cannot ${action} as the memory of ${name} was transferred away`);
  }
}

/** Throws a `TypeError` unless an argument is a typed array with memory. */
export function requireTypedArray(action: string, name: string, value: unknown): void {
  if (!CLASSES.has(typedArrayKind(value) ?? "")) {
    throw typeError(action, name, "a typed array", value);
  }
  requireAttached(action, name, value as IndexArray);
}

/** A view of an array's memory by the built-in class of its kind, not by a subclass. */
export function plainView({ buffer, byteOffset, length }: IndexArray, kind: string): IndexArray {
  return new (CLASSES.get(kind)!)(buffer, byteOffset, length);
}

/** A new array of the same kind and length. */
export function emptyLike<T extends IndexArray>(data: T): T {
  const Elements = CLASSES.get(typedArrayKind(data)!)! as unknown as new (length: number) => T;
  return new Elements(data.length);
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

/** Whether two arrays have memory in common. */
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

// One loop for each width: a loop that sees arrays of several kinds is three times as slow, as it
// looks up the kind at every element.

/** Copies a block between two arrays of one width. */
export function copyBlock(from: WordArray, to: WordArray, block: Block): void {
  if (from instanceof Int32Array) copyBlock32(from, to as Int32Array, block);
  else if (from instanceof BigUint64Array) copyBlock64(from, to as BigUint64Array, block);
  else if (from instanceof Uint16Array) copyBlock16(from, to as Uint16Array, block);
  else copyBlock8(from, to as Uint8Array, block);
}

function copyBlock8(from: Uint8Array, to: Uint8Array, block: Block): void {
  const { rows, columns, sourcePitch, targetPitch, targetStride } = block;
  for (let row = 0; row < rows; row++) {
    const source = block.source + row * sourcePitch;
    let target = block.target + row * targetPitch;
    for (let i = source; i < source + columns; i++, target += targetStride) to[target] = from[i]!;
  }
}

function copyBlock16(from: Uint16Array, to: Uint16Array, block: Block): void {
  const { rows, columns, sourcePitch, targetPitch, targetStride } = block;
  for (let row = 0; row < rows; row++) {
    const source = block.source + row * sourcePitch;
    let target = block.target + row * targetPitch;
    for (let i = source; i < source + columns; i++, target += targetStride) to[target] = from[i]!;
  }
}

function copyBlock32(from: Int32Array, to: Int32Array, block: Block): void {
  const { rows, columns, sourcePitch, targetPitch, targetStride } = block;
  for (let row = 0; row < rows; row++) {
    const source = block.source + row * sourcePitch;
    let target = block.target + row * targetPitch;
    for (let i = source; i < source + columns; i++, target += targetStride) to[target] = from[i]!;
  }
}

function copyBlock64(from: BigUint64Array, to: BigUint64Array, block: Block): void {
  const { rows, columns, sourcePitch, targetPitch, targetStride } = block;
  for (let row = 0; row < rows; row++) {
    const source = block.source + row * sourcePitch;
    let target = block.target + row * targetPitch;
    for (let i = source; i < source + columns; i++, target += targetStride) to[target] = from[i]!;
  }
}
