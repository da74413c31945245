/**
 * Matrices by tiles.
 *
 * @module
 */

import { DataLayout } from "./data_layout.ts";
import type { WordArray } from "./element_words.ts";
import { requireInteger, requireObject } from "./integer_argument.ts";
import { asInteger, type MatrixShape, requireMatrix } from "./matrix_shape.ts";
import { type BlockRows, moveRows } from "./row_copies.ts";

class TiledLayout extends DataLayout {
  override readonly kind = "tiled";
  readonly #rows: number;
  readonly #columns: number;
  readonly #tile: MatrixShape;

  constructor(length: number, { rows, columns }: MatrixShape, tile: MatrixShape) {
    super(length);
    this.#rows = rows;
    this.#columns = columns;
    this.#tile = tile;
  }

  // Tiles at the right and lower edge are as much smaller as the matrix ends inside of them.

  protected override placeOf(index: number): number {
    const columns = this.#columns;
    if (index >= this.#rows * columns) return index;
    const { rows: tileRows, columns: tileColumns } = this.#tile;
    const column = index % columns;
    const row = (index - column) / columns;
    const tileRow = row % tileRows;
    const tileColumn = column % tileColumns;
    const top = row - tileRow;
    const left = column - tileColumn;
    const height = Math.min(tileRows, this.#rows - top);
    const width = Math.min(tileColumns, columns - left);
    return top * columns + left * height + tileRow * width + tileColumn;
  }

  protected override originOf(index: number): number {
    const columns = this.#columns;
    if (index >= this.#rows * columns) return index;
    const { rows: tileRows, columns: tileColumns } = this.#tile;
    const top = Math.floor(index / (tileRows * columns)) * tileRows;
    const height = Math.min(tileRows, this.#rows - top);
    const inBand = index - top * columns;
    const left = Math.floor(inBand / (tileColumns * height)) * tileColumns;
    const width = Math.min(tileColumns, columns - left);
    const inTile = inBand - left * height;
    const tileColumn = inTile % width;
    return (top + (inTile - tileColumn) / width) * columns + left + tileColumn;
  }

  protected override move(from: WordArray, to: WordArray, isForward: boolean): void {
    const rows: BlockRows = {
      rows: this.#rows,
      columns: this.#columns,
      tileRows: this.#tile.rows,
      tileColumns: this.#tile.columns,
    };
    moveRows(from, to, rows, isForward);
    const size = this.#rows * this.#columns;
    if (size < from.length) (to as Uint8Array).set(from.subarray(size) as Uint8Array, size);
  }
}

/**
 * The layout of a matrix by tiles, of arrays that have it by rows: one tile behind the other, each
 * by rows.
 *
 * @param shape Rows and columns of the matrix; need not be multiples of the tile's.
 * @param tile Rows and columns of a tile.
 * @param length Elements of the arrays: those of the matrix by default; what is behind them stays.
 * @throws {RangeError} If a number is not allowed, or the matrix has more elements than the array.
 * @throws {TypeError} If something is no number.
 *
 * @example
 * ```ts
 * import { tiledLayout } from "@gridstride/cuda/analysis";
 *
 * const layout = tiledLayout({ rows: 2, columns: 4 }, { rows: 2, columns: 2 });
 * console.log(layout.apply(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7)));
 * // Uint8Array(8) [ 0, 1, 4, 5, 2, 3, 6, 7 ]
 * ```
 */
export function tiledLayout(shape: MatrixShape, tile: MatrixShape, length?: number): DataLayout {
  const action = "lay out a matrix by tiles";
  const matrix = requireMatrix(action, shape, length);
  requireObject(action, "tile", tile);
  const { rows, columns } = tile;
  requireInteger(action, "tile.rows", rows, 1);
  requireInteger(action, "tile.columns", columns, 1);
  // A tile beyond the matrix is one that it ends inside of.
  return new TiledLayout(matrix.length, matrix, {
    rows: asInteger(Math.min(rows, Math.max(1, matrix.rows))),
    columns: asInteger(Math.min(columns, Math.max(1, matrix.columns))),
  });
}
