/**
 * Copies of the rows of tiles between a matrix and its tiles.
 *
 * A row of a tile is moved in the widest words that it consists of, as long as these are aligned in
 * both arrays.
 *
 * @module
 */

import type { WordArray } from "./element_words.ts";
import { asInteger } from "./matrix_shape.ts";

/** A matrix and its tiles, in elements. */
export interface BlockRows {
  /** Rows of the matrix. */
  readonly rows: number;
  /** Elements of its rows. */
  readonly columns: number;
  /** Rows of a tile. */
  readonly tileRows: number;
  /** Elements of a tile's row. */
  readonly tileColumns: number;
}

/**
 * Moves a matrix into tiles, or back, row of the matrix by row: so one side is read or written from
 * one end to the other.
 *
 * @param from Where from.
 * @param to Where to: elements of the same width.
 * @param shape The matrix and its tiles.
 * @param isForward Whether it goes into tiles.
 */
export function moveRows(
  from: WordArray,
  to: WordArray,
  shape: BlockRows,
  isForward: boolean,
): void {
  const bytes = from.BYTES_PER_ELEMENT;
  const tileBytes = shape.tileColumns * bytes;
  const rowBytes = shape.columns * bytes;
  const isWhole = (width: number) =>
    [tileBytes, rowBytes, from.byteOffset, to.byteOffset].every((place) => place % width === 0);
  if (isWhole(8)) {
    const [source, target] = [viewOf(BigUint64Array, from), viewOf(BigUint64Array, to)];
    eachRow(inUnits(shape, bytes, 8), (...row) => moveRow64(source, target, isForward, ...row));
  } else if (isWhole(4)) {
    const [source, target] = [viewOf(Int32Array, from), viewOf(Int32Array, to)];
    eachRow(inUnits(shape, bytes, 4), (...row) => moveRow32(source, target, isForward, ...row));
  } else {
    eachRow(shape, (...row) => moveRowNarrow(from, to, isForward, ...row));
  }
}

/** The shape in words of a width, of which rows consist. */
function inUnits(shape: BlockRows, bytes: number, width: number): BlockRows {
  const { rows, columns, tileRows, tileColumns } = shape;
  return {
    ...{ rows, tileRows },
    columns: asInteger(columns * bytes / width),
    tileColumns: asInteger(tileColumns * bytes / width),
  };
}

function viewOf<V extends WordArray>(
  View: new (buffer: ArrayBufferLike, byteOffset: number, length: number) => V,
  words: WordArray,
): V {
  const width = (View as unknown as { readonly BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT;
  return new View(words.buffer, words.byteOffset, Math.floor(words.byteLength / width));
}

/**
 * Moves a row of the matrix.
 *
 * @param i Where it begins.
 * @param o Where its part of the first tile begins.
 * @param step From there to its part of the next tile.
 * @param width Units of a tile's row.
 * @param whole Units of the row in tiles that are as wide.
 * @param p Where its part of the last tile begins, which is not.
 * @param rest Units of that.
 */
type RowMover = (
  i: number,
  o: number,
  step: number,
  width: number,
  whole: number,
  p: number,
  rest: number,
) => void;

/** Calls for each row: what is called often is compiled for speed soon, a single long loop is not. */
function eachRow({ rows, columns, tileRows, tileColumns }: BlockRows, move: RowMover): void {
  const rest = columns % tileColumns;
  const whole = columns - rest;
  for (let row = 0; row < rows; row++) {
    const inTile = row % tileRows;
    const top = row - inTile;
    const height = rows - top < tileRows ? rows - top : tileRows;
    const begin = top * columns;
    move(
      row * columns,
      begin + inTile * tileColumns,
      height * tileColumns,
      tileColumns,
      whole,
      begin + whole * height + inTile * rest,
      rest,
    );
  }
}

// One loop for each width: a loop that sees several kinds of arrays is slow.

function moveRow64(
  from: BigUint64Array,
  to: BigUint64Array,
  isForward: boolean,
  i: number,
  o: number,
  step: number,
  width: number,
  whole: number,
  p: number,
  rest: number,
): void {
  for (const end = i + whole; i < end; i += width, o += step) {
    if (isForward) { for (let k = 0; k < width; k++) to[o + k] = from[i + k]!; }
    else for (let k = 0; k < width; k++) to[i + k] = from[o + k]!;
  }
  if (isForward) { for (let k = 0; k < rest; k++) to[p + k] = from[i + k]!; }
  else for (let k = 0; k < rest; k++) to[i + k] = from[p + k]!;
}

function moveRow32(
  from: Int32Array,
  to: Int32Array,
  isForward: boolean,
  i: number,
  o: number,
  step: number,
  width: number,
  whole: number,
  p: number,
  rest: number,
): void {
  for (const end = i + whole; i < end; i += width, o += step) {
    if (isForward) { for (let k = 0; k < width; k++) to[o + k] = from[i + k]!; }
    else for (let k = 0; k < width; k++) to[i + k] = from[o + k]!;
  }
  if (isForward) { for (let k = 0; k < rest; k++) to[p + k] = from[i + k]!; }
  else for (let k = 0; k < rest; k++) to[i + k] = from[p + k]!;
}

function moveRowNarrow(
  from: WordArray,
  to: WordArray,
  isForward: boolean,
  i: number,
  o: number,
  step: number,
  width: number,
  whole: number,
  p: number,
  rest: number,
): void {
  for (const end = i + whole; i < end; i += width, o += step) {
    if (isForward) { for (let k = 0; k < width; k++) to[o + k] = from[i + k]!; }
    else for (let k = 0; k < width; k++) to[i + k] = from[o + k]!;
  }
  if (isForward) { for (let k = 0; k < rest; k++) to[p + k] = from[i + k]!; }
  else for (let k = 0; k < rest; k++) to[i + k] = from[p + k]!;
}
