/**
 * Transposition of small elements in words of 4 bytes.
 *
 * Whatever the order of bytes in a word is, words are written as they are read; here the element
 * that lies first is in the lowest bits, as on every processor that Deno runs on.
 *
 * Places are counted in words throughout: what a division returns is a floating-point number.
 *
 * @module
 */

/** Transposes a block of elements of 2 bytes; its sides and those of the matrix are even. */
export function transposePacked16(
  from: Int32Array,
  to: Int32Array,
  rows: number,
  columns: number,
  top: number,
  bottom: number,
  left: number,
  right: number,
): void {
  const step = columns >>> 1;
  const rise = rows >>> 1;
  for (let word = left >>> 1; word < right >>> 1; word++) {
    let i = top * step + word;
    let o = 2 * word * rise + (top >>> 1);
    for (let row = top; row < bottom; row += 2, i += 2 * step, o++) {
      const a = from[i]!;
      const b = from[i + step]!;
      to[o] = a & 0xffff | b << 16;
      to[o + rise] = a >>> 16 | b & 0xffff0000;
    }
  }
}

/** The same for elements of one byte; sides are multiples of four. */
export function transposePacked8(
  from: Int32Array,
  to: Int32Array,
  rows: number,
  columns: number,
  top: number,
  bottom: number,
  left: number,
  right: number,
): void {
  const step = columns >>> 2;
  const rise = rows >>> 2;
  for (let word = left >>> 2; word < right >>> 2; word++) {
    let i = top * step + word;
    let o = 4 * word * rise + (top >>> 2);
    for (let row = top; row < bottom; row += 4, i += 4 * step, o++) {
      const a = from[i]!;
      const b = from[i + step]!;
      const c = from[i + 2 * step]!;
      const d = from[i + 3 * step]!;
      // Bytes 0 and 2 of two rows, and bytes 1 and 3.
      const ab = a & 0xff00ff | (b & 0xff00ff) << 8;
      const cd = c & 0xff00ff | (d & 0xff00ff) << 8;
      const abOdd = a >>> 8 & 0xff00ff | b & 0xff00ff00;
      const cdOdd = c >>> 8 & 0xff00ff | d & 0xff00ff00;
      to[o] = ab & 0xffff | cd << 16;
      to[o + rise] = abOdd & 0xffff | cdOdd << 16;
      to[o + 2 * rise] = ab >>> 16 | cd & 0xffff0000;
      to[o + 3 * rise] = abOdd >>> 16 | cdOdd & 0xffff0000;
    }
  }
}
