/**
 * Analysis of accesses that come piece by piece.
 *
 * @module
 */

import { accessAdvice } from "./access_advice.ts";
import { type AccessGeometry, accessGeometry } from "./access_geometry.ts";
import { AccessPattern } from "./access_pattern.ts";
import type { AccessOptions, AccessReport } from "./access_report.ts";
import { bankAdvice } from "./bank_advice.ts";
import { type IndexArray, IndexBatch } from "./index_batch.ts";
import { ReuseDistances } from "./reuse_distances.ts";
import { WarpRequests } from "./warp_requests.ts";

/** Indices: a typed array, or anything iterable of numbers, bigints and typed arrays. */
export type AccessIndices = IndexArray | Iterable<number | bigint | IndexArray>;

/**
 * Analyses accesses in constant memory, however many they are and in whatever pieces they come.
 *
 * Nothing here waits or starts threads: {@linkcode AccessAnalyzer.add} returns when it has looked at
 * what it was given, which for regular patterns takes about a nanosecond an index. Of 10^9 of them
 * whoever must not block for seconds adds a few millions at a time.
 *
 * @example
 * ```ts
 * import { AccessAnalyzer } from "@gridstride/cuda/analysis";
 *
 * const analyzer = new AccessAnalyzer({ elementBytes: 8 });
 * for (let row = 0; row < 1000; row++) {
 *   analyzer.add(Uint32Array.from({ length: 64 }, (_, column) => row * 1000 + column));
 * }
 * const { kind, tile, sectors, idealSectors } = analyzer.report();
 * console.log(kind, tile, sectors, idealSectors);
 * // blocked { columns: 64, rows: 1000, pitch: 1000 } 16000 16000
 * ```
 */
export class AccessAnalyzer {
  readonly #geometry: AccessGeometry;
  readonly #pattern = new AccessPattern();
  readonly #reuse: ReuseDistances | null;
  readonly #requests: WarpRequests;
  readonly #batch: IndexBatch;
  #isAdding = false;
  #report: AccessReport | null = null;

  /**
   * Begins an analysis.
   *
   * @param options How indices are to be understood.
   * @throws {RangeError} If an option is a number that is not allowed.
   * @throws {TypeError} If one is of another type.
   */
  constructor(options: AccessOptions = {}) {
    this.#geometry = accessGeometry(options);
    const { reuseLines } = this.#geometry;
    const reuse = reuseLines === 0 ? null : new ReuseDistances(reuseLines);
    const requests = new WarpRequests(this.#geometry, reuse);
    this.#reuse = reuse;
    this.#requests = requests;
    this.#batch = new IndexBatch("analyse accesses", {
      take: (values, count, base) => {
        this.#pattern.add(values, count, base);
        requests.add(values, count, base);
      },
      takeDistant: (values, count) => {
        this.#pattern.add(values, count, 0);
        requests.addDistant(values, count);
      },
    });
  }

  /**
   * Adds indices behind those that were added before: the first belongs to the lane after theirs.
   *
   * @param indices Integers in 0..2^53 − 1.
   * @throws {RangeError} If one is none; those before it have been added, it and the others not.
   * @throws {TypeError} If something else than indices came, or after the report was made.
   */
  add(indices: AccessIndices): void {
    if (this.#report !== null) {
      throw new TypeError("Cannot add accesses as the report has been made");
    }
    const wasAdding = this.#isAdding;
    this.#isAdding = true;
    try {
      this.#batch.addAll(indices);
    } finally {
      this.#isAdding = wasAdding;
    }
  }

  /**
   * What all indices together are. Nothing can be added afterwards; later calls return the same.
   *
   * @throws {TypeError} If an iterable asks for it that is just being added.
   */
  report(): AccessReport {
    if (this.#isAdding) {
      throw new TypeError("Cannot make a report as accesses are being added: by what asks for it");
    }
    return this.#report ??= this.#made();
  }

  #made(): AccessReport {
    this.#batch.flush();
    const { requests, sectors, idealSectors, lines, bankConflicts } = this.#requests;
    const figures = {
      ...this.#pattern.verdict(),
      count: this.#batch.position,
      requests,
      sectors,
      idealSectors,
      lines,
      efficiency: sectors === 0 ? 1 : idealSectors / sectors,
      bankConflicts,
      reuse: this.#reuse?.histogram() ?? null,
    };
    const bank = bankAdvice(figures, this.#geometry);
    const advice = [accessAdvice(figures, this.#geometry), bank].filter((each) => each !== "");
    return { ...figures, advice: advice.join(" "), bankAdvice: bank };
  }
}
