/**
 * Analysis of accesses by their indices, at once or piece by piece.
 *
 * @module
 */

import { displayAs } from "../../ffi/display.ts";
import { accessAdvice, bankAdvice } from "./access_advice.ts";
import { AccessPattern } from "./access_pattern.ts";
import {
  type AccessGeometry,
  accessGeometry,
  type AccessOptions,
  type AccessReport,
} from "./access_report.ts";
import { type AccessIndices, type IndexArray, IndexBatch } from "./index_batch.ts";
import { ReuseDistances } from "./reuse_distances.ts";
import { WarpRequests } from "./warp_requests.ts";

/**
 * Analyses any number of accesses in constant memory, in pieces of any size.
 *
 * Nothing here waits or starts threads: {@linkcode AccessAnalyzer.add} returns after the analysis of
 * its indices, which takes a few nanoseconds an index. A program that must not block adds a few
 * millions at a time.
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
 * @category Memory access
 */
export class AccessAnalyzer {
  readonly #geometry: AccessGeometry;
  readonly #pattern = new AccessPattern();
  readonly #reuse: ReuseDistances | null;
  readonly #requests: WarpRequests;
  readonly #batch: IndexBatch;
  #report: AccessReport | null = null;

  /**
   * Begins an analysis.
   *
   * @param options The meaning of indices.
   * @throws {RangeError} If an option is a number that is not allowed.
   * @throws {TypeError} If an option is of another type.
   */
  constructor(options: AccessOptions = {}) {
    this.#geometry = accessGeometry(options);
    const { reuseLines } = this.#geometry;
    this.#reuse = reuseLines === 0 ? null : new ReuseDistances(reuseLines);
    this.#requests = new WarpRequests(this.#geometry, this.#reuse);
    this.#batch = new IndexBatch("analyse accesses", (values, count) => {
      this.#pattern.add(values, count);
      this.#requests.add(values, count);
    });
  }

  /**
   * Adds indices after those that were added before: the first belongs to the next lane.
   *
   * @param indices Integers in 0..2^53 − 1.
   * @throws {RangeError} If one is not; those before it have been added, it and the others not.
   * @throws {TypeError} If a value is of another type, or the report has been made.
   */
  add(indices: AccessIndices): void {
    if (this.#report !== null) {
      throw new TypeError("Cannot add accesses as the report has been made");
    }
    this.#batch.addAll(indices);
  }

  /** The report of all accesses. Nothing can be added afterwards; later calls return the same. */
  report(): AccessReport {
    if (this.#report !== null) return this.#report;
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
    this.#report = { ...figures, advice: advice.join(" "), bankAdvice: bank };
    return displayAs(this.#report, "AccessReport", {
      pattern: ({ kind, stride }) => stride === null ? kind : `${kind}, stride ${stride}`,
      accesses: ({ count }) => count,
      sectors: ({ sectors }) => sectors,
      efficiency: ({ efficiency }) => efficiency,
      bankConflicts: ({ bankConflicts }) => bankConflicts,
    }, { more: { advice: ({ advice }) => advice } });
  }
}

/**
 * Analyses accesses of warps: the pattern of the indices, its cost in sectors, lines and bank
 * conflicts, and advice.
 *
 * Counts and pattern are exact: see {@linkcode AccessReport}. {@linkcode AccessAnalyzer} takes
 * indices piece by piece.
 *
 * @param indices The indices, in the order of lanes: a typed array, or anything iterable of numbers,
 * bigints and typed arrays. Bigints and floating-point numbers have to be integers in 0..2^53 − 1.
 * @param options The meaning of indices.
 * @throws {RangeError} If an index or option is a number that is not allowed.
 * @throws {TypeError} If one is of another type.
 *
 * @example
 * ```ts
 * import { analyzeAccess } from "@gridstride/cuda/analysis";
 *
 * const column = Uint32Array.from({ length: 1024 }, (_, row) => row * 1024);
 * const { kind, stride, sectors, requests, efficiency, advice } = analyzeAccess(column);
 * console.log(kind, stride, sectors / requests, efficiency); // strided 1024 32 0.125
 * console.log(advice);
 * ```
 * @category Memory access
 */
export function analyzeAccess(indices: AccessIndices, options?: AccessOptions): AccessReport;
/**
 * Analyses accesses whose indices arrive over time, such as a stream of typed arrays.
 *
 * @param indices The indices, in the order of lanes.
 * @param options The meaning of indices.
 */
export function analyzeAccess(
  indices: AsyncIterable<number | bigint | IndexArray>,
  options?: AccessOptions,
): Promise<AccessReport>;
export function analyzeAccess(
  indices: AccessIndices | AsyncIterable<number | bigint | IndexArray>,
  options: AccessOptions = {},
): AccessReport | Promise<AccessReport> {
  const analyzer = new AccessAnalyzer(options);
  if (isAsync(indices)) return analyzeAll(analyzer, indices);
  analyzer.add(indices);
  return analyzer.report();
}

async function analyzeAll(
  analyzer: AccessAnalyzer,
  indices: AsyncIterable<number | bigint | IndexArray>,
): Promise<AccessReport> {
  for await (const item of indices) analyzer.add(typeof item === "object" ? item : [item]);
  return analyzer.report();
}

function isAsync(value: unknown): value is AsyncIterable<number | bigint | IndexArray> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
