/**
 * The number of blocks that each resource of a multiprocessor allows, by the rules of NVIDIA's own
 * calculator, `cuda_occupancy.h` of the toolkit.
 *
 * @module
 */

import type { CapabilityLimits } from "../hardware/capability_limits.ts";

/** The limits of a device that occupancy depends on; {@linkcode capabilityLimits} has them all. */
export type OccupancyLimits = Pick<
  CapabilityLimits,
  | "warpSize"
  | "maxThreadsPerBlock"
  | "maxThreadsPerMultiprocessor"
  | "maxBlocksPerMultiprocessor"
  | "registersPerMultiprocessor"
  | "registersPerBlock"
  | "registersPerThread"
  | "registerAllocationUnit"
  | "multiprocessorPartitions"
  | "sharedMemoryPerMultiprocessor"
  | "sharedMemoryPerBlock"
  | "sharedMemoryPerBlockOptIn"
  | "reservedSharedMemoryPerBlock"
  | "sharedMemoryAllocationUnit"
  | "barriersPerMultiprocessor"
  | "barrierAllocation"
>;

/** The resources that a block of a kernel takes. */
export interface OccupancyUsage {
  /** Threads of a block. */
  readonly threadsPerBlock: number;
  /** 32-bit registers of a thread; 0 if they do not count, as on the host device. */
  readonly registersPerThread: number;
  /** Shared memory declared in the kernel, in bytes. */
  readonly staticSharedMemory: number;
  /** Shared memory that the launch adds, in bytes. */
  readonly dynamicSharedMemory: number;
  /**
   * Hardware barriers of a block, 0 to 16. The default, 1, is the barrier of `__syncthreads()`.
   * Barriers with other numbers (`bar.sync 1` of PTX) take more; `cuda::barrier` lies in shared
   * memory.
   */
  readonly barriersPerBlock?: number;
  /** The kernel's own limit of threads per block, if lower than the device's: launch bounds. */
  readonly maxThreadsPerBlock?: number;
  /**
   * Whether the kernel opts in to more than the default shared memory of a block; `true` by
   * default, as {@linkcode Kernel.launch} opts in.
   */
  readonly sharedMemoryOptIn?: boolean;
}

/** A usage with its defaults filled in. */
export type BlockUsage = Required<OccupancyUsage>;

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

/** Warps of a block; the last one may be partly filled. */
export function warpsPerBlock(limits: OccupancyLimits, threads: number): number {
  return Math.ceil(threads / limits.warpSize);
}

/** Warps resident on a multiprocessor. */
export function warpsPerMultiprocessor(limits: OccupancyLimits): number {
  return Math.floor(limits.maxThreadsPerMultiprocessor / limits.warpSize);
}

/** The limit of threads per block, by the device and the kernel. */
export function maxThreads(limits: OccupancyLimits, usage: BlockUsage): number {
  return Math.min(limits.maxThreadsPerBlock, usage.maxThreadsPerBlock);
}

/** The limit of shared memory per block in bytes. */
export function maxSharedMemory(limits: OccupancyLimits, usage: BlockUsage): number {
  return usage.sharedMemoryOptIn ? limits.sharedMemoryPerBlockOptIn : limits.sharedMemoryPerBlock;
}

/** Blocks by the warps of a multiprocessor; 0 if a block has too many threads. */
export function blocksByWarps(limits: OccupancyLimits, usage: BlockUsage): number {
  const threads = usage.threadsPerBlock;
  if (threads > maxThreads(limits, usage)) return 0;
  return Math.floor(warpsPerMultiprocessor(limits) / warpsPerBlock(limits, threads));
}

/** Registers of a warp: whole allocation units. */
export function registersPerWarp(limits: OccupancyLimits, registersPerThread: number): number {
  return roundUp(registersPerThread * limits.warpSize, limits.registerAllocationUnit);
}

/** Blocks by the registers of a multiprocessor; 0 if a thread or block has too many. */
export function blocksByRegisters(limits: OccupancyLimits, usage: BlockUsage): number {
  const { multiprocessorPartitions: partitions } = limits;
  const perWarp = registersPerWarp(limits, usage.registersPerThread);
  if (perWarp > registersPerWarp(limits, limits.registersPerThread)) return 0;
  const warps = warpsPerBlock(limits, usage.threadsPerBlock);
  // The hardware checks a block as if its warps were spread over all partitions evenly.
  if (perWarp * roundUp(warps, partitions) > limits.registersPerBlock) return 0;
  if (perWarp === 0) return Infinity;
  // All registers of a warp lie in one partition; a rest too small for a warp is lost.
  const perPartition = Math.floor(limits.registersPerMultiprocessor / partitions);
  return Math.floor(Math.floor(perPartition / perWarp) * partitions / warps);
}

/** Blocks by the shared memory of a multiprocessor; 0 if a block has too much. */
export function blocksBySharedMemory(limits: OccupancyLimits, usage: BlockUsage): number {
  const reserved = limits.reservedSharedMemoryPerBlock;
  const taken = roundUp(
    usage.staticSharedMemory + usage.dynamicSharedMemory + reserved,
    limits.sharedMemoryAllocationUnit,
  );
  if (taken > maxSharedMemory(limits, usage) + reserved) return 0;
  return taken === 0 ? Infinity : Math.floor(limits.sharedMemoryPerMultiprocessor / taken);
}

/** Blocks by the barriers of a multiprocessor. */
export function blocksByBarriers(limits: OccupancyLimits, usage: BlockUsage): number {
  const { barriersPerBlock: barriers } = usage;
  if (!limits.barrierAllocation || barriers === 0) return Infinity;
  return Math.floor(limits.barriersPerMultiprocessor / barriers);
}

/** Blocks resident on a multiprocessor by all of its resources. */
export function residentBlocks(limits: OccupancyLimits, usage: BlockUsage): number {
  return Math.min(
    blocksByWarps(limits, usage),
    limits.maxBlocksPerMultiprocessor,
    blocksByRegisters(limits, usage),
    blocksBySharedMemory(limits, usage),
    blocksByBarriers(limits, usage),
  );
}
