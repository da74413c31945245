/**
 * Matrices along Morton's curve.
 *
 * The curve goes through a square whose side is a power of two, of which a matrix is a part: its
 * elements lie in the order of the curve, without gaps for what is outside. So a place is the number
 * of the matrix's elements that the curve meets before. These are counted quadrant by quadrant, until
 * one lies in the matrix as a whole, where the rest is the Morton code.
 *
 * @module
 */

import { DataLayout } from "./data_layout.ts";
import type { WordArray } from "./element_words.ts";
import { type MatrixShape, requireMatrix } from "./matrix_shape.ts";
import { mortonCode, mortonColumn, mortonRow, squareSide } from "./morton_code.ts";
import { moveAlongCurve } from "./curve_copies.ts";

class ZOrderLayout extends DataLayout {
  override readonly kind = "z-order";
  readonly #rows: number;
  readonly #columns: number;
  readonly #size: number;
  /** The side of the square. */
  readonly #side: number;

  constructor(length: number, { rows, columns }: MatrixShape) {
    super(length);
    this.#rows = rows;
    this.#columns = columns;
    this.#size = rows * columns;
    this.#side = squareSide(rows, columns);
  }

  protected override placeOf(index: number): number {
    if (index >= this.#size) return index;
    const rows = this.#rows;
    const columns = this.#columns;
    const column = index % columns;
    const row = (index - column) / columns;
    let top = 0;
    let left = 0;
    let place = 0;
    let side = this.#side;
    while (top + side > rows || left + side > columns) {
      const half = side / 2;
      if (row >= top + half) {
        place += half * Math.min(side, columns - left);
        top += half;
      }
      if (column >= left + half) {
        place += half * Math.min(half, rows - top);
        left += half;
      }
      side = half;
    }
    return place + mortonCode(row - top, column - left);
  }

  protected override originOf(index: number): number {
    if (index >= this.#size) return index;
    const rows = this.#rows;
    const columns = this.#columns;
    let top = 0;
    let left = 0;
    let rest = index;
    let side = this.#side;
    while (top + side > rows || left + side > columns) {
      const half = side / 2;
      const upper = Math.min(half, rows - top) * Math.min(side, columns - left);
      if (rest >= upper) {
        rest -= upper;
        top += half;
      }
      const first = Math.min(half, rows - top) * Math.min(half, columns - left);
      if (rest >= first) {
        rest -= first;
        left += half;
      }
      side = half;
    }
    return (top + mortonRow(rest)) * columns + left + mortonColumn(rest);
  }

  protected override move(from: WordArray, to: WordArray, isForward: boolean): void {
    moveAlongCurve(from, to, { rows: this.#rows, columns: this.#columns }, isForward);
    const size = this.#size;
    if (size < from.length) (to as Uint8Array).set(from.subarray(size) as Uint8Array, size);
  }
}

/**
 * The layout of a matrix along Morton's curve (Z-order), of arrays that have it by rows: elements
 * near each other in a column are near in memory as those of a row are.
 *
 * Extents need not be powers of two, and no memory is taken for what would make them so.
 *
 * @param shape Rows and columns.
 * @param length Elements of the arrays: those of the matrix by default; what is behind them stays.
 * @throws {RangeError} If a number is not allowed, or the matrix has more elements than the array.
 * @throws {TypeError} If something is no number.
 *
 * @example
 * ```ts
 * import { zOrderLayout } from "@gridstride/cuda/analysis";
 *
 * const layout = zOrderLayout({ rows: 3, columns: 3 });
 * console.log(layout.oldIndices()); // Uint32Array(9) [ 0, 1, 3, 4, 2, 5, 6, 7, 8 ]
 * ```
 */
export function zOrderLayout(shape: MatrixShape, length?: number): DataLayout {
  const matrix = requireMatrix("lay out a matrix along a curve", shape, length);
  return new ZOrderLayout(matrix.length, matrix);
}
