/**
 * The most that a device can move and calculate in a second.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { capabilityLimits } from "./capability_limits.ts";
import type { DeviceInfo } from "./device_information.ts";
import {
  type Arithmetic,
  HALVED_ON_GEFORCE,
  type TensorArithmetic,
  THROUGHPUT_TABLE,
} from "./throughput_table.ts";

export type { Arithmetic, TensorArithmetic } from "./throughput_table.ts";

/** What of a device's description says how fast it is. */
export type DeviceSpeed = Pick<
  DeviceInfo,
  "name" | "computeCapability" | "multiprocessorCount" | "clockMegahertz" | "peakBandwidth"
>;

/** The peaks of a device: what data sheets state, at its highest clock. */
export interface PeakThroughput {
  /** The device's compute capability. */
  readonly computeCapability: string;
  /** The capability whose figures were taken; another one where the device's is not known. */
  readonly source: string;
  /** False where the capability is newer than the table and the newest known one stands in. */
  readonly exact: boolean;
  /** Bytes per second from and to device memory; null where the driver does not say. */
  readonly bandwidth: number | null;
  /**
   * Operations per second by instructions of threads, a multiply-add being two of them: `int8` is
   * that of `dp4a`. Null where the driver does not say the clock, and for formats that the
   * capability has not.
   */
  readonly operations: Readonly<Record<Arithmetic, number | null>>;
  /**
   * Operations per second by tensor cores, of dense matrices. Null as above, and in `float64` also
   * where tensor cores have it only so that programs run. In `float16` and `float8` a GeForce card is
   * half as fast where products are added up in float32.
   */
  readonly tensorOperations: Readonly<Record<TensorArithmetic, number | null>>;
}

/**
 * Peak bandwidth and peak arithmetic of a device: its multiprocessors times its clock times what its
 * compute capability calculates in a clock.
 *
 * It is what NVIDIA's data sheets state. Where these have tensor cores work at a lower clock than
 * the highest, as on an H100, so does this. A capability that the table does not have is given the
 * figures of the newest known one that is not newer, and `exact` is false. Of a host device nothing
 * is known, unless `GRIDSTRIDE_FAKE` made it up: then the figures are those of the GPU that it stands
 * for, not of the CPU.
 *
 * @param info What is known of the device: `device.info`.
 * @throws {TypeError} If `info` is no object, or a figure of it no number.
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
 */
export function peakThroughput(info: DeviceSpeed): PeakThroughput {
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

function isGeForce({ name }: DeviceSpeed): boolean {
  return typeof name === "string" && /\bGeForce\b/.test(name);
}

type Figure = "clockMegahertz" | "multiprocessorCount" | "peakBandwidth";

/** A figure of a device that must be known. */
function figure(info: DeviceSpeed, name: Figure): number {
  const value: unknown = info[name];
  if (typeof value === "number" && value > 0 && value < Infinity) return value;
  const message = `Cannot calculate peak throughput as info.${name} must be a positive number` +
    `${name === "multiprocessorCount" ? "" : " or null"}: it is ${describeValue(value)}`;
  throw typeof value === "number" ? new RangeError(message) : new TypeError(message);
}

/** A figure that drivers do not always say. */
function optionalFigure(info: DeviceSpeed, name: Figure): number | null {
  return info[name] === null ? null : figure(info, name);
}

/**
 * Operations per clock of a multiprocessor, as operations per second of the device.
 *
 * @param row The former.
 * @param clocksFor Clocks per second of all multiprocessors; `NaN` where that is not known.
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
