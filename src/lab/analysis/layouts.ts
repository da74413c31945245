/**
 * The layouts of matrices, records and accessed elements.
 *
 * @module
 */

import { rangeError, requireInteger, requireObject } from "./arguments.ts";
import {
  type DataLayout,
  type LayoutMapping,
  makeLayout,
  type MatrixShape,
  requireMatrix,
} from "./data_layout.ts";
import { type AccessIndices, copyBlock, indexList, type WordArray } from "./index_batch.ts";

/** Elements of a block's side: more lines of a matrix with 2^n columns share a set of the cache. */
const BLOCK = 16;
/** Marks elements that were not accessed; not an index, as there are at most 2^32 − 1 elements. */
const UNTOUCHED = 2 ** 32 - 1;

/** Transposes a matrix in blocks that stay in the first cache. */
function transpose(from: WordArray, to: WordArray, rows: number, columns: number): void {
  for (let top = 0; top < rows; top += BLOCK) {
    for (let left = 0; left < columns; left += BLOCK) {
      copyBlock(from, to, {
        rows: Math.min(BLOCK, rows - top),
        columns: Math.min(BLOCK, columns - left),
        source: top * columns + left,
        sourcePitch: columns,
        target: left * rows + top,
        targetPitch: 1,
        targetStride: rows,
      });
    }
  }
}

/** Copies the elements behind a matrix of `size` elements. */
function copyRest(from: WordArray, to: WordArray, size: number): void {
  if (size < from.length) (to as Uint8Array).set(from.subarray(size) as Uint8Array, size);
}

function transposition({ rows, columns }: MatrixShape): LayoutMapping {
  const size = rows * columns;
  return {
    placeOf(index) {
      if (index >= size) return index;
      const column = index % columns;
      return column * rows + (index - column) / columns;
    },
    originOf(index) {
      if (index >= size) return index;
      const row = index % rows;
      return row * columns + (index - row) / rows;
    },
    move(from, to, isForward) {
      if (isForward) transpose(from, to, rows, columns);
      else transpose(from, to, columns, rows);
      copyRest(from, to, size);
    },
  };
}

/**
 * The layout of a matrix by columns, for arrays that hold it by rows.
 *
 * @param shape Rows and columns.
 * @param length Elements of the arrays: those of the matrix by default; the rest stays in place.
 * @throws {RangeError} If a number is not allowed, or the matrix has more elements than the array.
 * @throws {TypeError} If a value is not a number.
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
 * @category Data layouts
 */
export function transposedLayout(shape: MatrixShape, length?: number): DataLayout {
  const matrix = requireMatrix("lay out a matrix by columns", shape, length);
  return makeLayout("transposed", matrix.length, transposition(matrix));
}

/**
 * The layout of records by fields (structure of arrays), for arrays of one record behind the other.
 *
 * @param elementsPerRecord Elements of a record.
 * @param length Elements of the arrays: whole records.
 * @throws {RangeError} If a number is not allowed, or records are not whole.
 * @throws {TypeError} If a value is not a number.
 *
 * @example
 * ```ts
 * import { structureOfArraysLayout } from "@gridstride/cuda/analysis";
 *
 * const layout = structureOfArraysLayout(2, 6);
 * console.log(layout.apply(Uint8Array.of(1, 10, 2, 20, 3, 30))); // [ 1, 2, 3, 10, 20, 30 ]
 * ```
 * @category Data layouts
 */
export function structureOfArraysLayout(elementsPerRecord: number, length: number): DataLayout {
  const action = "lay out records by fields";
  requireInteger(action, "elementsPerRecord", elementsPerRecord, 1);
  requireInteger(action, "length", length, 0);
  if (length % elementsPerRecord !== 0) {
    const allowed = `be a multiple of elementsPerRecord, ${elementsPerRecord}`;
    throw rangeError(action, "length", allowed, length);
  }
  const shape = { rows: length / elementsPerRecord, columns: elementsPerRecord };
  return makeLayout("structure-of-arrays", length, transposition(shape));
}

/**
 * The layout of a matrix by tiles, for arrays that hold it by rows: one tile behind the other, each
 * by rows. Tiles at the right and lower edge are smaller.
 *
 * @param shape Rows and columns of the matrix; need not be multiples of the tile's.
 * @param tile Rows and columns of a tile.
 * @param length Elements of the arrays: those of the matrix by default; the rest stays in place.
 * @throws {RangeError} If a number is not allowed, or the matrix has more elements than the array.
 * @throws {TypeError} If a value is not a number.
 *
 * @example
 * ```ts
 * import { tiledLayout } from "@gridstride/cuda/analysis";
 *
 * const layout = tiledLayout({ rows: 2, columns: 4 }, { rows: 2, columns: 2 });
 * console.log(layout.apply(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7)));
 * // Uint8Array(8) [ 0, 1, 4, 5, 2, 3, 6, 7 ]
 * ```
 * @category Data layouts
 */
export function tiledLayout(shape: MatrixShape, tile: MatrixShape, length?: number): DataLayout {
  const action = "lay out a matrix by tiles";
  const matrix = requireMatrix(action, shape, length);
  requireObject(action, "tile", tile);
  const { rows, columns, size } = matrix;
  requireInteger(action, "tile.rows", tile.rows, 1);
  requireInteger(action, "tile.columns", tile.columns, 1);
  const tileRows = Math.min(tile.rows, Math.max(1, rows));
  const tileColumns = Math.min(tile.columns, Math.max(1, columns));
  return makeLayout("tiled", matrix.length, {
    placeOf(index) {
      if (index >= size) return index;
      const column = index % columns;
      const row = (index - column) / columns;
      const top = row - row % tileRows;
      const left = column - column % tileColumns;
      const height = Math.min(tileRows, rows - top);
      const width = Math.min(tileColumns, columns - left);
      return top * columns + left * height + (row - top) * width + column - left;
    },
    originOf(index) {
      if (index >= size) return index;
      const top = Math.floor(index / (tileRows * columns)) * tileRows;
      const height = Math.min(tileRows, rows - top);
      const inBand = index - top * columns;
      const left = Math.floor(inBand / (tileColumns * height)) * tileColumns;
      const width = Math.min(tileColumns, columns - left);
      const inTile = inBand - left * height;
      const column = inTile % width;
      return (top + (inTile - column) / width) * columns + left + column;
    },
    move(from, to, isForward) {
      for (let top = 0; top < rows; top += tileRows) {
        const height = Math.min(tileRows, rows - top);
        for (let left = 0; left < columns; left += tileColumns) {
          const width = Math.min(tileColumns, columns - left);
          const [inMatrix, inTiles] = [top * columns + left, top * columns + left * height];
          copyBlock(from, to, {
            rows: height,
            columns: width,
            source: isForward ? inMatrix : inTiles,
            sourcePitch: isForward ? columns : width,
            target: isForward ? inTiles : inMatrix,
            targetPitch: isForward ? width : columns,
            targetStride: 1,
          });
        }
      }
      copyRest(from, to, size);
    },
  });
}

/**
 * The layout of a matrix along Morton's curve (Z-order), for arrays that hold it by rows: neighbours
 * in a column are near in memory like those of a row.
 *
 * Extents need not be powers of two, and padding takes no memory: the curve goes through a square of
 * such a side, and elements outside of the matrix are left out.
 *
 * @param shape Rows and columns.
 * @param length Elements of the arrays: those of the matrix by default; the rest stays in place.
 * @throws {RangeError} If a number is not allowed, or the matrix has more elements than the array.
 * @throws {TypeError} If a value is not a number.
 *
 * @example
 * ```ts
 * import { zOrderLayout } from "@gridstride/cuda/analysis";
 *
 * const layout = zOrderLayout({ rows: 3, columns: 3 });
 * console.log(layout.oldIndices()); // Uint32Array(9) [ 0, 1, 3, 4, 2, 5, 6, 7, 8 ]
 * ```
 * @category Data layouts
 */
export function zOrderLayout(shape: MatrixShape, length?: number): DataLayout {
  const matrix = requireMatrix("lay out a matrix along a curve", shape, length);
  const { rows, columns, size } = matrix;
  // A logarithm would be rounded to a smaller side beyond 2^48.
  let square = 1;
  while (square < rows || square < columns) square *= 2;
  // Each step leaves the quadrants that the curve meets before the one with the element. A quadrant
  // has as many elements as it shares with the matrix.
  return makeLayout("z-order", matrix.length, {
    placeOf(index) {
      if (index >= size) return index;
      const column = index % columns;
      const row = (index - column) / columns;
      let top = 0;
      let left = 0;
      let place = 0;
      for (let side = square; side > 1; side /= 2) {
        const half = side / 2;
        if (row >= top + half) {
          place += half * Math.min(side, columns - left);
          top += half;
        }
        if (column >= left + half) {
          place += half * Math.min(half, rows - top);
          left += half;
        }
      }
      return place;
    },
    originOf(index) {
      if (index >= size) return index;
      let top = 0;
      let left = 0;
      let rest = index;
      for (let side = square; side > 1; side /= 2) {
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
      }
      return top * columns + left;
    },
  });
}

/**
 * The layout of elements in the order of their first access; those that are not accessed follow, in
 * their own order. It takes 8 bytes of memory an element.
 *
 * @param indices The accesses.
 * @param length Elements of the arrays, at most 2^32 − 1.
 * @throws {RangeError} If there are too many elements, or an index is not below `length`.
 * @throws {TypeError} If a value is of another type.
 *
 * @example
 * ```ts
 * import { firstTouchLayout } from "@gridstride/cuda/analysis";
 *
 * const layout = firstTouchLayout([3, 1, 3], 4);
 * console.log(layout.apply(Uint8Array.of(10, 11, 12, 13))); // Uint8Array(4) [ 13, 11, 10, 12 ]
 * console.log(layout.rewrite([3, 1, 3])); // Uint32Array(3) [ 0, 1, 0 ]
 * ```
 * @category Data layouts
 */
export function firstTouchLayout(indices: AccessIndices, length: number): DataLayout {
  const action = "lay out elements in the order of their first access";
  requireInteger(action, "length", length, 0, UNTOUCHED);
  const list = indexList(action, indices, length);
  const places = new Uint32Array(length).fill(UNTOUCHED);
  const origins = new Uint32Array(length);
  let next = 0;
  const touch = (index: number) => {
    if (places[index] !== UNTOUCHED) return;
    origins[next] = index;
    places[index] = next++;
  };
  for (let i = 0; i < list.length; i++) touch(list[i]!);
  for (let index = 0; index < length; index++) touch(index);
  return makeLayout("first-touch", length, {
    placeOf: (index) => places[index]!,
    originOf: (index) => origins[index]!,
  });
}
