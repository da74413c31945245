/**
 * Indices of accesses to an array, all at once.
 *
 * @module
 */

import type { AccessIndices } from "./access_analyzer.ts";
import { IndexBatch, typedArrayKind } from "./index_batch.ts";

/** What 32 bits can tell apart. */
const MOST_ELEMENTS = 2 ** 32;

/**
 * The indices as 32-bit integers: the array itself where that is what it has.
 *
 * @param action What is done with them.
 * @param indices The indices.
 * @param length Elements of the array: each index is less.
 * @throws {RangeError} If an index is none, or no element's, or there are more than 2^32 elements.
 * @throws {TypeError} If something else came.
 */
export function indexList(
  action: string,
  indices: AccessIndices,
  length: number,
): Uint32Array<ArrayBufferLike> {
  if (length > MOST_ELEMENTS) {
    throw new RangeError(
      `Cannot ${action} as there must be at most ${MOST_ELEMENTS} elements: there are ${length}`,
    );
  }
  const list = listOf(action, indices, length);
  for (let i = 0; i < list.length; i++) {
    if (list[i]! >= length) throw outside(action, i, list[i]!, length);
  }
  return list;
}

function listOf(
  action: string,
  indices: AccessIndices,
  length: number,
): Uint32Array<ArrayBufferLike> {
  if (typedArrayKind(indices) !== "Uint32Array") return collected(action, indices, length);
  const list = indices as Uint32Array;
  if (list.buffer instanceof ArrayBuffer && list.buffer.detached) {
    throw new TypeError(`Cannot ${action} as the memory of indices was transferred away`);
  }
  return list;
}

function collected(
  action: string,
  indices: AccessIndices,
  length: number,
): Uint32Array<ArrayBuffer> {
  const pieces: Uint32Array<ArrayBuffer>[] = [];
  let count = 0;
  const batch = new IndexBatch(action, {
    take(values, size, base) {
      const piece = values.slice(0, size);
      if (base !== 0) {
        for (let i = 0; i < size; i++) {
          const index = values[i]! + base;
          if (index >= length) throw outside(action, count + i, index, length);
          piece[i] = index;
        }
      }
      pieces.push(piece);
      count += size;
    },
    takeDistant(values, size) {
      // Some are 2^32 or more apart, and no array is as long.
      const place = values.subarray(0, size).findIndex((index) => index >= length);
      throw outside(action, count + place, values[place]!, length);
    },
  });
  batch.addAll(indices);
  batch.flush();
  const list = new Uint32Array(count);
  let end = 0;
  for (const piece of pieces) {
    list.set(piece, end);
    end += piece.length;
  }
  return list;
}

function outside(action: string, position: number, index: number, length: number): RangeError {
  const allowed = length === 0 ? "no index, as there are no elements" : `in 0..${length - 1}`;
  return new RangeError(
    `Cannot ${action} as the index at position ${position} must be ${allowed}: it is ${index}`,
  );
}
