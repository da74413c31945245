/**
 * Elements in the order of their first access.
 *
 * @module
 */

import type { AccessIndices } from "./access_analyzer.ts";
import { DataLayout } from "./data_layout.ts";
import type { WordArray } from "./element_words.ts";
import { indexList } from "./index_list.ts";
import { requireInteger } from "./integer_argument.ts";

const ACTION = "lay out elements in the order of their first access";
/** In the place of an element that was not accessed; no index, as 2^32 − 1 elements are the most. */
const UNTOUCHED = 2 ** 32 - 1;

class FirstTouchLayout extends DataLayout {
  override readonly kind = "first-touch";
  readonly #places: Uint32Array<ArrayBuffer>;
  #origins: Uint32Array<ArrayBuffer> | undefined;

  constructor(places: Uint32Array<ArrayBuffer>) {
    super(places.length);
    this.#places = places;
  }

  protected override placeOf(index: number): number {
    return this.#places[index]!;
  }

  protected override originOf(index: number): number {
    return this.#inverse()[index]!;
  }

  /** Gathers: of reads that miss the caches many are under way at a time, of writes few. */
  protected override move(from: WordArray, to: WordArray, isForward: boolean): void {
    const origins = isForward ? this.#inverse() : this.#places;
    if (from instanceof Int32Array) gather32(from, to as Int32Array, origins);
    else if (from instanceof BigUint64Array) gather64(from, to as BigUint64Array, origins);
    else gatherNarrow(from, to as Uint8Array, origins);
  }

  #inverse(): Uint32Array<ArrayBuffer> {
    if (this.#origins === undefined) {
      const places = this.#places;
      const origins = this.#origins = new Uint32Array(places.length);
      for (let index = 0; index < places.length; index++) origins[places[index]!] = index;
    }
    return this.#origins;
  }
}

function gather32(from: Int32Array, to: Int32Array, origins: Uint32Array): void {
  for (let i = 0; i < origins.length; i++) to[i] = from[origins[i]!]!;
}

function gather64(from: BigUint64Array, to: BigUint64Array, origins: Uint32Array): void {
  for (let i = 0; i < origins.length; i++) to[i] = from[origins[i]!]!;
}

function gatherNarrow(
  from: Uint8Array | Uint16Array,
  to: Uint8Array | Uint16Array,
  origins: Uint32Array,
): void {
  for (let i = 0; i < origins.length; i++) to[i] = from[origins[i]!]!;
}

/**
 * The layout of elements in the order of their first access; those that are not accessed follow, in
 * their own order. It takes 4 bytes of memory an element, or 8 if it is asked for old indices.
 *
 * @param indices The accesses.
 * @param length Elements of the arrays, at most 2^32 − 1.
 * @throws {RangeError} If there are too many elements, or an index is none of theirs.
 * @throws {TypeError} If something else came.
 *
 * @example
 * ```ts
 * import { firstTouchLayout } from "@gridstride/cuda/analysis";
 *
 * const layout = firstTouchLayout([3, 1, 3], 4);
 * console.log(layout.apply(Uint8Array.of(10, 11, 12, 13))); // Uint8Array(4) [ 13, 11, 10, 12 ]
 * console.log(layout.rewrite([3, 1, 3])); // Uint32Array(3) [ 0, 1, 0 ]
 * ```
 */
export function firstTouchLayout(indices: AccessIndices, length: number): DataLayout {
  requireInteger(ACTION, "length", length, 0, UNTOUCHED);
  const list = indexList(ACTION, indices, length);
  const places = new Uint32Array(length).fill(UNTOUCHED);
  let next = 0;
  for (let i = 0; i < list.length; i++) {
    if (places[list[i]!] === UNTOUCHED) places[list[i]!] = next++;
  }
  for (let index = 0; index < length; index++) {
    if (places[index] === UNTOUCHED) places[index] = next++;
  }
  return new FirstTouchLayout(places);
}
