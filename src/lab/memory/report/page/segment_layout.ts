/**
 * Where blocks lie on the map: on one endless line to scale, which is broken into lines of the
 * map's width like text.
 *
 * @module
 */

import type { Report } from "./report.ts";

/** The places of all blocks. */
export class SegmentLayout {
  /** Between two segments on a line, in CSS pixels. */
  readonly gap = 5;
  /** What addresses without memory take when they are folded. */
  readonly fold = 9;

  /** Where each block begins on the endless line, in CSS pixels. */
  readonly starts: Float64Array;
  /** Where each ends. */
  readonly ends: Float64Array;
  /** The width of a line. */
  width = 1;
  /** The number of lines. */
  lines = 0;

  readonly #report: Report;
  readonly #unmapped: number;

  /** Prepares for the blocks of a report. */
  constructor(report: Report) {
    this.#report = report;
    this.#unmapped = report.states.indexOf("unmapped");
    this.starts = new Float64Array(report.blocks.bytes.length);
    this.ends = new Float64Array(report.blocks.bytes.length);
  }

  /** The bytes that are drawn to scale. */
  bytes(isFolded: boolean): number {
    const { bytes, state } = this.#report.blocks;
    return bytes.reduce(
      (sum, size, index) => isFolded && state[index] === this.#unmapped ? sum : sum + size,
      0,
    );
  }

  /** Lays all blocks out on lines of a width, with addresses without memory folded or to scale. */
  arrange(width: number, bytesPerPixel: number, isFolded: boolean): void {
    this.width = width;
    const { segment } = this.#report.blocks;
    let position = 0;
    for (let first = 0; first < segment.length;) {
      let last = first;
      let length = 0;
      while (last < segment.length && segment[last] === segment[first]) {
        length += this.#length(last, bytesPerPixel, isFolded);
        last++;
      }
      position = this.#place(first, last, this.#begin(position, length), bytesPerPixel, isFolded);
      first = last;
    }
    this.lines = Math.max(1, Math.ceil(position / width));
  }

  /** The block at a position of the endless line; −1: none. */
  blockAt(position: number): number {
    const index = this.countUntil(position) - 1;
    return index >= 0 && position < this.ends[index]! ? index : -1;
  }

  /** The number of blocks that begin at a position or before it. */
  countUntil(position: number): number {
    let low = 0;
    let high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle]! <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #length(index: number, bytesPerPixel: number, isFolded: boolean): number {
    const { bytes, state } = this.#report.blocks;
    return isFolded && state[index] === this.#unmapped ? this.fold : bytes[index]! / bytesPerPixel;
  }

  /**
   * Where a segment begins: on the line when it fits on what is left of it, else on the next,
   * unless more than a fifth of the line would be left empty.
   */
  #begin(end: number, length: number): number {
    if (end === 0) return 0;
    const start = end + this.gap;
    const next = Math.ceil(end / this.width) * this.width;
    const isEmptyEnough = next - start > this.width / 5;
    return start + length <= next || isEmptyEnough ? start : next;
  }

  #place(
    first: number,
    last: number,
    start: number,
    bytesPerPixel: number,
    isFolded: boolean,
  ): number {
    let position = start;
    for (let index = first; index < last; index++) {
      this.starts[index] = position;
      position += this.#length(index, bytesPerPixel, isFolded);
      this.ends[index] = position;
    }
    return position;
  }
}
