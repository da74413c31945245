/**
 * The roofline model: what a kernel can reach at most, by what it moves and what it calculates.
 *
 * After Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for
 * Multicore Architectures" (CACM 52(4), 2009).
 *
 * @module
 */

import { checkRoofline } from "./roofline_arguments.ts";
import type {
  CeilingStanding,
  Roofline,
  RooflineBound,
  RooflineCeiling,
  RooflineOptions,
} from "./roofline_report.ts";
import { rooflineSentence } from "./roofline_sentence.ts";

/**
 * Below this share of both peaks a kernel waits for neither: that is where Nsight Compute's rule on
 * the bottleneck begins to speak of latency.
 */
const LATENCY_SHARE = 0.6;

/**
 * Says where a kernel stands under the roofs of a device: what it can reach, what bounds it, and how
 * much of that it reaches.
 *
 * A share above 1 is possible: what is read again comes from caches, whose bandwidth is no device's
 * peak, or the counts say more than the kernel does. `sentence` says so.
 *
 * @param options What the kernel moves and calculates, and the peaks.
 * @throws {RangeError} If a figure is a number that is not allowed, or the kernel does nothing.
 * @throws {TypeError} If a figure is of another type, or a further roof is not of one kind.
 *
 * @example
 * ```ts
 * import { roofline } from "@gridstride/cuda/analysis";
 *
 * // y[i] += a * x[i] of 2^26 floats, in 0.2 ms on a device of 4.8 TB/s and 67 TFLOP/s.
 * const { intensity, ridge, bound, share, sentence } = roofline({
 *   bytes: 3 * 4 * 2 ** 26,
 *   operations: 2 * 2 ** 26,
 *   seconds: 0.0002,
 *   bandwidth: 4.8e12,
 *   throughput: 67e12,
 * });
 * console.log(intensity < ridge, bound, share!.toFixed(2)); // true memory 0.84
 * console.log(sentence);
 * ```
 */
export function roofline(options: RooflineOptions): Roofline {
  checkRoofline(options);
  const { bytes, operations, seconds, bandwidth, throughput, ceilings = [] } = options;
  const intensity = operations / bytes;
  const memorySeconds = bytes / bandwidth;
  const computeSeconds = operations / throughput;
  const secondsAtRoof = Math.max(memorySeconds, computeSeconds);
  const share = seconds === undefined ? null : secondsAtRoof / seconds;
  const roof: RooflineBound = memorySeconds > computeSeconds ? "memory" : "compute";
  const figures: Omit<Roofline, "sentence"> = {
    intensity,
    ridge: throughput / bandwidth,
    attainable: Math.min(throughput, intensity * bandwidth),
    secondsAtRoof,
    bound: share !== null && share < LATENCY_SHARE ? "latency" : roof,
    achieved: seconds === undefined ? null : operations / seconds,
    achievedBandwidth: seconds === undefined ? null : bytes / seconds,
    share,
    ceilings: ceilings.map((ceiling) => standing(options, ceiling)),
  };
  return { ...figures, sentence: rooflineSentence(options, figures, roof) };
}

/** How a kernel stands to one further roof. */
function standing(options: RooflineOptions, ceiling: RooflineCeiling): CeilingStanding {
  const { operations, seconds } = options;
  const bytes = ceiling.bytes ?? options.bytes;
  const bandwidth = ceiling.bandwidth ?? options.bandwidth;
  const throughput = ceiling.throughput ?? options.throughput;
  const intensity = bytes === 0 && operations === 0 ? 0 : operations / bytes;
  const atRoof = ceiling.bandwidth === undefined ? operations / throughput : bytes / bandwidth;
  return {
    name: ceiling.name,
    intensity,
    ridge: throughput / bandwidth,
    attainable: Math.min(throughput, intensity * bandwidth),
    share: seconds === undefined ? null : atRoof / seconds,
  };
}
