/**
 * Checks of what occupancy is asked with. They run on every call, so that what is wrong is only
 * looked for where something is.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { BlockUsage, OccupancyLimits, OccupancyUsage } from "./block_limits.ts";

const MOST = 2 ** 31 - 1;
/** PTX ISA, `barrier`: a block has sixteen, numbered from 0. */
const MOST_BARRIERS = 16;

const POSITIVE_LIMITS = [
  "warpSize",
  "maxThreadsPerBlock",
  "maxThreadsPerMultiprocessor",
  "maxBlocksPerMultiprocessor",
  "registersPerMultiprocessor",
  "registersPerBlock",
  "registersPerThread",
  "registerAllocationUnit",
  "multiprocessorPartitions",
  "sharedMemoryPerMultiprocessor",
  "sharedMemoryPerBlock",
  "sharedMemoryPerBlockOptIn",
  "sharedMemoryAllocationUnit",
  "barriersPerMultiprocessor",
] as const satisfies readonly (keyof OccupancyLimits)[];

/** Whether a value is an integer in 0..2^31-1. */
function isCount(value: unknown): boolean {
  return typeof value === "number" && (value | 0) === value && value >= 0;
}

/** Whether a value is an integer in 1..2^31-1. */
function isPositive(value: unknown): boolean {
  return typeof value === "number" && (value | 0) === value && value > 0;
}

/**
 * Refuses a value that is no integer of its range.
 *
 * @throws {TypeError} If it is no number.
 * @throws {RangeError} If it is another number.
 */
export function requireCount(
  value: unknown,
  name: string,
  action: string,
  lowest = 0,
  highest = MOST,
): asserts value is number {
  if (Number.isInteger(value) && value as number >= lowest && value as number <= highest) return;
  const ErrorClass = typeof value === "number" ? RangeError : TypeError;
  throw new ErrorClass(
    `Cannot ${action} as ${name} must be an integer in ${lowest}..${highest}: it is ${
      describeValue(value)
    }`,
  );
}

function refuseFlag(value: unknown, name: string, action: string): never {
  throw new TypeError(
    `Cannot ${action} as ${name} must be a boolean: it is ${describeValue(value)}`,
  );
}

/**
 * Refuses limits that are not those of a device.
 *
 * @throws {TypeError | RangeError} If a figure is missing or no integer of its range.
 */
export function checkLimits(limits: OccupancyLimits, action: string): void {
  if (
    typeof limits === "object" && limits !== null &&
    isPositive(limits.warpSize) && isPositive(limits.maxThreadsPerBlock) &&
    isPositive(limits.maxThreadsPerMultiprocessor) &&
    isPositive(limits.maxBlocksPerMultiprocessor) &&
    isPositive(limits.registersPerMultiprocessor) && isPositive(limits.registersPerBlock) &&
    isPositive(limits.registersPerThread) && isPositive(limits.registerAllocationUnit) &&
    isPositive(limits.multiprocessorPartitions) &&
    isPositive(limits.sharedMemoryPerMultiprocessor) && isPositive(limits.sharedMemoryPerBlock) &&
    isPositive(limits.sharedMemoryPerBlockOptIn) &&
    isPositive(limits.sharedMemoryAllocationUnit) &&
    isPositive(limits.barriersPerMultiprocessor) &&
    isCount(limits.reservedSharedMemoryPerBlock) && typeof limits.barrierAllocation === "boolean"
  ) return;
  refuseLimits(limits, action);
}

/** Says what is wrong with limits. */
function refuseLimits(limits: OccupancyLimits, action: string): never {
  requireObject(limits, "limits", action);
  for (const name of POSITIVE_LIMITS) requireCount(limits[name], `limits.${name}`, action, 1);
  const { reservedSharedMemoryPerBlock, barrierAllocation } = limits;
  requireCount(reservedSharedMemoryPerBlock, "limits.reservedSharedMemoryPerBlock", action);
  refuseFlag(barrierAllocation, "limits.barrierAllocation", action);
}

/**
 * What a block takes, with defaults; refuses what no block can be, but not what only does not fit.
 *
 * @returns A copy: what is calculated later is of the same figures, whatever becomes of the
 * caller's object.
 * @throws {TypeError | RangeError} If a figure is missing or no integer of its range.
 */
export function completeUsage(usage: OccupancyUsage, action: string): BlockUsage {
  requireObject(usage, "usage", action);
  const {
    threadsPerBlock,
    registersPerThread,
    staticSharedMemory,
    dynamicSharedMemory,
    barriersPerBlock = 1,
    maxThreadsPerBlock = MOST,
    sharedMemoryOptIn = true,
  } = usage;
  const complete = {
    threadsPerBlock,
    registersPerThread,
    staticSharedMemory,
    dynamicSharedMemory,
    barriersPerBlock,
    maxThreadsPerBlock,
    sharedMemoryOptIn,
  };
  if (
    isPositive(threadsPerBlock) && isCount(registersPerThread) && isCount(staticSharedMemory) &&
    isCount(dynamicSharedMemory) && isCount(barriersPerBlock) &&
    barriersPerBlock <= MOST_BARRIERS && isPositive(maxThreadsPerBlock) &&
    typeof sharedMemoryOptIn === "boolean"
  ) return complete;
  refuseUsage(complete, action);
}

/** Says what is wrong with a usage. */
function refuseUsage(usage: BlockUsage, action: string): never {
  const refuse = (name: keyof BlockUsage, lowest?: number, highest?: number) =>
    requireCount(usage[name], `usage.${name}`, action, lowest, highest);
  refuse("threadsPerBlock", 1);
  refuse("registersPerThread");
  refuse("staticSharedMemory");
  refuse("dynamicSharedMemory");
  refuse("barriersPerBlock", 0, MOST_BARRIERS);
  refuse("maxThreadsPerBlock", 1);
  refuseFlag(usage.sharedMemoryOptIn, "usage.sharedMemoryOptIn", action);
}
