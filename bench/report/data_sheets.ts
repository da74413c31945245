/**
 * Peaks of GPUs by their data sheets, and the check that no figure exceeds them: a figure that does has
 * not timed its work.
 *
 * @module
 */

import { peakThroughput } from "../../mod.ts";
import type { Arithmetic } from "../support/measure.ts";
import type { Figure } from "./figure.ts";
import { formatBandwidth, formatOperations } from "./formats.ts";
import type { MeasuredDevice } from "./gpu_report.ts";

/** The peaks of a GPU, without sparsity: bytes and operations per second; `null` if not stated. */
export interface Peaks {
  /** Where they are from. */
  readonly source: string;
  /** Of the device's memory. */
  readonly bandwidth: number | null;
  /** By the unit that is fastest in the format. */
  readonly operations: Readonly<Record<Arithmetic, number | null>>;
}

/** TB/s, then TFLOP/s in float64, float32, tfloat32, float16, bfloat16, float8, and TOP/s in int8. */
type Row = readonly [number, ...(number | null)[]];

/**
 * NVIDIA's data sheets, by the name that the driver reports. Those of cards of GeForce are of their white
 * papers: with sums in float16 where these are faster.
 */
const SHEETS: readonly (readonly [RegExp, Row])[] = [
  [/\bB200\b/, [8, 40, 80, 1125, 2250, 2250, 4500, 4500]],
  [/\bGH200\b/, [4.9, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9]],
  [/\bH200 NVL\b/, [4.8, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5]],
  [/\bH200\b/, [4.8, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9]],
  [/\bH100 NVL\b/, [3.9, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5]],
  [/\bH100 PCIe\b/, [2.04, 51, 51, 378, 756, 756, 1513, 1513]],
  [/\bH100\b/, [3.35, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9]],
  [/\bA100.*80GB/, [2.04, 19.5, 19.5, 156, 312, 312, null, 624]],
  [/\bA100\b/, [1.56, 19.5, 19.5, 156, 312, 312, null, 624]],
  [/\bL40S\b/, [0.864, null, 91.6, 183, 362.1, 362.1, 733, 733]],
  [/\bL40\b/, [0.864, null, 90.5, 90.5, 181, 181, 362, 362]],
  [/\bL4\b/, [0.3, null, 30.3, 60.5, 121, 121, 242.5, 242.5]],
  [/\bA40\b/, [0.696, null, 37.4, 74.8, 149.7, 149.7, null, 299.3]],
  [/\bA10\b/, [0.6, null, 31.2, 62.5, 125, 125, null, 250]],
  [/\bT4\b/, [0.32, null, 8.1, null, 65, null, null, 130]],
  [/\bRTX 6000 Ada\b/, [0.96, null, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5]],
  [/\bRTX 5090\b/, [1.792, null, 104.8, 104.8, 419, 209.5, 838, 838]],
  [/\bRTX 4090\b/, [1.008, null, 82.6, 82.6, 330.3, 165.2, 660.6, 660.6]],
  [/\bRTX 3090\b/, [0.936, null, 35.6, 35.6, 142, 71, null, 284]],
];

const TERA = 1e12;
/** A working set of this many caches passes through memory. */
const CACHES = 3;
/** Bytes that the level-2 cache sends to a multiprocessor in a clock, at most. */
const CACHE_BYTES = 64;

/** The peaks of a GPU; of one without a data sheet here, those of its capability and clocks. */
export function peaksOf(device: MeasuredDevice): Peaks | null {
  if (device.kind !== "cuda") return null;
  const row = SHEETS.find(([name]) => name.test(device.name))?.[1];
  if (row !== undefined) {
    const [bandwidth, ...rates] = row.map((value) => value === null ? null : value * TERA);
    const [float64, float32, tfloat32, float16, bfloat16, float8, int8] = rates as number[];
    return {
      ...{ source: "data sheet", bandwidth: bandwidth! },
      operations: {
        ...{ float64: float64!, float32: float32!, tfloat32: tfloat32!, float16: float16! },
        ...{ bfloat16: bfloat16!, float8: float8!, int8: int8! },
      },
    };
  }
  const { bandwidth, operations, tensorOperations } = peakThroughput(device);
  const rates: Readonly<Record<string, number | null>> = operations;
  const fastest = (format: Exclude<Arithmetic, "float32">) => {
    const both = [rates[format] ?? null, tensorOperations[format]].filter((rate) => rate !== null);
    return both.length === 0 ? null : Math.max(...both);
  };
  return {
    ...{ source: "compute capability and clocks", bandwidth },
    operations: {
      ...{ float64: fastest("float64"), float32: operations.float32 },
      ...{ tfloat32: fastest("tfloat32"), float16: fastest("float16") },
      ...{ bfloat16: fastest("bfloat16"), float8: fastest("float8"), int8: fastest("int8") },
    },
  };
}

/** The highest bandwidth of a figure's work: that of the cache, if its working set stays there. */
function bandwidthLimit(figure: Figure, device: MeasuredDevice, peaks: Peaks): number | null {
  const { l2CacheSize, multiprocessorCount, clockMegahertz } = device;
  const footprint = figure.footprint ?? figure.bytes ?? 0;
  if (l2CacheSize === null || footprint >= CACHES * l2CacheSize) return peaks.bandwidth;
  if (clockMegahertz === null) return null;
  return CACHE_BYTES * multiprocessorCount * clockMegahertz * 1e6;
}

/** The reasons why a figure is impossible on a GPU: its fastest sample exceeds the peaks. */
export function impossibilities(
  figure: Figure,
  device: MeasuredDevice,
  peaks: Peaks,
): string[] {
  const { bytes, operations, arithmetic, fastest } = figure;
  const name = `${figure.group}: ${figure.title}`;
  const reasons: string[] = [];
  const bandwidth = bandwidthLimit(figure, device, peaks);
  const moved = (bytes ?? 0) / fastest * 1e9;
  if (bandwidth !== null && moved > bandwidth) {
    reasons.push(`${name}: ${formatBandwidth(moved)} exceed ${formatBandwidth(bandwidth)}`);
  }
  const peak = arithmetic === undefined ? null : peaks.operations[arithmetic];
  const done = (operations ?? 0) / fastest * 1e9;
  if (peak !== null && done > peak) {
    const rates = [done, peak].map(formatOperations);
    reasons.push(`${name}: ${rates[0]} in ${arithmetic} exceed ${rates[1]}`);
  }
  return reasons;
}
