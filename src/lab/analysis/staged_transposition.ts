/**
 * Transposition of small elements by way of memory of one's own.
 *
 * A matrix whose rows are no whole words cannot be transposed in words where it is. So a square of it
 * is copied to where rows are aligned, transposed there, and copied on.
 *
 * @module
 */

import { transposePacked16, transposePacked8 } from "./packed_transposition.ts";

/** Bytes of a row of a square: long enough that calls for rows do not count. */
const ROW_BYTES = 1024;
/** Bytes between rows: a power of two apart, they would compete for the same sets of a cache. */
const GAP_BYTES = 64;

/** An array of small elements. */
type NarrowArray = Uint8Array | Uint16Array;

/** Transposes squares of a matrix. */
export class StagedTransposition {
  readonly #from: NarrowArray;
  readonly #to: NarrowArray;
  readonly #rows: number;
  readonly #columns: number;
  /** Elements from one row of a square to the next. */
  readonly #pitch: number;
  /** A square before and after, in elements and in words. */
  readonly #before: NarrowArray;
  readonly #after: NarrowArray;
  readonly #wordsBefore: Int32Array;
  readonly #wordsAfter: Int32Array;

  /**
   * @param from The matrix, by rows.
   * @param to Where it goes.
   * @param rows Its rows.
   * @param columns Its columns.
   */
  constructor(from: NarrowArray, to: NarrowArray, rows: number, columns: number) {
    this.#from = from;
    this.#to = to;
    this.#rows = rows;
    this.#columns = columns;
    const bytes = from.BYTES_PER_ELEMENT;
    const side = ROW_BYTES / bytes;
    this.#pitch = side + GAP_BYTES / bytes;
    const View = from instanceof Uint8Array ? Uint8Array : Uint16Array;
    this.#before = new View(side * this.#pitch);
    this.#after = new View(side * this.#pitch);
    this.#wordsBefore = new Int32Array(this.#before.buffer);
    this.#wordsAfter = new Int32Array(this.#after.buffer);
  }

  /** Transposes the matrix. */
  run(): void {
    const side = ROW_BYTES / this.#from.BYTES_PER_ELEMENT;
    for (let top = 0; top < this.#rows; top += side) {
      const height = Math.min(side, this.#rows - top);
      for (let left = 0; left < this.#columns; left += side) {
        this.#move(top, left, height, Math.min(side, this.#columns - left));
      }
    }
  }

  #move(top: number, left: number, height: number, width: number): void {
    const pitch = this.#pitch;
    for (let row = 0; row < height; row++) {
      const begin = (top + row) * this.#columns + left;
      this.#before.set(this.#from.subarray(begin, begin + width), row * pitch);
    }
    this.#transpose(height, width);
    for (let column = 0; column < width; column++) {
      const begin = column * pitch;
      const place = (left + column) * this.#rows + top;
      this.#to.set(this.#after.subarray(begin, begin + height), place);
    }
  }

  /** Whole words, whatever is in those that reach beyond the matrix. */
  #transpose(height: number, width: number): void {
    const [move, unit] = this.#from instanceof Uint8Array
      ? [transposePacked8, 4]
      : [transposePacked16, 2];
    const bottom = Math.ceil(height / unit) * unit;
    const right = Math.ceil(width / unit) * unit;
    const pitch = this.#pitch;
    move(this.#wordsBefore, this.#wordsAfter, pitch, pitch, 0, bottom, 0, right);
  }
}
