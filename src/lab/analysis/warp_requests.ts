/**
 * The requests that warps make, counted: sectors, lines, and wavefronts in shared memory.
 *
 * @module
 */

import {
  type AccessGeometry,
  isAligned,
  LINE_BYTES,
  SECTOR_BYTES,
  WARP_LANES,
} from "./access_geometry.ts";
import { BankCounter } from "./bank_conflicts.ts";
import { DistantLanes } from "./distant_lanes.ts";
import {
  packCounts,
  type PackedCounts,
  ShapedRequests,
  StridedRequests,
  type WarpCounter,
} from "./regular_requests.ts";
import { RequestLines } from "./request_lines.ts";
import type { ReuseDistances } from "./reuse_distances.ts";
import { WarpLines } from "./warp_lines.ts";

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
  /** Where lines are told; null where nobody wants to know. */
  readonly #told: WarpLines | null;
  readonly #touched: RequestLines;
  readonly #banks: BankCounter;
  readonly #strided: StridedRequests;
  readonly #shaped: ShapedRequests;
  readonly #distant = new DistantLanes();
  /** Whether indices were moved one by one. */
  #isDistant = false;
  /** Whether the lines of a shape were told when it was counted. */
  #isTold = false;

  /**
   * @param geometry How accesses lie in lines.
   * @param reuse Where to tell the lines that are accessed; null where nobody wants to know.
   */
  constructor(geometry: AccessGeometry, reuse: ReuseDistances | null) {
    this.#geometry = geometry;
    this.#told = reuse === null ? null : new WarpLines(geometry, reuse);
    this.#touched = new RequestLines(geometry);
    this.#banks = new BankCounter(geometry.elementBytes);
    const counter = (told: WarpLines | null): WarpCounter => (values, first) =>
      this.#count(values, first, first + WARP_LANES, told);
    this.#strided = new StridedRequests(counter(null));
    this.#shaped = new ShapedRequests(counter(this.#told));
  }

  /**
   * Counts accesses; the last warp may be incomplete.
   *
   * @param values Indices, of which the first belongs to lane 0.
   * @param count How many of them.
   * @param base What was taken off each, a multiple of 128.
   */
  add(values: Uint32Array<ArrayBuffer>, count: number, base: number): void {
    const told = this.#told;
    this.#isDistant = false;
    told?.begin(base / LINE_BYTES * this.#geometry.elementBytes);
    const whole = count - count % WARP_LANES;
    for (let first = 0; first < whole; first += WARP_LANES) {
      const step = constantStep(values, first);
      if (step === step) this.#addStrided(values, first, step);
      else this.#addShaped(values, first);
    }
    if (whole < count) this.#addCounts(this.#count(values, whole, count, told));
    told?.flush();
  }

  /** The same for indices that are too far apart for it. */
  addDistant(values: Float64Array, count: number): void {
    this.#isDistant = true;
    for (let first = 0; first < count; first += WARP_LANES) {
      const end = Math.min(count, first + WARP_LANES);
      this.#distant.move(values, first, end);
      this.#addCounts(this.#count(this.#distant.lanes, 0, end - first, this.#told));
    }
  }

  #addStrided(values: Uint32Array<ArrayBuffer>, first: number, step: number): void {
    const told = this.#told;
    if (told !== null && !isAligned(this.#geometry)) {
      this.#addCounts(this.#count(values, first, first + WARP_LANES, told));
      return;
    }
    this.#addCounts(
      step >= 0
        ? this.#strided.counts(values[first]!, step)
        : this.#strided.counts(values[first + WARP_LANES - 1]!, -step),
    );
    told?.addStrided(values[first]!, step);
  }

  #addShaped(values: Uint32Array<ArrayBuffer>, first: number): void {
    this.#isTold = this.#told === null;
    this.#addCounts(this.#shaped.counts(values, first));
    if (this.#isTold) return;
    // What the access costs was known: only its lines are to be found.
    for (let part = 0; part < this.#geometry.parts; part++) {
      this.#touched.findLines(values, first, first + WARP_LANES, part);
      this.#tell(this.#told!);
    }
  }

  #addCounts(counts: PackedCounts): void {
    this.requests += this.#geometry.parts;
    this.sectors += counts & BYTE;
    this.lines += counts >>> 8 & BYTE;
    this.idealSectors += counts >>> 16 & BYTE;
    this.bankConflicts += counts >>> 24;
  }

  /** Counts an access of a warp, whatever its indices, and tells its lines to who wants them. */
  #count(
    values: Uint32Array<ArrayBuffer>,
    from: number,
    to: number,
    told: WarpLines | null,
  ): PackedCounts {
    const { parts, granuleBytes } = this.#geometry;
    const touched = this.#touched;
    let sectors = 0;
    let lines = 0;
    let idealSectors = 0;
    let isApart = isAligned(this.#geometry);
    for (let part = 0; part < parts; part++) {
      touched.count(values, from, to, part);
      // Different elements of a word or more are different words, and so are different lines.
      isApart &&= (granuleBytes >= 4 ? touched.granules : touched.lines) === to - from;
      sectors += touched.sectors;
      lines += touched.lines;
      idealSectors += Math.ceil(touched.granules * granuleBytes / SECTOR_BYTES);
      if (told !== null) this.#tell(told);
    }
    this.#isTold = true;
    return packCounts(sectors, lines, idealSectors, this.#conflicts(values, from, to, isApart));
  }

  /** Wavefronts more than without bank conflicts of the access whose lines were counted last. */
  #conflicts(
    values: Uint32Array<ArrayBuffer>,
    from: number,
    to: number,
    isApart: boolean,
  ): number {
    const banks = this.#banks;
    const { distinct, isDistinct, granules } = this.#touched;
    const before = banks.wavefronts - banks.idealWavefronts;
    if (isApart) banks.addApart(values, from, to);
    // Warps whose lanes are served together may leave out those that want what others do.
    else if (isDistinct && this.#geometry.accessBytes === 4) banks.addApart(distinct, 0, granules);
    else banks.add(values, from, to);
    return banks.wavefronts - banks.idealWavefronts - before;
  }

  #tell(told: WarpLines): void {
    const { order, lines } = this.#touched;
    if (!this.#isDistant) {
      told.add(order, lines);
      return;
    }
    const { elementBytes } = this.#geometry;
    for (let i = 0; i < lines; i++) {
      told.addDistant(this.#distant.lineOf(order[i]!, elementBytes));
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
  const last = values[first]! + (WARP_LANES - 1) * step;
  return differences === 0 && last === values[first + WARP_LANES - 1] ? step : NaN;
}
