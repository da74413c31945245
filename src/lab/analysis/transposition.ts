/**
 * Transposition of a matrix in memory.
 *
 * Large matrices go region by region; narrow and low ones field by field, as records; small elements
 * whose rows are no aligned words by way of other memory. What remains, at the edges and of middling
 * extents, goes block by block, so that the parts of rows and columns that a block touches stay in a
 * core's first cache: 4 × 4 elements of 4 bytes at a time, and smaller ones in words of 4 bytes.
 *
 * There is one loop for each width on purpose: one that saw arrays of several kinds would ask for the
 * kind at every element, which takes three times as long.
 *
 * @module
 */

import type { WordArray } from "./element_words.ts";
import { transposePacked16, transposePacked8 } from "./packed_transposition.ts";
import { areRecords, transposeRecords } from "./record_transposition.ts";
import { transposeRegions } from "./region_transposition.ts";
import { StagedTransposition } from "./staged_transposition.ts";

/** Elements on each side of a block. */
const BLOCK = 64;
/** Elements of a block of which one side is shorter. */
const BLOCK_ELEMENTS = BLOCK * BLOCK;
/** Transposes the block of rows `top` to `bottom` and columns `left` to `right`. */
type BlockMover = (top: number, bottom: number, left: number, right: number) => void;

/**
 * Writes a matrix by columns.
 *
 * @param from The matrix, by rows; what is behind it is left alone.
 * @param to Where it goes: other memory, of elements of the same width.
 * @param rows Its rows.
 * @param columns Its columns.
 */
export function transpose(from: WordArray, to: WordArray, rows: number, columns: number): void {
  if (areRecords(from, rows, columns) && !arePackedRecords(from, to, rows, columns)) {
    transposeRecords(from, to, rows, columns);
    return;
  }
  const done = transposeRegions(from, to, rows, columns);
  if (done.rows === 0 && isStaged(from, to, rows, columns)) {
    new StagedTransposition(from, to as Uint8Array, rows, columns).run();
    return;
  }
  const move = moverOf(from, to, rows, columns);
  eachBlock(move, 0, done.rows, done.columns, columns);
  eachBlock(move, done.rows, rows, 0, columns);
}

/** Goes through the part of rows `top` to `bottom` and columns `left` to `right`. */
function eachBlock(
  move: BlockMover,
  top: number,
  bottom: number,
  left: number,
  right: number,
): void {
  const rows = bottom - top;
  const columns = right - left;
  const height = columns < BLOCK ? wholeWords(BLOCK_ELEMENTS / (columns || 1)) : BLOCK;
  const width = rows < BLOCK ? wholeWords(BLOCK_ELEMENTS / (rows || 1)) : BLOCK;
  for (let row = top; row < bottom; row += height) {
    const end = row + height < bottom ? row + height : bottom;
    for (let column = left; column < right; column += width) {
      move(row, end, column, column + width < right ? column + width : right);
    }
  }
}

/** Blocks of small elements begin and end where words do, which have up to four of them. */
function wholeWords(elements: number): number {
  return elements >>> 2 << 2;
}

function moverOf(from: WordArray, to: WordArray, rows: number, columns: number): BlockMover {
  if (from instanceof BigUint64Array) {
    const target = to as BigUint64Array;
    return (...block) => moveBlock64(from, target, rows, columns, ...block);
  }
  if (from instanceof Int32Array) {
    const target = to as Int32Array;
    return (...block) => moveBlock32(from, target, rows, columns, ...block);
  }
  if (!isPacked(from, to, rows, columns)) {
    return (...block) => moveNarrow(from, to as Uint8Array, rows, columns, ...block);
  }
  const perWord = 4 / from.BYTES_PER_ELEMENT;
  const size = rows * columns / perWord;
  const words = new Int32Array(from.buffer, from.byteOffset, size);
  const target = new Int32Array(to.buffer, to.byteOffset, size);
  const movePacked = perWord === 2 ? transposePacked16 : transposePacked8;
  return (...block) => movePacked(words, target, rows, columns, ...block);
}

/** Whether records of bytes become fields, which takes 0.7 times as long in words; back it does not. */
function arePackedRecords(from: WordArray, to: WordArray, rows: number, columns: number): boolean {
  return from instanceof Uint8Array && columns < rows && isPacked(from, to, rows, columns);
}

/** Whether small elements are better moved by way of other memory. */
function isStaged(
  from: WordArray,
  to: WordArray,
  rows: number,
  columns: number,
): from is Uint8Array | Uint16Array {
  return from.BYTES_PER_ELEMENT < 4 && Math.min(rows, columns) >= BLOCK &&
    !isPacked(from, to, rows, columns);
}

/** Whether rows before and after consist of aligned words. */
function isPacked(from: WordArray, to: WordArray, rows: number, columns: number): boolean {
  const perWord = 4 / from.BYTES_PER_ELEMENT;
  return rows % perWord === 0 && columns % perWord === 0 &&
    from.byteOffset % 4 === 0 && to.byteOffset % 4 === 0;
}

function moveBlock32(
  from: Int32Array,
  to: Int32Array,
  rows: number,
  columns: number,
  top: number,
  bottom: number,
  left: number,
  right: number,
): void {
  const lastRow = bottom - (bottom - top) % 4;
  const lastColumn = right - (right - left) % 4;
  for (let column = left; column < lastColumn; column += 4) {
    let i = top * columns + column;
    let o = column * rows + top;
    for (let row = top; row < lastRow; row += 4, o += 4) {
      const a0 = from[i]!, a1 = from[i + 1]!, a2 = from[i + 2]!, a3 = from[i + 3]!;
      i += columns;
      const b0 = from[i]!, b1 = from[i + 1]!, b2 = from[i + 2]!, b3 = from[i + 3]!;
      i += columns;
      const c0 = from[i]!, c1 = from[i + 1]!, c2 = from[i + 2]!, c3 = from[i + 3]!;
      i += columns;
      const d0 = from[i]!, d1 = from[i + 1]!, d2 = from[i + 2]!, d3 = from[i + 3]!;
      i += columns;
      let p = o;
      to[p] = a0, to[p + 1] = b0, to[p + 2] = c0, to[p + 3] = d0;
      p += rows;
      to[p] = a1, to[p + 1] = b1, to[p + 2] = c1, to[p + 3] = d1;
      p += rows;
      to[p] = a2, to[p + 1] = b2, to[p + 2] = c2, to[p + 3] = d2;
      p += rows;
      to[p] = a3, to[p + 1] = b3, to[p + 2] = c3, to[p + 3] = d3;
    }
  }
  moveCells32(from, to, rows, columns, lastRow, bottom, left, lastColumn);
  moveCells32(from, to, rows, columns, top, bottom, lastColumn, right);
}

/** Along the longer side, so that the loop inside is one. */
function moveCells32(
  from: Int32Array,
  to: Int32Array,
  rows: number,
  columns: number,
  top: number,
  bottom: number,
  left: number,
  right: number,
): void {
  if (bottom - top > right - left) {
    const whole = bottom - (bottom - top) % 4;
    for (let column = left; column < right; column++) {
      let i = top * columns + column;
      const o = column * rows;
      for (let row = top; row < whole; row += 4, i += 4 * columns) {
        const a = from[i]!, b = from[i + columns]!;
        const c = from[i + 2 * columns]!, d = from[i + 3 * columns]!;
        to[o + row] = a, to[o + row + 1] = b, to[o + row + 2] = c, to[o + row + 3] = d;
      }
      for (let row = whole; row < bottom; row++, i += columns) to[o + row] = from[i]!;
    }
  } else {
    for (let row = top; row < bottom; row++) {
      const i = row * columns;
      let o = left * rows + row;
      for (let column = left; column < right; column++, o += rows) to[o] = from[i + column]!;
    }
  }
}

function moveBlock64(
  from: BigUint64Array,
  to: BigUint64Array,
  rows: number,
  columns: number,
  top: number,
  bottom: number,
  left: number,
  right: number,
): void {
  const lastRow = bottom - (bottom - top) % 4;
  const lastColumn = right - (right - left) % 2;
  for (let column = left; column < lastColumn; column += 2) {
    let i = top * columns + column;
    let o = column * rows + top;
    for (let row = top; row < lastRow; row += 4, o += 4) {
      const a0 = from[i]!, a1 = from[i + 1]!;
      i += columns;
      const b0 = from[i]!, b1 = from[i + 1]!;
      i += columns;
      const c0 = from[i]!, c1 = from[i + 1]!;
      i += columns;
      const d0 = from[i]!, d1 = from[i + 1]!;
      i += columns;
      to[o] = a0, to[o + 1] = b0, to[o + 2] = c0, to[o + 3] = d0;
      const p = o + rows;
      to[p] = a1, to[p + 1] = b1, to[p + 2] = c1, to[p + 3] = d1;
    }
  }
  moveCells64(from, to, rows, columns, lastRow, bottom, left, lastColumn);
  moveCells64(from, to, rows, columns, top, bottom, lastColumn, right);
}

function moveCells64(
  from: BigUint64Array,
  to: BigUint64Array,
  rows: number,
  columns: number,
  top: number,
  bottom: number,
  left: number,
  right: number,
): void {
  if (bottom - top > right - left) {
    for (let column = left; column < right; column++) {
      let i = top * columns + column;
      let o = column * rows + top;
      for (let rest = bottom - top; rest > 0; rest--, i += columns) to[o++] = from[i]!;
    }
  } else {
    for (let row = top; row < bottom; row++) {
      const i = row * columns;
      let o = left * rows + row;
      for (let column = left; column < right; column++, o += rows) to[o] = from[i + column]!;
    }
  }
}

function moveNarrow(
  from: Uint8Array | Uint16Array,
  to: Uint8Array | Uint16Array,
  rows: number,
  columns: number,
  top: number,
  bottom: number,
  left: number,
  right: number,
): void {
  for (let column = left; column < right; column++) {
    let i = top * columns + column;
    const o = column * rows;
    for (let row = top; row < bottom; row++, i += columns) to[o + row] = from[i]!;
  }
}
