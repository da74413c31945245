/**
 * The block size with the highest occupancy.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import {
  type BlockUsage,
  mostThreads,
  type OccupancyLimits,
  type OccupancyUsage,
  residentBlocks,
} from "./block_limits.ts";
import { type Occupancy, occupancy } from "./occupancy.ts";
import { checkLimits, completeUsage, requireCount } from "./occupancy_arguments.ts";

const ACTION = "choose a block size";

/** What a block takes of a multiprocessor, whatever its size. */
export type BlockSizeUsage = Omit<OccupancyUsage, "threadsPerBlock" | "dynamicSharedMemory">;

/** Options of {@linkcode potentialBlockSize}. */
export interface BlockSizeOptions {
  /** Dynamic shared memory of a block in bytes, or how much so many threads need; 0 by default. */
  readonly dynamicSharedMemory?: number | ((threadsPerBlock: number) => number);
}

/** What {@linkcode potentialBlockSize} finds. */
export interface PotentialBlockSize {
  /** Threads of a block; 0 where blocks of no size fit. */
  readonly threadsPerBlock: number;
  /** Its dynamic shared memory in bytes; 0 where no block fits. */
  readonly dynamicSharedMemory: number;
  /** Its occupancy; where no block fits that of a single warp, which says why. */
  readonly occupancy: Occupancy;
}

/**
 * The block size with the highest occupancy: of those with the most threads on a multiprocessor the
 * largest, so that the fewest blocks fill it. Tries every multiple of a warp, and the most threads
 * that a block of the kernel can have, as `cudaOccupancyMaxPotentialBlockSizeVariableSMem` does.
 *
 * @param limits Those of a compute capability, by {@linkcode capabilityLimits}, or those of a
 * device, by {@linkcode occupancyLimits}.
 * @param usage What a block takes; `maxThreadsPerBlock` bounds the block.
 * @throws {TypeError | RangeError} If a figure is missing, no integer, or out of range; also where
 * the function of the options gives it.
 *
 * @example
 * ```ts
 * import { capabilityLimits, potentialBlockSize } from "@gridstride/cuda";
 *
 * const { threadsPerBlock } = potentialBlockSize(
 *   capabilityLimits("8.9"),
 *   { registersPerThread: 40, staticSharedMemory: 0 },
 *   { dynamicSharedMemory: (threads) => threads * 8 },
 * );
 * console.log(threadsPerBlock); // 768
 * ```
 */
export function potentialBlockSize(
  limits: OccupancyLimits,
  usage: BlockSizeUsage,
  options: BlockSizeOptions = {},
): PotentialBlockSize {
  checkLimits(limits, ACTION);
  requireObject(usage, "usage", ACTION);
  requireObject(options, "options", ACTION);
  const sharedMemoryOf = sharedMemoryFunction(options.dynamicSharedMemory);
  const common = completeUsage({ ...usage, threadsPerBlock: 1, dynamicSharedMemory: 0 }, ACTION);
  const of = (threadsPerBlock: number) => ({
    ...common,
    threadsPerBlock,
    dynamicSharedMemory: sharedMemoryOf(threadsPerBlock),
  });
  const most = mostThreads(limits, common);
  let best: BlockUsage | undefined;
  let bestThreads = 0;
  for (let warps = Math.ceil(most / limits.warpSize); warps > 0; warps--) {
    const candidate = of(Math.min(most, warps * limits.warpSize));
    const threads = residentBlocks(limits, candidate) * candidate.threadsPerBlock;
    if (threads <= bestThreads) continue;
    best = candidate;
    bestThreads = threads;
    if (threads === limits.maxThreadsPerMultiprocessor) break;
  }
  if (best === undefined) {
    const warp = occupancy(limits, of(Math.min(most, limits.warpSize)));
    return { threadsPerBlock: 0, dynamicSharedMemory: 0, occupancy: warp };
  }
  const { threadsPerBlock, dynamicSharedMemory } = best;
  return { threadsPerBlock, dynamicSharedMemory, occupancy: occupancy(limits, best) };
}

function sharedMemoryFunction(
  given: BlockSizeOptions["dynamicSharedMemory"] = 0,
): (threadsPerBlock: number) => number {
  if (typeof given === "function") {
    return (threads) => {
      const bytes: unknown = given(threads);
      requireCount(bytes, `options.dynamicSharedMemory(${threads})`, ACTION);
      return bytes;
    };
  }
  if (typeof given !== "number") {
    throw new TypeError(
      `Cannot ${ACTION} as options.dynamicSharedMemory must be a number of bytes or a function ` +
        `of the threads of a block: it is ${describeValue(given)}`,
    );
  }
  requireCount(given, "options.dynamicSharedMemory", ACTION);
  return () => given;
}
