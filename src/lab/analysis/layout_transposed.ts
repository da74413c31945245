/**
 * Matrices by columns, and records by fields, which is the same.
 *
 * @module
 */

import { DataLayout, type LayoutKind } from "./data_layout.ts";
import type { WordArray } from "./element_words.ts";
import { asInteger, type MatrixShape, requireMatrix } from "./matrix_shape.ts";
import { requireInteger } from "./integer_argument.ts";
import { transpose } from "./transposition.ts";

class TransposedLayout extends DataLayout {
  override readonly kind: LayoutKind;
  readonly #rows: number;
  readonly #columns: number;
  /** Elements of the matrix; those behind it stay where they are. */
  readonly #size: number;

  constructor(kind: LayoutKind, length: number, { rows, columns }: MatrixShape) {
    super(length);
    this.kind = kind;
    this.#rows = rows;
    this.#columns = columns;
    this.#size = rows * columns;
  }

  protected override placeOf(index: number): number {
    if (index >= this.#size) return index;
    const column = index % this.#columns;
    return column * this.#rows + (index - column) / this.#columns;
  }

  protected override originOf(index: number): number {
    if (index >= this.#size) return index;
    const row = index % this.#rows;
    return row * this.#columns + (index - row) / this.#rows;
  }

  protected override move(from: WordArray, to: WordArray, isForward: boolean): void {
    const [rows, columns] = isForward ? [this.#rows, this.#columns] : [this.#columns, this.#rows];
    transpose(from, to, rows, columns);
    const size = this.#size;
    if (size < from.length) (to as Uint8Array).set(from.subarray(size) as Uint8Array, size);
  }
}

/**
 * The layout of a matrix by columns, of arrays that have it by rows.
 *
 * @param shape Rows and columns.
 * @param length Elements of the arrays: those of the matrix by default; what is behind them stays.
 * @throws {RangeError} If a number is not allowed, or the matrix has more elements than the array.
 * @throws {TypeError} If something is no number.
 *
 * @example
 * ```ts
 * import { transposedLayout } from "@gridstride/cuda/analysis";
 *
 * const layout = transposedLayout({ rows: 2, columns: 3 });
 * const data = layout.apply(Float32Array.of(1, 2, 3, 4, 5, 6));
 * console.log(data); // Float32Array(6) [ 1, 4, 2, 5, 3, 6 ]
 * console.log(layout.undo(data)); // Float32Array(6) [ 1, 2, 3, 4, 5, 6 ]
 * ```
 */
export function transposedLayout(shape: MatrixShape, length?: number): DataLayout {
  const matrix = requireMatrix("lay out a matrix by columns", shape, length);
  return new TransposedLayout("transposed", matrix.length, matrix);
}

/**
 * The layout of records by fields (structure of arrays), of arrays that have one record behind the
 * other.
 *
 * @param elementsPerRecord Elements of a record.
 * @param length Elements of the arrays: whole records.
 * @throws {RangeError} If a number is not allowed, or there are not whole records.
 * @throws {TypeError} If something is no number.
 */
export function structureOfArraysLayout(elementsPerRecord: number, length: number): DataLayout {
  const action = "lay out records by fields";
  requireInteger(action, "elementsPerRecord", elementsPerRecord, 1);
  requireInteger(action, "length", length, 0);
  if (length % elementsPerRecord !== 0) {
    throw new RangeError(
      `Cannot ${action} as length must be a multiple of elementsPerRecord, ${elementsPerRecord}: ` +
        `it is ${length}`,
    );
  }
  const shape = {
    rows: asInteger(length / elementsPerRecord),
    columns: asInteger(elementsPerRecord),
  };
  return new TransposedLayout("structure-of-arrays", length, shape);
}
