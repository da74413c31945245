/**
 * Indices of any kind, checked and handed on as 32-bit ones, in batches of one size however they
 * came.
 *
 * Loops over indices see one kind of array only, which the compiler needs to make them fast; to copy
 * a few thousand indices costs a tenth of what looking at them does.
 *
 * @module
 */

import { describeInput, indexError } from "./index_error.ts";

/** Indices of a batch: whole warps, small enough to stay in a core's first cache. */
const BATCH = 8192;
/** What is taken off indices so that they fit 32 bits is a multiple of it: whole lines. */
const BASE_UNIT = 2 ** 20;
const RANGE = 2 ** 32;

/** An array of indices whose elements are of one type. */
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

/** Who takes full batches. */
export interface BatchTaker {
  /**
   * Takes indices.
   *
   * @param values The indices, less `base`.
   * @param count How many of them.
   * @param base A multiple of 2^20.
   */
  take(values: Uint32Array<ArrayBuffer>, count: number, base: number): void;
  /** Takes indices of which some are 2^32 or more apart. */
  takeDistant(values: Float64Array<ArrayBuffer>, count: number): void;
}

const kindOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!.get!;

/** The name of a typed array's class; undefined for what is none. */
export function typedArrayKind(value: unknown): string | undefined {
  return kindOf.call(value);
}

/** Collects indices. */
export class IndexBatch {
  readonly #action: string;
  readonly #taker: BatchTaker;
  readonly #narrow = new Uint32Array(BATCH);
  /** Where indices are instead while there are some of more than 32 bits. */
  #wide = new Float64Array(0);
  #read = new Float64Array(0);
  #isWide = false;
  #count = 0;
  /** Indices in earlier batches. */
  #before = 0;

  /**
   * @param action What is done with indices, for error messages: `analyse accesses`.
   * @param taker Who takes full batches.
   */
  constructor(action: string, taker: BatchTaker) {
    this.#action = action;
    this.#taker = taker;
  }

  /** How many indices there were so far. */
  get position(): number {
    return this.#before + this.#count;
  }

  /**
   * Adds indices.
   *
   * @param indices A typed array, or anything iterable of numbers, bigints and typed arrays.
   * @throws {RangeError} If one is no integer in 0..2^53 − 1; those before it have been added.
   * @throws {TypeError} If something else came.
   */
  addAll(indices: unknown): void {
    if (typedArrayKind(indices) !== undefined) {
      this.addArray(indices as IndexArray);
    } else if (isIterable(indices)) {
      for (const item of indices) {
        if (typedArrayKind(item) !== undefined) this.addArray(item as IndexArray);
        else this.addOne(item);
      }
    } else {
      throw new TypeError(
        `Cannot ${this.#action} as indices must be a typed array or iterable: it is ${
          describeInput(indices)
        }`,
      );
    }
  }

  /**
   * Adds one index.
   *
   * @throws {RangeError} If it is no integer in 0..2^53 − 1.
   * @throws {TypeError} If it is no number and no bigint.
   */
  addOne(value: unknown): void {
    const index = typeof value === "bigint" ? exactNumber(value) : value;
    if (!Number.isSafeInteger(index) || index as number < 0) {
      throw indexError(this.#action, this.position, value);
    }
    this.#put(index as number);
    this.#count++;
    if (this.#count === BATCH) this.flush();
  }

  /**
   * Adds the elements of a typed array.
   *
   * @throws {RangeError} If one is no integer in 0..2^53 − 1; those before it have been added.
   */
  addArray(array: IndexArray): void {
    const kind = typedArrayKind(array)!;
    if (array.buffer instanceof ArrayBuffer && array.buffer.detached) {
      throw new TypeError(`Cannot ${this.#action} as the memory of indices was transferred away`);
    }
    for (let from = 0; from < array.length;) {
      const count = Math.min(BATCH - this.#count, array.length - from);
      this.#addPiece(kind, array, from, count);
      from += count;
      if (this.#count === BATCH) this.flush();
    }
  }

  #addPiece(kind: string, array: IndexArray, from: number, count: number): void {
    const place = array.byteOffset + from * array.BYTES_PER_ELEMENT;
    const view = (View: new (buffer: ArrayBufferLike, place: number, count: number) => ViewOf) =>
      new View(array.buffer, place, count);
    switch (kind) {
      case "Uint8Array":
      case "Uint8ClampedArray":
        return this.#addNarrow(view(Uint8Array), false);
      case "Uint16Array":
        return this.#addNarrow(view(Uint16Array), false);
      case "Uint32Array":
        return this.#addNarrow(view(Uint32Array), false);
      case "Int8Array":
        return this.#addNarrow(view(Int8Array), true);
      case "Int16Array":
        return this.#addNarrow(view(Int16Array), true);
      case "Int32Array":
        return this.#addNarrow(view(Int32Array), true);
      case "Float16Array":
        return this.#addRead(view(Float16Array), count);
      case "Float32Array":
        return this.#addRead(view(Float32Array), count);
      case "Float64Array":
        return this.#addRead(view(Float64Array), count);
      default:
        return this.#addPairs(new Uint32Array(array.buffer, place, 2 * count), count, array, from);
    }
  }

  /** Adds integers of 32 bits and less. */
  #addNarrow(view: ViewOf, isSigned: boolean): void {
    const begin = this.#count;
    const end = begin + view.length;
    if (isSigned) {
      const negative = firstNegative(view);
      if (negative < view.length) {
        this.#addNarrow(view.subarray(0, negative), false);
        throw indexError(this.#action, this.position, view[negative]);
      }
    }
    if (this.#isWide) this.#wide.set(view, begin);
    else this.#narrow.set(view, begin);
    this.#count = end;
  }

  /** Adds floating-point numbers. */
  #addRead(view: ViewOf, count: number): void {
    this.#readable().set(view);
    const added = this.#addNumbers(count);
    if (added < count) throw indexError(this.#action, this.position, view[added]);
  }

  /** Adds integers of 64 bits, by their halves: to make a bigint of each takes much longer. */
  #addPairs(
    halves: Uint32Array,
    count: number,
    array: { readonly [index: number]: unknown },
    from: number,
  ): void {
    const read = this.#readable();
    for (let i = 0; i < count; i++) read[i] = halves[2 * i + 1]! * RANGE + halves[2 * i]!;
    const added = this.#addNumbers(count);
    if (added < count) throw indexError(this.#action, this.position, array[from + added]);
  }

  /** Where numbers go that are to be checked; made when it is needed. */
  #readable(): Float64Array<ArrayBuffer> {
    if (this.#read.length === 0) this.#read = new Float64Array(BATCH);
    return this.#read;
  }

  /** Adds what was read, up to what is no index, and returns how many these were. */
  #addNumbers(count: number): number {
    const read = this.#read;
    const narrow = this.#narrow;
    const begin = this.#count;
    let i = 0;
    if (!this.#isWide) {
      for (; i < count; i++) {
        const value = read[i]!;
        const index = value >>> 0;
        if (index !== value) break;
        narrow[begin + i] = index;
      }
    }
    this.#count = begin + i;
    for (; i < count && Number.isSafeInteger(read[i]) && read[i]! >= 0; i++) {
      this.#put(read[i]!);
      this.#count++;
    }
    return i;
  }

  #put(index: number): void {
    if (!this.#isWide && index >= RANGE) {
      this.#isWide = true;
      if (this.#wide.length === 0) this.#wide = new Float64Array(BATCH);
      for (let i = 0; i < this.#count; i++) this.#wide[i] = this.#narrow[i]!;
    }
    if (this.#isWide) this.#wide[this.#count] = index;
    else this.#narrow[this.#count] = index;
  }

  /** Hands on what there is. */
  flush(): void {
    const count = this.#count;
    if (count === 0) return;
    if (this.#isWide) this.#flushWide(count);
    else this.#taker.take(this.#narrow, count, 0);
    this.#isWide = false;
    this.#before += count;
    this.#count = 0;
  }

  #flushWide(count: number): void {
    const wide = this.#wide;
    let least = Infinity;
    let greatest = 0;
    for (let i = 0; i < count; i++) {
      least = Math.min(least, wide[i]!);
      greatest = Math.max(greatest, wide[i]!);
    }
    const base = Math.floor(least / BASE_UNIT) * BASE_UNIT;
    if (greatest - base >= RANGE) {
      this.#taker.takeDistant(wide, count);
      return;
    }
    for (let i = 0; i < count; i++) this.#narrow[i] = wide[i]! - base;
    this.#taker.take(this.#narrow, count, base);
  }
}

/** A view of a typed array whose elements are numbers. */
type ViewOf = Exclude<IndexArray, BigInt64Array | BigUint64Array>;

/** A bigint as a number; `NaN` where that is another. */
function exactNumber(value: bigint): number {
  return value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : NaN;
}

/** Where the first negative number is; the length where there is none. */
function firstNegative(view: ViewOf): number {
  let i = 0;
  while (i < view.length && view[i]! >= 0) i++;
  return i;
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}
