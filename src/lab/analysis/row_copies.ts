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
 * Moves a matrix into tiles row by row, or back tile by tile: what is read lies together either way.
 * Writes to many places wait for nothing, and reads from many do, which takes up to twice as long.
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
  const move = isForward ? intoTiles : fromTiles;
  if (isWhole(8)) {
    const [source, target] = [viewOf(BigUint64Array, from), viewOf(BigUint64Array, to)];
    move(inUnits(shape, bytes, 8), (...rows) => copyRows64(source, target, ...rows));
  } else if (isWhole(4)) {
    const [source, target] = [viewOf(Int32Array, from), viewOf(Int32Array, to)];
    move(inUnits(shape, bytes, 4), (...rows) => copyRows32(source, target, ...rows));
  } else if (from instanceof Uint16Array) {
    move(shape, (...rows) => copyRows16(from, to as Uint16Array, ...rows));
  } else {
    move(shape, (...rows) => copyRows8(from as Uint8Array, to as Uint8Array, ...rows));
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
 * Copies rows of tiles.
 *
 * @param i Where the first begins.
 * @param step From there to the next.
 * @param o Where it goes.
 * @param rise From there to where the next goes.
 * @param width Units of a row.
 * @param count Rows.
 */
type RowsCopy = (
  i: number,
  step: number,
  o: number,
  rise: number,
  width: number,
  count: number,
) => void;

// Rows and bands have functions of their own: what is called often is compiled for speed soon. In a
// long loop that is called once, copies of BigInt elements would be compiled for a quick start.

/** Row of the matrix by row: each has a row of every tile that is beside it. */
function intoTiles(shape: BlockRows, copy: RowsCopy): void {
  for (let row = 0; row < shape.rows; row++) rowIntoTiles(shape, row, copy);
}

function rowIntoTiles(
  { rows, columns, tileRows, tileColumns }: BlockRows,
  row: number,
  copy: RowsCopy,
): void {
  const rest = columns % tileColumns;
  const whole = columns - rest;
  const inTile = row % tileRows;
  const top = row - inTile;
  const height = rows - top < tileRows ? rows - top : tileRows;
  const i = row * columns;
  const band = top * columns;
  const tiles = whole / tileColumns >>> 0;
  copy(i, tileColumns, band + inTile * tileColumns, height * tileColumns, tileColumns, tiles);
  if (rest > 0) copy(i + whole, rest, band + whole * height + inTile * rest, rest, rest, 1);
}

/** Tile by tile. */
function fromTiles(shape: BlockRows, copy: RowsCopy): void {
  for (let top = 0; top < shape.rows; top += shape.tileRows) bandFromTiles(shape, top, copy);
}

function bandFromTiles(
  { rows, columns, tileRows, tileColumns }: BlockRows,
  top: number,
  copy: RowsCopy,
): void {
  const height = rows - top < tileRows ? rows - top : tileRows;
  const band = top * columns;
  for (let left = 0; left < columns; left += tileColumns) {
    const width = columns - left < tileColumns ? columns - left : tileColumns;
    copy(band + left * height, width, band + left, columns, width, height);
  }
}

// One loop for each width: a loop that sees several kinds of arrays is slow.

function copyRows64(
  from: BigUint64Array,
  to: BigUint64Array,
  i: number,
  step: number,
  o: number,
  rise: number,
  width: number,
  count: number,
): void {
  for (; count > 0; count--, i += step, o += rise) {
    for (let k = 0; k < width; k++) to[o + k] = from[i + k]!;
  }
}

function copyRows32(
  from: Int32Array,
  to: Int32Array,
  i: number,
  step: number,
  o: number,
  rise: number,
  width: number,
  count: number,
): void {
  for (; count > 0; count--, i += step, o += rise) {
    for (let k = 0; k < width; k++) to[o + k] = from[i + k]!;
  }
}

function copyRows16(
  from: Uint16Array,
  to: Uint16Array,
  i: number,
  step: number,
  o: number,
  rise: number,
  width: number,
  count: number,
): void {
  for (; count > 0; count--, i += step, o += rise) {
    for (let k = 0; k < width; k++) to[o + k] = from[i + k]!;
  }
}

function copyRows8(
  from: Uint8Array,
  to: Uint8Array,
  i: number,
  step: number,
  o: number,
  rise: number,
  width: number,
  count: number,
): void {
  for (; count > 0; count--, i += step, o += rise) {
    for (let k = 0; k < width; k++) to[o + k] = from[i + k]!;
  }
}
