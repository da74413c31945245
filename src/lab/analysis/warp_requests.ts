/**
 * Counts the requests that warps make: sectors, lines, and wavefronts in shared memory.
 *
 * @module
 */

import {
  type AccessGeometry,
  type AccessReport,
  LINE_BYTES,
  SECTOR_BYTES,
  WARP_LANES,
} from "./access_report.ts";
import { BankCounter, StampedSet } from "./bank_conflicts.ts";
import type { ReuseDistances } from "./reuse_distances.ts";

/** Elements of any size after which places in lines and banks repeat. */
const PERIOD = 128;
const SECTORS_OF_LINE = LINE_BYTES / SECTOR_BYTES;

type WarpCounts = Pick<
  AccessReport,
  "sectors" | "lines" | "idealSectors" | "bankConflicts"
>;

export class WarpRequests {
  // The counts of the report.
  requests = 0;
  sectors = 0;
  lines = 0;
  idealSectors = 0;
  bankConflicts = 0;

  readonly #geometry: AccessGeometry;
  readonly #reuse: ReuseDistances | null;
  readonly #banks: BankCounter;
  readonly #elements = new StampedSet();
  readonly #sectors = new StampedSet();
  readonly #lines = new StampedSet();
  /** Counts of whole warps with a constant stride, by stride and place. */
  readonly #strided = new Map<number, WarpCounts>();

  /** `reuse` follows the lines, in the order of requests and lanes. */
  constructor(geometry: AccessGeometry, reuse: ReuseDistances | null) {
    this.#geometry = geometry;
    this.#reuse = reuse;
    this.#banks = new BankCounter(geometry.elementBytes);
  }

  /** Counts accesses, the first by lane 0; the last warp may be incomplete. */
  add(values: Float64Array, count: number): void {
    for (let first = 0; first < count; first += WARP_LANES) {
      const end = Math.min(count, first + WARP_LANES);
      // Following reuse takes the lines themselves, not only their number.
      const isSimple = this.#reuse === null && end - first === WARP_LANES;
      const step = isSimple ? constantStep(values, first) : NaN;
      const counts = Number.isNaN(step)
        ? this.#count(values, first, end)
        : this.#stridedCounts(values, first, step);
      this.requests += this.#geometry.parts;
      this.sectors += counts.sectors;
      this.lines += counts.lines;
      this.idealSectors += counts.idealSectors;
      this.bankConflicts += counts.bankConflicts;
    }
  }

  /**
   * Counts a warp with a constant stride, once for each kind. Lines and banks repeat every 128
   * elements, whatever their size: only the remainder of a greater stride matters, and that no two
   * lanes share a line. A descending stride is an ascending one from its other end.
   */
  #stridedCounts(values: Float64Array, first: number, step: number): WarpCounts {
    const lowest = values[step < 0 ? first + WARP_LANES - 1 : first]!;
    const size = Math.abs(step);
    const stride = size < PERIOD ? size : PERIOD + (size & PERIOD - 1);
    const kind = stride * PERIOD + (lowest & PERIOD - 1);
    let counts = this.#strided.get(kind);
    if (counts === undefined) {
      counts = this.#count(values, first, first + WARP_LANES);
      this.#strided.set(kind, counts);
    }
    return counts;
  }

  #count(values: Float64Array, from: number, to: number): WarpCounts {
    const { elementBytes, accessBytes, offset, parts } = this.#geometry;
    const elements = this.#elements;
    const sectors = this.#sectors;
    const lines = this.#lines;
    let sectorCount = 0;
    let lineCount = 0;
    let idealSectors = 0;
    for (let part = 0; part < parts; part++) {
      const begin = offset + part * accessBytes;
      elements.clear();
      sectors.clear();
      lines.clear();
      let distinct = 0;
      for (let lane = from; lane < to; lane++) {
        const index = values[lane]!;
        if (!elements.add(index)) continue;
        distinct++;
        // 128 elements are as many lines as an element has bytes. No term exceeds 53 bits.
        const line = Math.floor(index / PERIOD) * elementBytes;
        const byte = (index & PERIOD - 1) * elementBytes + begin;
        const last = byte + accessBytes - 1 >>> 5;
        for (let sector = byte >>> 5; sector <= last; sector++) {
          if (!sectors.add(line * SECTORS_OF_LINE + sector)) continue;
          sectorCount++;
          const touched = line + (sector >>> 2);
          if (!lines.add(touched)) continue;
          lineCount++;
          this.#reuse?.access(touched);
        }
      }
      idealSectors += Math.ceil(distinct * accessBytes / SECTOR_BYTES);
    }
    const banks = this.#banks;
    const before = banks.wavefronts - banks.idealWavefronts;
    banks.add(values, from, to);
    const bankConflicts = banks.wavefronts - banks.idealWavefronts - before;
    return { sectors: sectorCount, lines: lineCount, idealSectors, bankConflicts };
  }
}

/** The step between all neighbours of a whole warp; `NaN` if it varies. */
function constantStep(values: Float64Array, first: number): number {
  const step = values[first + 1]! - values[first]!;
  for (let i = first + 2; i < first + WARP_LANES; i++) {
    if (values[i]! - values[i - 1]! !== step) return NaN;
  }
  return step;
}
