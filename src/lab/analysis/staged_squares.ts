/**
 * Transposition of small elements in squares whose sides are a cache line, in words of 4 bytes and by
 * way of 2 or 4 KiB that stay in the first cache.
 *
 * Written to where they go, the words of a square would touch each of its 32 or 64 lines many times,
 * and these compete for the same sets of the first cache. So the square is put together first, and
 * its lines are written once, in words of 8 bytes.
 *
 * Before that, one word of each line that is going to be read is read, and one of each that is going
 * to be written is written: the processor fetches them all at the same time, while the loops, which
 * are long, would let it see only a few ahead. To read what is going to be written would do as well,
 * but where memory is new the system would map each page twice.
 *
 * @module
 */

import type { WordArray } from "./element_words.ts";

/** Transposes the square that begins at a row and a column. */
export type SquareMover = (row: number, column: number) => void;

/** Bytes of a cache line, and its words of 4 and of 8 bytes. */
const LINE_BYTES = 64;
const LINE_WORDS = 16;
const LINE_DOUBLE_WORDS = 8;

/** What was read ahead: if nothing came of it, the engine would leave it out. */
let ahead = 0;

/**
 * How squares are transposed: of 64 × 64 elements of one byte, or 32 × 32 of two.
 *
 * @param from The matrix, by rows; of at most 2^30 words of 4 bytes.
 * @param to Where it goes.
 * @param rows Its rows.
 * @param columns Its columns.
 * @returns Nothing, if rows before and after are no aligned words.
 */
export function squareMover(
  from: WordArray,
  to: WordArray,
  rows: number,
  columns: number,
): SquareMover | undefined {
  const bytes = from.BYTES_PER_ELEMENT;
  if ((columns * bytes | from.byteOffset) % 4 !== 0) return undefined;
  if ((rows * bytes | to.byteOffset) % 8 !== 0) return undefined;
  const step = columns * bytes >>> 2;
  const rise = rows * bytes >>> 3;
  const side = LINE_BYTES / bytes | 0;
  const assemble = bytes === 1 ? assemble8 : assemble16;
  const source = new Int32Array(from.buffer, from.byteOffset, rows * step);
  const target = new BigUint64Array(to.buffer, to.byteOffset, columns * rise);
  const square = new Int32Array(side * LINE_WORDS);
  const lines = new BigUint64Array(square.buffer);
  return (row, column) => {
    const begin = row * step + (column * bytes >>> 2);
    const place = column * rise + (row * bytes >>> 3);
    ahead ^= readAhead(source, begin, step, side);
    writeAhead(target, place, rise, side);
    assemble(source, square, begin, step);
    writeLines(lines, target, place, rise, side);
  };
}

function readAhead(words: Int32Array, begin: number, step: number, count: number): number {
  let read = 0;
  for (let line = 0; line < count; line++) {
    begin &= 0x3fffffff;
    read ^= words[begin]!;
    begin += step;
  }
  return read;
}

function writeAhead(lines: BigUint64Array, place: number, rise: number, count: number): void {
  for (let line = 0; line < count; line++) {
    const o = place & 0x1fffffff;
    lines[o] = 0n;
    place = o + rise;
  }
}

function writeLines(
  lines: BigUint64Array,
  to: BigUint64Array,
  place: number,
  rise: number,
  count: number,
): void {
  for (let line = 0; line < count; line++) {
    const i = (line & 63) * LINE_DOUBLE_WORDS;
    const o = place & 0x1fffffff;
    to[o] = lines[i]!;
    to[o + 1] = lines[i + 1]!;
    to[o + 2] = lines[i + 2]!;
    to[o + 3] = lines[i + 3]!;
    to[o + 4] = lines[i + 4]!;
    to[o + 5] = lines[i + 5]!;
    to[o + 6] = lines[i + 6]!;
    to[o + 7] = lines[i + 7]!;
    place = o + rise;
  }
}

/** 4 rows of 2 elements at a time: 2 words of each of 2 lines. */
function assemble16(from: Int32Array, square: Int32Array, begin: number, columns: number): void {
  const step = columns & 0x3fffffff;
  for (let place = 0; place < LINE_WORDS; place += 2) {
    const first = begin & 0x3fffffff;
    for (let word = 0; word < LINE_WORDS; word++) {
      const i = first + word;
      const o = 2 * LINE_WORDS * word + place;
      const a = from[i]!, b = from[i + step]!, c = from[i + 2 * step]!, d = from[i + 3 * step]!;
      square[o] = a & 0xffff | b << 16;
      square[o + 1] = c & 0xffff | d << 16;
      square[o + LINE_WORDS] = a >>> 16 | b & 0xffff0000;
      square[o + LINE_WORDS + 1] = c >>> 16 | d & 0xffff0000;
    }
    begin = first + 4 * step;
  }
}

/**
 * 4 rows of 4 elements at a time: a word of each of 4 lines.
 *
 * The upper right and the lower left part change places, first of each 2 × 2 bytes, then of 2 × 2
 * pairs of bytes: in fewer operations than it takes to pick them.
 */
function assemble8(from: Int32Array, square: Int32Array, begin: number, columns: number): void {
  const step = columns & 0x3fffffff;
  for (let place = 0; place < LINE_WORDS; place++) {
    const first = begin & 0x3fffffff;
    for (let word = 0; word < LINE_WORDS; word++) {
      const i = first + word;
      const o = 4 * LINE_WORDS * word + place;
      let a = from[i]!, b = from[i + step]!, c = from[i + 2 * step]!, d = from[i + 3 * step]!;
      let swapped = (a >>> 8 ^ b) & 0xff00ff;
      b ^= swapped;
      a ^= swapped << 8;
      swapped = (c >>> 8 ^ d) & 0xff00ff;
      d ^= swapped;
      c ^= swapped << 8;
      swapped = (a >>> 16 ^ c) & 0xffff;
      square[o] = a ^ swapped << 16;
      square[o + 2 * LINE_WORDS] = c ^ swapped;
      swapped = (b >>> 16 ^ d) & 0xffff;
      square[o + LINE_WORDS] = b ^ swapped << 16;
      square[o + 3 * LINE_WORDS] = d ^ swapped;
    }
    begin = first + 4 * step;
  }
}
