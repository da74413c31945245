/**
 * The roofline model: the performance that a kernel can reach, given its traffic and arithmetic.
 *
 * After Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for
 * Multicore Architectures" (CACM 52(4), 2009).
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { displayAs } from "../../ffi/display.ts";
import { percent } from "./access_report.ts";
import { rangeError, requireArray, requireNumber, requireObject, typeError } from "./arguments.ts";

const ACTION = "place a kernel under its roofline";
/**
 * Below this share of both peaks latency bounds a kernel: Nsight Compute's rule on the bottleneck
 * takes the same share.
 */
const LATENCY_SHARE = 0.6;

/**
 * A kernel, and the peaks of a device.
 * @category Roofline
 */
export interface RooflineOptions {
  /** Bytes that the kernel reads from and writes to memory. */
  readonly bytes: number;
  /** Operations of the kernel; a multiply-add is two. */
  readonly operations: number;
  /** Measured seconds. */
  readonly seconds?: number;
  /** The memory's peak in bytes per second: `peakThroughput(info).bandwidth`, or a copy's. */
  readonly bandwidth: number;
  /** The peak in operations per second: `peakThroughput(info).operations.float32`, for one. */
  readonly throughput: number;
  /** Further ceilings: other levels of memory, or other precisions. */
  readonly ceilings?: readonly {
    /** The name, such as `"L2 cache"` or `"tensor cores, float16"`. */
    readonly name: string;
    /** Bytes per second of a level of memory; none for a precision. */
    readonly bandwidth?: number;
    /** Operations per second of a precision; none for a level of memory. */
    readonly throughput?: number;
    /** Bytes that the kernel moves at this level of memory; those of the kernel by default. */
    readonly bytes?: number;
  }[];
}

/**
 * The place of a kernel under its roofline.
 * @category Roofline
 */
export interface Roofline {
  /** Arithmetic intensity, operations per byte: 0 of a copy, `Infinity` if no byte is moved. */
  readonly intensity: number;
  /** Operations per byte at the ridge point; memory bounds a kernel below it. */
  readonly ridge: number;
  /** Operations per second that the roofline allows at this intensity. */
  readonly attainable: number;
  /** The least seconds that the roofline allows. */
  readonly secondsAtRoof: number;
  /**
   * The bound: the roof over the kernel, or `"latency"` if it was measured and reaches neither 60 %
   * of the bandwidth nor 60 % of the arithmetic.
   */
  readonly bound: "memory" | "compute" | "latency";
  /** Measured operations per second; null without `seconds`. */
  readonly achieved: number | null;
  /** Measured bytes per second; null without `seconds`. */
  readonly achievedBandwidth: number | null;
  /** Share of the roof that is reached, `secondsAtRoof / seconds`; null without `seconds`. */
  readonly share: number | null;
  /** The kernel under the further ceilings, in their order. */
  readonly ceilings: readonly {
    /** The ceiling's name. */
    readonly name: string;
    /** Operations per byte at this level of memory, or of the kernel. */
    readonly intensity: number;
    /** The ridge point with the main ceiling of the other kind, in operations per byte. */
    readonly ridge: number;
    /** Operations per second under this ceiling and the main one of the other kind. */
    readonly attainable: number;
    /** Share of the ceiling that is reached; null without `seconds`. */
    readonly share: number | null;
  }[];
  /** The result in a sentence or two. */
  readonly sentence: string;
}

type Figures = Omit<Roofline, "sentence">;

/**
 * Places a kernel under the roofline of a device: its bound, the attainable performance, and the
 * share that it reaches.
 *
 * A share above 1 is possible: data that is read again comes from caches, and their bandwidth is no
 * device's peak, or the counts exceed the kernel's work. `sentence` says so.
 *
 * @param options The kernel's traffic, arithmetic and time, and the peaks.
 * @throws {RangeError} If a figure is a number that is not allowed, or the kernel does nothing.
 * @throws {TypeError} If a figure is of another type, or a ceiling has not exactly one peak.
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
 * @category Roofline
 */
export function roofline(options: RooflineOptions): Roofline {
  checkOptions(options);
  const { bytes, operations, seconds, bandwidth, throughput, ceilings = [] } = options;
  const intensity = operations / bytes;
  const [memorySeconds, computeSeconds] = [bytes / bandwidth, operations / throughput];
  const secondsAtRoof = Math.max(memorySeconds, computeSeconds);
  const shareOf = (least: number) => seconds === undefined ? null : least / seconds;
  const share = shareOf(secondsAtRoof);
  const roof = memorySeconds > computeSeconds ? "memory" : "compute";
  const figures: Figures = {
    intensity,
    ridge: throughput / bandwidth,
    attainable: Math.min(throughput, intensity * bandwidth),
    secondsAtRoof,
    bound: share !== null && share < LATENCY_SHARE ? "latency" : roof,
    achieved: shareOf(operations),
    achievedBandwidth: shareOf(bytes),
    share,
    ceilings: ceilings.map((ceiling) => {
      const moved = ceiling.bytes ?? bytes;
      const speed = ceiling.bandwidth ?? bandwidth;
      const rate = ceiling.throughput ?? throughput;
      const own = moved === 0 && operations === 0 ? 0 : operations / moved;
      return {
        name: ceiling.name,
        intensity: own,
        ridge: rate / speed,
        attainable: Math.min(rate, own * speed),
        share: shareOf(ceiling.bandwidth === undefined ? operations / rate : moved / speed),
      };
    }),
  };
  const sentence = placeSentence(figures, roof) + reachSentence(options, figures, roof);
  return displayAs({ ...figures, sentence }, "Roofline", {
    bound: ({ bound }) => bound,
    intensity: ({ intensity }) => intensity,
    ridge: ({ ridge }) => ridge,
    attainable: ({ attainable }) => attainable,
    share: ({ share }) => share ?? undefined,
  }, { more: { summary: ({ sentence }) => sentence } });
}

function placeSentence({ intensity, ridge, attainable }: Figures, roof: string): string {
  if (intensity === 0) return "It only moves bytes: memory bounds it.";
  if (intensity === Infinity) return "It moves no bytes: arithmetic bounds it.";
  const [own, meeting] = [significant(intensity), significant(ridge)];
  const side = roof === "memory" ? "below" : "above";
  // Figures that print alike are not compared.
  const place = own === meeting ? "" : ` ${side} the ${meeting}`;
  return `At ${own} ${
    own === "1" ? "operation" : "operations"
  } per byte,${place} where the roofs ` +
    `meet, ${roof === "memory" ? "memory" : "arithmetic"} bounds it to ${
      rate(attainable, "operations")
    }.`;
}

function reachSentence(
  { bandwidth, throughput }: RooflineOptions,
  { share, achieved, achievedBandwidth, bound }: Figures,
  roof: string,
): string {
  if (share === null) return "";
  const [got, peak] = roof === "memory"
    ? [rate(achievedBandwidth!, "B"), rate(bandwidth, "B")]
    : [rate(achieved!, "operations"), rate(throughput, "operations")];
  const reach = ` It reaches ${percent(share)} of the roof: ${got} of ${peak}.`;
  if (share > 1) {
    return `${reach} More than a roof allows comes from caches, or was counted and not done.`;
  }
  return bound !== "latency" ? reach : `${reach} Neither memory nor arithmetic is busy: it waits ` +
    "for latency, too few threads, or the launch.";
}

const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const;

function rate(perSecond: number, unit: "B" | "operations"): string {
  const [scale, prefix] = PREFIXES.find(([min]) => perSecond >= min) ?? [1, ""];
  const value = significant(perSecond / scale);
  if (unit === "B") return `${value} ${prefix}B/s`;
  return prefix === "" ? `${value} operations/s` : `${value} ${prefix}OP/s`;
}

function significant(value: number): string {
  if (value >= 1e6 && value < Infinity) return Number(value.toPrecision(3)).toExponential();
  return String(value >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));
}

function checkOptions(options: RooflineOptions): void {
  requireOptions(
    options,
    ["bytes", "operations", "seconds", "bandwidth", "throughput", "ceilings"],
    ACTION,
  );
  const { bytes, operations, seconds = 1, bandwidth, throughput, ceilings = [] } = options;
  requireCount("bytes", bytes);
  requireCount("operations", operations);
  if (bytes === 0 && operations === 0) {
    throw new RangeError(`Cannot ${ACTION} as it must move bytes or do operations: both are 0`);
  }
  for (const [name, peak] of Object.entries({ seconds, bandwidth, throughput })) {
    requirePeak(name, peak);
  }
  requireArray(ACTION, "ceilings", ceilings);
  // `forEach()` would skip the holes of a sparse array.
  for (let i = 0; i < ceilings.length; i++) {
    const place = `ceilings[${i}]`;
    requireObject(ACTION, place, ceilings[i]);
    const { name, bandwidth, throughput, bytes } = ceilings[i]!;
    if (typeof name !== "string") throw typeError(ACTION, `${place}.name`, "a text", name);
    const isMemory = bandwidth !== undefined;
    if (isMemory === (throughput !== undefined)) {
      throw new TypeError(
        `Cannot ${ACTION} as ${place} must have a bandwidth or a throughput: it has ${
          isMemory ? "both" : "neither"
        }`,
      );
    }
    if (isMemory) requirePeak(`${place}.bandwidth`, bandwidth);
    else requirePeak(`${place}.throughput`, throughput);
    if (bytes === undefined) continue;
    if (!isMemory) {
      throw new TypeError(`Cannot ${ACTION} as ${place}.bytes belongs to a bandwidth: it has none`);
    }
    requireCount(`${place}.bytes`, bytes);
  }
}

function requireCount(name: string, value: unknown): void {
  requireNumber(ACTION, name, value);
  if (value >= 0 && value <= Number.MAX_VALUE) return;
  throw rangeError(ACTION, name, "be 0 or more and finite", value);
}

function requirePeak(name: string, value: unknown): void {
  requireNumber(ACTION, name, value);
  if (value > 0 && value <= Number.MAX_VALUE) return;
  throw rangeError(ACTION, name, "be positive and finite", value);
}
