/**
 * Analysis of accesses by their indices.
 *
 * @module
 */

import { AccessAnalyzer, type AccessIndices } from "./access_analyzer.ts";
import type { AccessOptions, AccessReport } from "./access_report.ts";
import type { IndexArray } from "./index_batch.ts";

/**
 * Says how warps access memory: the pattern of the indices, what it costs in sectors, lines and bank
 * conflicts, and what to do about it.
 *
 * Counts are exact, and so is the pattern: see {@linkcode AccessReport}. It returns when all indices
 * were looked at; {@linkcode AccessAnalyzer} takes them piece by piece.
 *
 * @param indices The indices, in the order of lanes: a typed array, or anything iterable of numbers,
 * bigints and typed arrays. Bigints and floating-point numbers have to be integers in 0..2^53 − 1.
 * @param options How they are to be understood.
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
 */
export function analyzeAccess(indices: AccessIndices, options?: AccessOptions): AccessReport;
/**
 * The same for indices that come with time, such as a stream of typed arrays.
 *
 * @param indices What they come from.
 * @param options How they are to be understood.
 * @throws {RangeError} If an index or option is a number that is not allowed.
 * @throws {TypeError} If one is of another type.
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
