/**
 * Transposition of large matrices, region by region: of a region, the processor's second table of
 * addresses holds the pages of both sides, wherever each row of a matrix is in another page.
 *
 * Inside of it, elements of 4 bytes go in blocks of 64 rows and 8 columns, down the rows and then on
 * to the right, so that 256 bytes are written at a stretch. Squares of 16 × 16 are as fast where rows
 * are a power of two apart, and take twice as long where they are not. Elements of 8 bytes go in such
 * squares, along the rows; smaller elements in squares that are put together elsewhere.
 *
 * Masks say to the engine in what range an index is, which spares it checks for overflow; so these
 * loops are for indices below 2^30. Each has its width and its extents written out: with extents
 * that are arguments they take 1.3 times as long.
 *
 * @module
 */

import type { WordArray } from "./element_words.ts";
import { squareMover } from "./staged_squares.ts";

/** Bytes that indices below 2^30 reach, of words of 4 bytes. */
const MOST_BYTES = 2 ** 32;
/** Elements on each side of a region. */
const REGION = 512;
/** Rows and columns of a block of elements of 4 bytes. */
const BLOCK_ROWS = 64;
const BLOCK_COLUMNS = 8;
/** Elements of 8 bytes on each side of a square. */
const SIDE = 16;
/** Bytes on each side of a square of smaller elements: a cache line. */
const SIDE_BYTES = 64;

/** The upper left part of a matrix. */
export interface UpperLeft {
  /** Rows of it. */
  readonly rows: number;
  /** Columns of it. */
  readonly columns: number;
}

/** Transposes the block that begins at a row and a column. */
type PieceMover = (row: number, column: number) => void;

const NOTHING: UpperLeft = { rows: 0, columns: 0 };

/**
 * Transposes as much of a matrix as consists of whole blocks.
 *
 * @param from The matrix, by rows.
 * @param to Where it goes: other memory, of elements of the same width.
 * @param rows Its rows.
 * @param columns Its columns.
 * @returns How much that is; nothing of small elements whose rows are no aligned words.
 */
export function transposeRegions(
  from: WordArray,
  to: WordArray,
  rows: number,
  columns: number,
): UpperLeft {
  if (Math.max(from.byteLength, to.byteLength) > MOST_BYTES) return NOTHING;
  if (from instanceof Int32Array) {
    const part = wholePart(rows, columns, BLOCK_ROWS, BLOCK_COLUMNS);
    const target = to as Int32Array;
    eachBlockDown(part, (row, column) => {
      moveBlock32(from, target, row * columns + column, columns, column * rows + row, rows);
    });
    return part;
  }
  if (from instanceof BigUint64Array) {
    const part = wholePart(rows, columns, SIDE, SIDE);
    const target = to as BigUint64Array;
    eachSquareAcross(part, SIDE, (row, column) => {
      moveSquare64(from, target, row * columns + column, columns, column * rows + row, rows);
    });
    return part;
  }
  const side = SIDE_BYTES / from.BYTES_PER_ELEMENT | 0;
  const part = wholePart(rows, columns, side, side);
  const move = part === NOTHING ? undefined : squareMover(from, to, rows, columns);
  if (move === undefined) return NOTHING;
  eachSquareAcross(part, side, move);
  return part;
}

function wholePart(rows: number, columns: number, height: number, width: number): UpperLeft {
  if (rows < height || columns < width) return NOTHING;
  return { rows: rows - rows % height, columns: columns - columns % width };
}

function eachBlockDown({ rows, columns }: UpperLeft, move: PieceMover): void {
  for (let left = 0; left < columns; left += REGION) {
    const right = left + REGION < columns ? left + REGION : columns;
    for (let top = 0; top < rows; top += REGION) {
      const bottom = top + REGION < rows ? top + REGION : rows;
      for (let column = left; column < right; column += BLOCK_COLUMNS) {
        for (let row = top; row < bottom; row += BLOCK_ROWS) move(row, column);
      }
    }
  }
}

function eachSquareAcross({ rows, columns }: UpperLeft, side: number, move: PieceMover): void {
  for (let left = 0; left < columns; left += REGION) {
    const right = left + REGION < columns ? left + REGION : columns;
    for (let top = 0; top < rows; top += REGION) {
      const bottom = top + REGION < rows ? top + REGION : rows;
      for (let row = top; row < bottom; row += side) {
        for (let column = left; column < right; column += side) move(row, column);
      }
    }
  }
}

/** 4 rows and 4 columns at a time. */
function moveBlock32(
  from: Int32Array,
  to: Int32Array,
  begin: number,
  columns: number,
  place: number,
  rows: number,
): void {
  const step = columns & 0x3fffffff;
  const rise = rows & 0x3fffffff;
  for (let column = 0; column < 8; column += 4) {
    let i = (begin & 0x3fffffff) + column;
    const first = place & 0x3fffffff;
    for (let row = 0; row < 64; row += 4) {
      const a0 = from[i]!, a1 = from[i + 1]!, a2 = from[i + 2]!, a3 = from[i + 3]!;
      const j = i + step;
      const b0 = from[j]!, b1 = from[j + 1]!, b2 = from[j + 2]!, b3 = from[j + 3]!;
      const k = j + step;
      const c0 = from[k]!, c1 = from[k + 1]!, c2 = from[k + 2]!, c3 = from[k + 3]!;
      const l = k + step;
      const d0 = from[l]!, d1 = from[l + 1]!, d2 = from[l + 2]!, d3 = from[l + 3]!;
      i = l + step & 0x3fffffff;
      let o = first + row;
      to[o] = a0, to[o + 1] = b0, to[o + 2] = c0, to[o + 3] = d0;
      o += rise;
      to[o] = a1, to[o + 1] = b1, to[o + 2] = c1, to[o + 3] = d1;
      o += rise;
      to[o] = a2, to[o + 1] = b2, to[o + 2] = c2, to[o + 3] = d2;
      o += rise;
      to[o] = a3, to[o + 1] = b3, to[o + 2] = c3, to[o + 3] = d3;
    }
    place = first + 4 * rise;
  }
}

/** 8 rows of a column at a time. */
function moveSquare64(
  from: BigUint64Array,
  to: BigUint64Array,
  begin: number,
  columns: number,
  place: number,
  rows: number,
): void {
  const step = columns & 0x1fffffff;
  const rise = rows & 0x1fffffff;
  for (let column = 0; column < 16; column++) {
    let i = (begin & 0x1fffffff) + column;
    const first = place & 0x1fffffff;
    for (let row = 0; row < 16; row += 8) {
      const o = first + row;
      to[o] = from[i]!;
      to[o + 1] = from[i + step]!;
      to[o + 2] = from[i + 2 * step]!;
      to[o + 3] = from[i + 3 * step]!;
      to[o + 4] = from[i + 4 * step]!;
      to[o + 5] = from[i + 5 * step]!;
      to[o + 6] = from[i + 6 * step]!;
      to[o + 7] = from[i + 7 * step]!;
      i = i + 8 * step & 0x1fffffff;
    }
    place = first + rise;
  }
}
