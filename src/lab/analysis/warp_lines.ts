/**
 * The lines that requests of warps access, in order, told to who follows them many at a time.
 *
 * @module
 */

import { type AccessGeometry, LINE_BYTES, WARP_LANES } from "./access_geometry.ts";
import type { ReuseDistances } from "./reuse_distances.ts";

/** Lines that are told together: so few that they stay cached. */
const ROOM = 1024;
/** Lines of a request: two of each lane at most. */
const MOST = 2 * WARP_LANES;

/** Collects lines. */
export class WarpLines {
  readonly #geometry: AccessGeometry;
  readonly #reuse: ReuseDistances;
  /** Lines that have not been told, and what was taken off the number of each. */
  readonly #lines = new Int32Array(ROOM);
  #count = 0;
  #base = 0;

  /**
   * @param geometry How accesses lie in lines.
   * @param reuse Where to tell lines.
   */
  constructor(geometry: AccessGeometry, reuse: ReuseDistances) {
    this.#geometry = geometry;
    this.#reuse = reuse;
  }

  /** Says what is taken off lines from now on. */
  begin(base: number): void {
    this.#base = base;
  }

  /** Adds the lines of a request, which are less than 2^30. */
  add(lines: Int32Array<ArrayBuffer>, count: number): void {
    if (this.#count > ROOM - MOST) this.flush();
    const into = this.#lines;
    const begin = this.#count;
    for (let i = 0; i < count; i++) into[begin + i] = lines[i]!;
    this.#count = begin + count;
  }

  /** Adds a line of any number, when none are left to be told. */
  addDistant(line: number): void {
    this.#reuse.access(line);
  }

  /**
   * Adds the lines of a warp whose lanes are each in one line and equally far apart.
   *
   * @param index The first lane's.
   * @param stride From one index to the next.
   */
  addStrided(index: number, stride: number): void {
    const { elementBytes, accessBytes, offset, parts } = this.#geometry;
    const step = stride * elementBytes;
    for (let part = 0; part < parts; part++) {
      if (this.#count > ROOM - MOST) this.flush();
      // 128 elements are as many lines as an element has bytes.
      const byte = Math.imul(index & 127, elementBytes) + offset + part * accessBytes;
      const line = Math.imul(index >>> 7, elementBytes) + (byte >>> 7);
      if (Math.abs(step) < LINE_BYTES) this.#addNeighbours(line, byte & 127, step);
      else this.#addApart(line, byte & 127, step);
    }
  }

  /** Adds lines of which a warp leaves none out. */
  #addNeighbours(first: number, byte: number, step: number): void {
    const lines = this.#lines;
    const last = first + (byte + (WARP_LANES - 1) * step >> 7);
    const direction = step < 0 ? -1 : 1;
    let count = this.#count;
    for (let line = first; line !== last; line += direction) lines[count++] = line;
    lines[count++] = last;
    this.#count = count;
  }

  /** Adds lines of which each lane has its own. */
  #addApart(first: number, byte: number, step: number): void {
    const lines = this.#lines;
    const begin = this.#count;
    const linesOfStep = Math.floor(step / LINE_BYTES) | 0;
    const bytesOfStep = step - linesOfStep * LINE_BYTES | 0;
    let line = first;
    let at = byte;
    for (let lane = 0; lane < WARP_LANES; lane++) {
      lines[begin + lane] = line + (at >>> 7);
      line = line + linesOfStep | 0;
      at += bytesOfStep;
    }
    this.#count = begin + WARP_LANES;
  }

  /** Tells what there is. */
  flush(): void {
    this.#reuse.accessAll(this.#lines, this.#count, this.#base);
    this.#count = 0;
  }
}
