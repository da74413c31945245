/**
 * Indices of any kind, checked and collected in batches of one size, and typed arrays of all kinds.
 *
 * Loops over indices then see one kind of array, which the compiler needs to make them fast.
 *
 * Elements of layouts move as integers of their width, because reading a float may change a NaN's
 * bits.
 *
 * @module
 */

import { trueArray } from "../../ffi/arguments.ts";
import { describeInput, rangeError, typeError } from "./arguments.ts";

/**
 * Indices: a typed array, or anything iterable of numbers, bigints and typed arrays.
 * @category Memory access
 */
export type AccessIndices = IndexArray | Iterable<number | bigint | IndexArray>;

/** Indices of a batch: whole warps that fit a core's first cache. */
const BATCH = 8192;
const MAX_ELEMENTS = 2 ** 32;
/** Kinds of arrays with indices only. */
const UNSIGNED = ["Uint32Array", "Uint16Array", "Uint8Array", "Uint8ClampedArray"];

export class IndexBatch {
  readonly #action: string;
  readonly #consume: (values: Float64Array<ArrayBuffer>, count: number) => void;
  readonly #values = new Float64Array(BATCH);
  #count = 0;
  #before = 0;

  /** `consume` takes the first `count` values of a batch; `action` is for error messages. */
  constructor(action: string, consume: (values: Float64Array<ArrayBuffer>, count: number) => void) {
    this.#action = action;
    this.#consume = consume;
  }

  get position(): number {
    return this.#before + this.#count;
  }

  /** Adds indices; throws if a value is not one, after adding those before it. */
  addAll(indices: unknown): void {
    const array = plainArray(this.#action, "indices", indices);
    if (array !== undefined) this.#addArray(array);
    else if (typeof indices === "object" && indices !== null && Symbol.iterator in indices) {
      for (const item of indices as Iterable<unknown>) {
        const part = plainArray(this.#action, "indices", item);
        if (part !== undefined) this.#addArray(part);
        else this.#addOne(item);
      }
    } else {
      throw typeError(this.#action, "indices", "a typed array or iterable", indices);
    }
  }

  #addOne(value: unknown): void {
    const isBig = typeof value === "bigint" && value >= 0n && value <= Number.MAX_SAFE_INTEGER;
    const index = isBig ? Number(value) : value;
    if (!Number.isSafeInteger(index) || index as number < 0) throw this.#indexError(value);
    this.#values[this.#count++] = index as number;
    if (this.#count === BATCH) this.flush();
  }

  #addArray(array: IndexArray): void {
    const isChecked = UNSIGNED.includes(array[Symbol.toStringTag]);
    for (let from = 0; from < array.length;) {
      const count = Math.min(BATCH - this.#count, array.length - from);
      const part = array.subarray(from, from + count);
      const isBig = part instanceof BigInt64Array || part instanceof BigUint64Array;
      this.#values.set(isBig ? Float64Array.from(part, Number) : part, this.#count);
      if (!isChecked) this.#check(array, from, count);
      this.#count += count;
      from += count;
      if (this.#count === BATCH) this.flush();
    }
  }

  #check(view: IndexArray, from: number, count: number): void {
    const values = this.#values;
    const begin = this.#count;
    let valid = 0;
    while (valid < count && isIndex(values[begin + valid]!)) valid++;
    if (valid === count) return;
    this.#count += valid;
    throw this.#indexError(view[from + valid]);
  }

  #indexError(value: unknown): RangeError | TypeError {
    const name = `the index at position ${this.position}`;
    if (typeof value !== "number" && typeof value !== "bigint") {
      return typeError(this.#action, name, "a number or a bigint", value);
    }
    const allowed = "be an integer in 0..9007199254740991";
    return rangeError(this.#action, name, allowed, describeInput(value));
  }

  flush(): void {
    const count = this.#count;
    if (count === 0) return;
    this.#consume(this.#values, count);
    this.#before += count;
    this.#count = 0;
  }
}

function isIndex(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER && Math.floor(value) === value;
}

/**
 * All indices of accesses to an array of `length` elements, checked, as 32-bit integers: the array
 * itself if it is a `Uint32Array`.
 */
export function indexList(
  action: string,
  indices: AccessIndices,
  length: number,
): Uint32Array<ArrayBufferLike> {
  if (length > MAX_ELEMENTS) {
    throw rangeError(action, "the array", `have at most ${MAX_ELEMENTS} elements`, length);
  }
  const array = plainArray(action, "indices", indices);
  if (array instanceof Uint32Array) {
    requireBelow(action, array, 0, length);
    return array;
  }
  const pieces: Uint32Array[] = [];
  let count = 0;
  const batch = new IndexBatch(action, (values, size) => {
    const piece = values.subarray(0, size);
    requireBelow(action, piece, count, length);
    pieces.push(new Uint32Array(piece));
    count += size;
  });
  batch.addAll(array ?? indices);
  batch.flush();
  const list = new Uint32Array(count);
  let end = 0;
  for (const piece of pieces) {
    list.set(piece, end);
    end += piece.length;
  }
  return list;
}

function requireBelow(
  action: string,
  indices: Uint32Array | Float64Array,
  before: number,
  length: number,
): void {
  const place = indices.findIndex((index) => index >= length);
  if (place < 0) return;
  const allowed = length === 0 ? "no index, as there are no elements" : `in 0..${length - 1}`;
  const name = `the index at position ${before + place}`;
  throw rangeError(action, name, `be ${allowed}`, indices[place]);
}

/**
 * A typed array of any kind: indices, or data that a layout reorders.
 * @category Memory access
 */
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

const CLASSES = {
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
};

/**
 * The elements of a typed array as a plain view, whatever a subclass says of them; `undefined` for any
 * other value.
 *
 * @throws {TypeError} If its memory was transferred away.
 */
export function plainArray(action: string, name: string, value: unknown): IndexArray | undefined {
  const array = trueArray(value);
  if (array === undefined) return undefined;
  if (array.bytes === undefined) {
    throw new TypeError(`Cannot ${action} as the memory of ${name} was transferred away`);
  }
  const { kind, buffer, byteOffset, length } = array;
  return new CLASSES[kind as keyof typeof CLASSES](buffer as ArrayBuffer, byteOffset, length);
}

/** The plain view of an argument that must be a typed array with memory. */
export function requireTypedArray<T extends IndexArray>(action: string, name: string, value: T): T {
  const array = plainArray(action, name, value);
  if (array !== undefined) return array as T;
  throw typeError(action, name, "a typed array", value);
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
