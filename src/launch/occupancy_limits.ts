/**
 * The limits that occupancy depends on, of a device.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { capabilityLimits } from "../hardware/capability_limits.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import type { OccupancyLimits } from "./block_limits.ts";
import { checkLimits } from "./occupancy_arguments.ts";

/** What of a device's description says how much its multiprocessors hold. */
export type DeviceLimits = Pick<
  DeviceInfo,
  "computeCapability" | keyof OccupancyLimits & keyof DeviceInfo
>;

// Launch parameters ask for the limits of the same few devices again and again.
const known = new WeakMap<DeviceLimits, OccupancyLimits>();

/**
 * The limits of a device for {@linkcode occupancy}: what the device says of itself, and what no
 * device says, such as allocation units, by its compute capability.
 *
 * @param info What is known of the device: `device.info`.
 * @throws {TypeError} If `info` is no object, or a figure of it no number.
 * @throws {RangeError} If its compute capability is malformed or older than 7.5.
 *
 * @example
 * ```ts
 * import { listDevices, occupancy, occupancyLimits } from "@gridstride/cuda";
 *
 * for (const info of listDevices()) {
 *   const { activeBlocks } = occupancy(occupancyLimits(info), {
 *     threadsPerBlock: 256,
 *     registersPerThread: 40,
 *     staticSharedMemory: 0,
 *     dynamicSharedMemory: 16384,
 *   });
 *   console.log(info.name, activeBlocks);
 * }
 * ```
 */
export function occupancyLimits(info: DeviceLimits): OccupancyLimits {
  requireObject(info, "info", "look up limits");
  let limits = known.get(info);
  if (limits === undefined) {
    limits = Object.freeze(combine(info));
    checkLimits(limits, "look up limits");
    known.set(info, limits);
  }
  return limits;
}

function combine(info: DeviceLimits): OccupancyLimits {
  const table = capabilityLimits(info.computeCapability);
  return {
    warpSize: info.warpSize,
    maxThreadsPerBlock: info.maxThreadsPerBlock,
    maxThreadsPerMultiprocessor: info.maxThreadsPerMultiprocessor,
    maxBlocksPerMultiprocessor: info.maxBlocksPerMultiprocessor,
    registersPerMultiprocessor: info.registersPerMultiprocessor,
    registersPerBlock: info.registersPerBlock,
    registersPerThread: table.registersPerThread,
    registerAllocationUnit: table.registerAllocationUnit,
    multiprocessorPartitions: table.multiprocessorPartitions,
    sharedMemoryPerMultiprocessor: info.sharedMemoryPerMultiprocessor,
    sharedMemoryPerBlock: info.sharedMemoryPerBlock,
    sharedMemoryPerBlockOptIn: info.sharedMemoryPerBlockOptIn,
    reservedSharedMemoryPerBlock: info.reservedSharedMemoryPerBlock,
    sharedMemoryAllocationUnit: table.sharedMemoryAllocationUnit,
    barriersPerMultiprocessor: table.barriersPerMultiprocessor,
    barrierAllocation: table.barrierAllocation,
  };
}
