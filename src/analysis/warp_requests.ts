/**
 * The requests that warps make, counted: sectors, lines, and wavefronts in shared memory.
 *
 * @module
 */

import { type AccessGeometry, LINE_BYTES, SECTOR_BYTES, WARP_LANES } from "./access_geometry.ts";
import { BankCounter } from "./bank_conflicts.ts";
import { DistantLanes } from "./distant_lanes.ts";
import { packCounts, type PackedCounts, RegularRequests } from "./regular_requests.ts";
import { RequestLines } from "./request_lines.ts";
import type { ReuseDistances } from "./reuse_distances.ts";

const BYTE = 255;

/** Counts requests. */
export class WarpRequests {
  /** Requests to global memory. */
  requests = 0;
  /** Sectors that they touch, each counted once a request. */
  sectors = 0;
  /** Lines, likewise. */
  lines = 0;
  /** Sectors that the same bytes would fill. */
  idealSectors = 0;
  /** Wavefronts more than without bank conflicts. */
  bankConflicts = 0;

  readonly #geometry: AccessGeometry;
  readonly #granuleShift: number;
  readonly #reuse: ReuseDistances | null;
  readonly #touched = new RequestLines();
  readonly #banks: BankCounter;
  readonly #regular = new RegularRequests((lanes) => this.#count(lanes, 0, WARP_LANES, false));
  readonly #distant = new DistantLanes();
  /** What is to be added to the number of a line; `NaN` where indices were moved one by one. */
  #firstLine = 0;

  /**
   * @param geometry How accesses lie in lines.
   * @param reuse Where to tell the lines that are accessed; null where nobody wants to know.
   */
  constructor(geometry: AccessGeometry, reuse: ReuseDistances | null) {
    this.#geometry = geometry;
    this.#granuleShift = 31 - Math.clz32(geometry.granuleBytes);
    this.#reuse = reuse;
    this.#banks = new BankCounter(geometry.elementBytes);
  }

  /**
   * Counts accesses; the last warp may be incomplete.
   *
   * @param values Indices, of which the first belongs to lane 0.
   * @param count How many of them.
   * @param base What was taken off each, a multiple of 128.
   */
  add(values: Uint32Array<ArrayBuffer>, count: number, base: number): void {
    this.#firstLine = base / LINE_BYTES * this.#geometry.elementBytes;
    const whole = count - count % WARP_LANES;
    for (let first = 0; first < whole; first += WARP_LANES) {
      const step = constantStep(values, first);
      if (step === step) this.#addRegular(values, first, step);
      else this.#addCounts(this.#count(values, first, first + WARP_LANES, true));
    }
    if (whole < count) this.#addCounts(this.#count(values, whole, count, true));
  }

  /** The same for indices that are too far apart for it. */
  addDistant(values: Float64Array, count: number): void {
    this.#firstLine = NaN;
    for (let first = 0; first < count; first += WARP_LANES) {
      const end = Math.min(count, first + WARP_LANES);
      this.#distant.move(values, first, end);
      this.#addCounts(this.#count(this.#distant.lanes, 0, end - first, true));
    }
  }

  #addRegular(values: Uint32Array<ArrayBuffer>, first: number, step: number): void {
    this.#addCounts(
      step >= 0
        ? this.#regular.counts(values[first]!, step)
        : this.#regular.counts(values[first + WARP_LANES - 1]!, -step),
    );
    if (this.#reuse === null) return;
    if (this.#geometry.granuleBytes === this.#geometry.accessBytes) {
      this.#tellMonotonic(values, first, this.#reuse);
    } else {
      this.#count(values, first, first + WARP_LANES, true);
    }
  }

  #addCounts(counts: PackedCounts): void {
    this.requests += this.#geometry.parts;
    this.sectors += counts & BYTE;
    this.lines += counts >>> 8 & BYTE;
    this.idealSectors += counts >>> 16 & BYTE;
    this.bankConflicts += counts >>> 24;
  }

  /** Counts an access of a warp, whatever its indices, and tells its lines if that is asked for. */
  #count(
    values: Uint32Array<ArrayBuffer>,
    from: number,
    to: number,
    tells: boolean,
  ): PackedCounts {
    const { elementBytes, offset, parts, accessBytes, granuleBytes } = this.#geometry;
    const touched = this.#touched;
    const shift = this.#granuleShift;
    let sectors = 0;
    let lines = 0;
    let idealSectors = 0;
    for (let part = 0; part < parts; part++) {
      const place = offset + part * accessBytes;
      touched.begin();
      for (let lane = from; lane < to; lane++) {
        const index = values[lane]!;
        // 128 elements are as many lines as an element has bytes.
        const line = Math.imul(index >>> 7, elementBytes);
        let byte = (index & 127) * elementBytes + place;
        const end = byte + accessBytes;
        do {
          touched.touch(line + (byte >>> 7), byte & 127, shift);
          byte += granuleBytes;
        } while (byte < end);
      }
      sectors += touched.sectors;
      lines += touched.lines;
      idealSectors += Math.ceil(touched.granules * granuleBytes / SECTOR_BYTES);
      if (tells && this.#reuse !== null) this.#tell(this.#reuse);
    }
    return packCounts(sectors, lines, idealSectors, this.#conflicts(values, from, to));
  }

  #conflicts(values: Uint32Array<ArrayBuffer>, from: number, to: number): number {
    const banks = this.#banks;
    const before = banks.wavefronts - banks.idealWavefronts;
    banks.add(values, from, to);
    return banks.wavefronts - banks.idealWavefronts - before;
  }

  #tell(reuse: ReuseDistances): void {
    const { order, lines } = this.#touched;
    const firstLine = this.#firstLine;
    for (let i = 0; i < lines; i++) {
      const line = order[i]!;
      reuse.access(
        firstLine === firstLine
          ? firstLine + line
          : this.#distant.lineOf(line, this.#geometry.elementBytes),
      );
    }
  }

  /** Tells the lines of a warp that goes one way, where each lane is in one line. */
  #tellMonotonic(values: Uint32Array<ArrayBuffer>, from: number, reuse: ReuseDistances): void {
    const { elementBytes, offset, parts, accessBytes } = this.#geometry;
    const firstLine = this.#firstLine;
    for (let part = 0; part < parts; part++) {
      const place = offset + part * accessBytes;
      let last = -1;
      for (let lane = from; lane < from + WARP_LANES; lane++) {
        const index = values[lane]!;
        const byte = (index & 127) * elementBytes + place;
        const line = Math.imul(index >>> 7, elementBytes) + (byte >>> 7);
        if (line === last) continue;
        last = line;
        reuse.access(firstLine + line);
      }
    }
  }
}

/** The step between all neighbours of a whole warp; `NaN` where it is not one. */
function constantStep(values: Uint32Array<ArrayBuffer>, first: number): number {
  const step = values[first + 1]! - values[first]!;
  if (values[first + 2]! - values[first + 1]! !== step) return NaN;
  let differences = 0;
  for (let i = first + 2; i < first + WARP_LANES; i++) {
    differences |= values[i]! - values[i - 1]! - step;
  }
  // The differences are of 32 bits; those that are 0 only so do not lead to the last index.
  const last = values[first] + (WARP_LANES - 1) * step;
  return differences === 0 && last === values[first + WARP_LANES - 1] ? step : NaN;
}
