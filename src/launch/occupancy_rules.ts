/**
 * The number of blocks that each resource of a multiprocessor allows, by the rules of NVIDIA's own
 * calculator, `cuda_occupancy.h` of the toolkit.
 *
 * @module
 */

import type { CapabilityLimits } from "../hardware/capability_limits.ts";

/**
 * The limits of a device that occupancy depends on; {@linkcode capabilityLimits} has them all.
 * @category Launching kernels
 */
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

/**
 * The resources that a block of a kernel takes.
 * @category Launching kernels
 */
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

/** The resident blocks of a multiprocessor. */
export interface Residency {
  /** The blocks that each resource alone allows; infinite if blocks take nothing of it. */
  readonly limits: {
    readonly warps: number;
    readonly registers: number;
    readonly sharedMemory: number;
    readonly blocks: number;
    readonly barriers: number;
  };
  /** The blocks that all resources allow. */
  readonly blocks: number;
  /** Their warps. */
  readonly warps: number;
  /** The share of a multiprocessor's warps, 0 to 1. */
  readonly occupancy: number;
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

/** The limit of threads per block, by the device and the kernel. */
export function maxThreads(limits: OccupancyLimits, usage: BlockUsage): number {
  return Math.min(limits.maxThreadsPerBlock, usage.maxThreadsPerBlock);
}

/** The limit of shared memory per block in bytes. */
export function maxSharedMemory(limits: OccupancyLimits, usage: BlockUsage): number {
  return usage.sharedMemoryOptIn ? limits.sharedMemoryPerBlockOptIn : limits.sharedMemoryPerBlock;
}

/** Blocks by the registers of a multiprocessor; 0 if a thread or block has too many. */
function blocksByRegisters(limits: OccupancyLimits, usage: BlockUsage, warps: number): number {
  const { multiprocessorPartitions: partitions, registerAllocationUnit: unit } = limits;
  const perWarp = roundUp(usage.registersPerThread * limits.warpSize, unit);
  if (perWarp > roundUp(limits.registersPerThread * limits.warpSize, unit)) return 0;
  // The hardware checks a block as if its warps were spread over all partitions evenly.
  if (perWarp * roundUp(warps, partitions) > limits.registersPerBlock) return 0;
  if (perWarp === 0) return Infinity;
  // All registers of a warp lie in one partition; a rest too small for a warp is lost.
  const perPartition = Math.floor(limits.registersPerMultiprocessor / partitions);
  return Math.floor(Math.floor(perPartition / perWarp) * partitions / warps);
}

/** Blocks by the shared memory of a multiprocessor; 0 if a block has too much. */
function blocksBySharedMemory(limits: OccupancyLimits, usage: BlockUsage): number {
  const reserved = limits.reservedSharedMemoryPerBlock;
  const taken = roundUp(
    usage.staticSharedMemory + usage.dynamicSharedMemory + reserved,
    limits.sharedMemoryAllocationUnit,
  );
  if (taken > maxSharedMemory(limits, usage) + reserved) return 0;
  return taken === 0 ? Infinity : Math.floor(limits.sharedMemoryPerMultiprocessor / taken);
}

/** The blocks resident on a multiprocessor; 0 if a block has more than a block can have. */
export function residency(limits: OccupancyLimits, usage: BlockUsage): Residency {
  const { threadsPerBlock, barriersPerBlock } = usage;
  const warpsPerBlock = Math.ceil(threadsPerBlock / limits.warpSize);
  const allWarps = Math.floor(limits.maxThreadsPerMultiprocessor / limits.warpSize);
  const isTooLarge = threadsPerBlock > maxThreads(limits, usage);
  const hasBarriers = limits.barrierAllocation && barriersPerBlock > 0;
  const warps = isTooLarge ? 0 : Math.floor(allWarps / warpsPerBlock);
  const registers = blocksByRegisters(limits, usage, warpsPerBlock);
  const sharedMemory = blocksBySharedMemory(limits, usage);
  const blocks = limits.maxBlocksPerMultiprocessor;
  const barriers = hasBarriers
    ? Math.floor(limits.barriersPerMultiprocessor / barriersPerBlock)
    : Infinity;
  const resident = Math.min(warps, registers, sharedMemory, blocks, barriers);
  return {
    limits: { warps, registers, sharedMemory, blocks, barriers },
    blocks: resident,
    warps: resident * warpsPerBlock,
    occupancy: resident * warpsPerBlock / allWarps,
  };
}
