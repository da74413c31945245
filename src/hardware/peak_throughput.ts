/**
 * Peak bandwidth and arithmetic of a device, from a table of operations per clock.
 *
 * Figures are operations, a multiply-add being two, as in data sheets; those of tensor cores are for
 * dense matrices. Sources, named beside the figures:
 * - [guide] "Throughput of Native Arithmetic Instructions", in the CUDA C++ Best Practices Guide 13
 *   and the Programming Guides before: results of a multiply-add, of which two each are counted;
 * - [ratio] "Ratio of FP32 to FP64 Throughput" among the tables of compute capabilities in the CUDA
 *   Programming Guide 13;
 * - [paper] the architecture's white paper: Turing, A100, GA102, Ada, H100, RTX Blackwell;
 * - [sheet] the data sheet of the named GPU, divided by its multiprocessors and clock.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { capabilityLimits } from "./capability_limits.ts";
import type { DeviceInfo } from "./device_information.ts";

/** The peaks of a device. */
export type PeakThroughput = ReturnType<typeof peakThroughput>;

/** Operations per clock of a multiprocessor; null for formats that it does not have. */
export interface ThroughputRow {
  /** Of instructions of single threads. */
  readonly operations: PeakThroughput["operations"];
  /** Of matrix instructions; null also for formats that are there only for compatibility. */
  readonly tensorOperations: PeakThroughput["tensorOperations"];
  /** The tensor cores' clock in data sheets, as a share of the highest. */
  readonly tensorClockShare: number;
}

/** Operations of tensor cores by format; null for formats that they lack. */
function tensor(
  ...operations: [Rate, Rate, Rate, Rate, Rate, Rate, Rate]
): PeakThroughput["tensorOperations"] {
  const [float64, tfloat32, float16, bfloat16, int8, float8, float4] = operations;
  return { float64, tfloat32, float16, bfloat16, int8, float8, float4 };
}

type Rate = number | null;

// 32-bit integers: 64 multiply-adds, or 128 additions from 12.0 on [guide]. NVIDIA gives no rate of
// dp4a; Nsight Compute counts it on the pipe of integer multiply-adds: four products in each of 64
// lanes.
const INTEGERS = { int32: 128, int8: 512 } as const;

// [guide] [ratio: 32 to 1]; 16-bit floats two at a time. [paper: 8 tensor cores of 64 multiply-adds
// in float16; twice that in int8]
const TURING: ThroughputRow = {
  operations: { float64: 4, float32: 128, float16: 256, bfloat16: null, ...INTEGERS },
  tensorOperations: tensor(null, null, 1024, null, 2048, null, null),
  tensorClockShare: 1,
};

// [guide, paper: A100]
const AMPERE_LARGE: ThroughputRow = {
  operations: { float64: 64, float32: 128, float16: 512, bfloat16: 256, ...INTEGERS },
  tensorOperations: tensor(128, 1024, 2048, 2048, 4096, null, null),
  tensorClockShare: 1,
};

// [guide, paper: GA102] [ratio: 64 to 1]
const AMPERE_SMALL: ThroughputRow = {
  operations: { float64: 4, float32: 256, float16: 256, bfloat16: 256, ...INTEGERS },
  tensorOperations: tensor(null, 512, 1024, 1024, 2048, null, null),
  tensorClockShare: 1,
};

// [sheet: Jetson AGX Orin, 5.3 TFLOP/s in float32, 10.6 in float16, 85 TOP/s in int8 by tensor
// cores, which are as wide as A100's]
const ORIN: ThroughputRow = {
  ...AMPERE_SMALL,
  operations: { ...AMPERE_SMALL.operations, float16: 512 },
  tensorOperations: { ...AMPERE_LARGE.tensorOperations, float64: null },
};

// [guide, paper: Ada]
const ADA: ThroughputRow = {
  ...AMPERE_SMALL,
  tensorOperations: { ...AMPERE_SMALL.tensorOperations, float8: 2048 },
};

// [guide, paper: H100, tensor cores at 1830 of 1980 MHz as SXM5 and at 1620 of 1755 as PCIe card]
const HOPPER: ThroughputRow = {
  operations: { float64: 128, float32: 256, float16: 512, bfloat16: 512, ...INTEGERS },
  tensorOperations: tensor(256, 2048, 4096, 4096, 8192, 8192, null),
  tensorClockShare: 1830 / 1980,
};

// [guide: 64 instructions for two 16-bit floats each] [sheet: HGX B200, per GPU 37 TFLOP/s in
// float64, 75 in float32, by tensor cores 2.25 PFLOP/s in float16, that is 1856 of 1965 MHz]
const BLACKWELL_LARGE: ThroughputRow = {
  operations: { float64: 128, float32: 256, float16: 256, bfloat16: 256, ...INTEGERS },
  tensorOperations: tensor(128, 4096, 8192, 8192, 16384, 16384, 32768),
  tensorClockShare: 1856 / 1965,
};

// [ratio: 64 to 1] [sheet: HGX B300, 13.5 PFLOP/s in float4, one and a half times a B200; 2 POP/s in
// int8 of eight GPUs with sparse matrices]
const BLACKWELL_ULTRA: ThroughputRow = {
  operations: { ...BLACKWELL_LARGE.operations, float64: 4 },
  tensorOperations: {
    ...BLACKWELL_LARGE.tensorOperations,
    float64: null,
    int8: 512,
    float4: 49152,
  },
  tensorClockShare: 1856 / 1980,
};

// [ratio: 64 to 1] [sheet: Jetson T5000, 1035 TFLOP/s in float4 and half that in float8, at 1575 MHz;
// the other formats in a B200's proportions]
const THOR: ThroughputRow = {
  operations: { ...BLACKWELL_LARGE.operations, float64: 4 },
  tensorOperations: { ...BLACKWELL_LARGE.tensorOperations, float64: null },
  tensorClockShare: 1,
};

// [guide, paper: RTX Blackwell] [sheet: DGX Spark, 1 PFLOP/s in float4 with sparse matrices]
const BLACKWELL_SMALL: ThroughputRow = {
  ...ADA,
  tensorOperations: { ...ADA.tensorOperations, float4: 4096 },
};

/**
 * The rows, by capability. NVIDIA sells no GPU of capability 8.8 under a name: it has the figures of
 * 8.6, as its limits are the same.
 */
export const THROUGHPUT_TABLE: ReadonlyMap<string, ThroughputRow> = new Map([
  ["7.5", TURING],
  ["8.0", AMPERE_LARGE],
  ["8.6", AMPERE_SMALL],
  ["8.7", ORIN],
  ["8.8", AMPERE_SMALL],
  ["8.9", ADA],
  ["9.0", HOPPER],
  ["10.0", BLACKWELL_LARGE],
  ["10.3", BLACKWELL_ULTRA],
  ["11.0", THOR],
  ["12.0", BLACKWELL_SMALL],
  ["12.1", BLACKWELL_SMALL],
]);

/**
 * Formats that GeForce cards multiply at half the rate of others of their capability, with sums in
 * float32 [paper: Turing, GA102, Ada, RTX Blackwell]. In float16 and float8 they have the whole rate
 * if sums are float16 too.
 */
const HALVED_ON_GEFORCE: readonly string[] = ["tfloat32", "bfloat16"];

/**
 * Peak bandwidth and peak arithmetic of a device: its multiprocessors times its clock times the
 * operations of its compute capability in a clock.
 *
 * The result agrees with NVIDIA's data sheets, also in a lower clock of tensor cores, as on an H100.
 * A capability that the table lacks has the figures of the newest known one that is not newer, and
 * `exact` is false. A host device has no figures, unless `GRIDSTRIDE_FAKE` makes it up: then they are
 * those of the represented GPU, not of the CPU.
 *
 * @param info The description of the device: `device.info`.
 * @throws {TypeError} If `info` is not an object, or a figure of it not a number.
 * @throws {RangeError} If a figure is not positive and finite, or its compute capability is malformed
 * or older than 7.5.
 *
 * @example
 * ```ts
 * import { listDevices, peakThroughput } from "@gridstride/cuda";
 *
 * for (const info of listDevices()) {
 *   const { bandwidth, operations, tensorOperations } = peakThroughput(info);
 *   console.log(info.name, bandwidth, operations.float32, tensorOperations.float16);
 * }
 * ```
 * @category Devices
 */
export function peakThroughput(
  info: Pick<
    DeviceInfo,
    "name" | "computeCapability" | "multiprocessorCount" | "clockMegahertz" | "peakBandwidth"
  >,
): {
  /** The device's compute capability. */
  readonly computeCapability: string;
  /** The capability of the figures; another one if the device's is unknown. */
  readonly source: string;
  /** False if the capability is newer than the table and the newest known one stands in. */
  readonly exact: boolean;
  /** Bytes per second from and to device memory; null if the driver does not report it. */
  readonly bandwidth: number | null;
  /**
   * Operations per second by instructions of threads, a multiply-add being two of them: `int8` is
   * that of `dp4a`. Null if the driver does not report the clock, and for formats that the capability
   * lacks.
   */
  readonly operations: Readonly<
    Record<"float64" | "float32" | "float16" | "bfloat16" | "int32" | "int8", number | null>
  >;
  /**
   * Operations per second by tensor cores, of dense matrices. Null as above, and in `float64` also if
   * tensor cores have it only for compatibility. In `float16` and `float8` a GeForce card is half as
   * fast with sums in float32.
   */
  readonly tensorOperations: Readonly<
    Record<
      "float64" | "tfloat32" | "float16" | "bfloat16" | "int8" | "float8" | "float4",
      number | null
    >
  >;
} {
  requireObject(info, "info", "calculate peak throughput");
  const { source, exact } = capabilityLimits(info.computeCapability);
  const { operations, tensorOperations, tensorClockShare } = THROUGHPUT_TABLE.get(source)!;
  const clock = optionalFigure(info, "clockMegahertz");
  const clocks = figure(info, "multiprocessorCount") * 1e6 * (clock ?? NaN);
  const halved: readonly string[] = isGeForce(info) ? HALVED_ON_GEFORCE : [];
  return {
    computeCapability: info.computeCapability,
    source,
    exact,
    bandwidth: optionalFigure(info, "peakBandwidth"),
    operations: perSecond(operations, () => clocks),
    tensorOperations: perSecond(tensorOperations, (format) => {
      const share = format === "float64" ? 1 : tensorClockShare;
      return clocks * (halved.includes(format) ? share / 2 : share);
    }),
  };
}

function isGeForce({ name }: Pick<DeviceInfo, "name">): boolean {
  return typeof name === "string" && /\bGeForce\b/.test(name);
}

type Figures = Pick<DeviceInfo, "clockMegahertz" | "multiprocessorCount" | "peakBandwidth">;

/** A required figure of a device. */
function figure(info: Figures, name: keyof Figures): number {
  const value: unknown = info[name];
  if (typeof value === "number" && value > 0 && value < Infinity) return value;
  const message = `Cannot calculate peak throughput as info.${name} must be a positive number` +
    `${name === "multiprocessorCount" ? "" : " or null"}: it is ${describeValue(value)}`;
  throw typeof value === "number" ? new RangeError(message) : new TypeError(message);
}

/** A figure that some drivers do not report. */
function optionalFigure(info: Figures, name: keyof Figures): number | null {
  return info[name] === null ? null : figure(info, name);
}

/**
 * Operations per clock of a multiprocessor, as operations per second of the device.
 *
 * @param row The former.
 * @param clocksFor Clocks per second of all multiprocessors; `NaN` if unknown.
 */
function perSecond<F extends string>(
  row: Readonly<Record<F, number | null>>,
  clocksFor: (format: F) => number,
): Record<F, number | null> {
  const entries = Object.entries<number | null>(row).map(([format, perClock]) => {
    const operations = (perClock ?? NaN) * clocksFor(format as F);
    return [format, Number.isNaN(operations) ? null : operations] as const;
  });
  return Object.fromEntries(entries) as Record<F, number | null>;
}
