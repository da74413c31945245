/**
 * Occupancy: the number of blocks resident on a multiprocessor, the resource that limits it, and
 * the block size with the highest occupancy.
 *
 * @module
 */

import { requireInteger, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { KernelAttributes } from "../ffi/native_kernel.ts";
import { capabilityLimits } from "../hardware/capability_limits.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import { type LaunchConfig, readExtents } from "./launch_config.ts";
import { occupancyAdvice } from "./occupancy_advice.ts";
import {
  blocksByBarriers,
  blocksByRegisters,
  blocksBySharedMemory,
  blocksByWarps,
  type BlockUsage,
  maxThreads,
  type OccupancyLimits,
  type OccupancyUsage,
  residentBlocks,
  warpsPerBlock,
  warpsPerMultiprocessor,
} from "./occupancy_rules.ts";

const ACTION = "calculate occupancy";
const MAX = 2 ** 31 - 1;
/** PTX ISA, `barrier`: a block has sixteen, numbered from 0. */
const MAX_BARRIERS = 16;

/** The result of {@linkcode occupancy}. */
export interface Occupancy {
  /** Blocks resident on a multiprocessor; 0 if the kernel cannot be launched with this block. */
  readonly activeBlocks: number;
  /** Their warps. */
  readonly activeWarps: number;
  /** The share of a multiprocessor's warps, 0 to 1. */
  readonly occupancy: number;
  /**
   * The blocks that each resource alone would allow; 0 if a block takes more than a block can have,
   * null if blocks take nothing of it.
   */
  readonly limits: {
    /** By the warps of a multiprocessor and the threads of a block. */
    readonly warps: number;
    /** By the number of blocks itself. */
    readonly blocks: number;
    /** By registers. */
    readonly registers: number | null;
    /** By shared memory. */
    readonly sharedMemory: number | null;
    /** By hardware barriers; null before compute capability 9.0. */
    readonly barriers: number | null;
  };
  /**
   * The resource that allows least; of several the first of warps, registers, shared memory, blocks
   * and barriers.
   */
  readonly limiter: "warps" | "blocks" | "registers" | "sharedMemory" | "barriers";
  /**
   * Changes that would raise occupancy, in exact figures; empty if there are none. Each change has
   * its promised effect by itself. Calculated on access.
   */
  readonly advice: string;
}

/**
 * Calculates the number of blocks of a kernel that are resident on a multiprocessor, and the
 * resource that limits it. Equal to NVIDIA's own calculator, `cuda_occupancy.h`, and to
 * `cudaOccupancyMaxActiveBlocksPerMultiprocessor`.
 *
 * A block that cannot be launched has an occupancy of 0, which `limiter` and `advice` explain.
 *
 * @param limits Those of a compute capability, by {@linkcode capabilityLimits}, or those of a
 * device, by {@linkcode occupancyLimits}.
 * @param usage The resources of a block; `kernel.attributes` has registers and static shared memory.
 * @throws {TypeError | RangeError} If a figure is missing, no integer, or out of range.
 *
 * @example
 * ```ts
 * import { capabilityLimits, occupancy } from "@gridstride/cuda";
 *
 * const { activeBlocks, limiter, advice } = occupancy(capabilityLimits("8.9"), {
 *   threadsPerBlock: 256,
 *   registersPerThread: 48,
 *   staticSharedMemory: 0,
 *   dynamicSharedMemory: 0,
 * });
 * console.log(activeBlocks, limiter); // 5 registers
 * console.log(advice);
 * ```
 */
export function occupancy(limits: OccupancyLimits, usage: OccupancyUsage): Occupancy {
  checkLimits(limits, ACTION);
  return calculate(limits, completeUsage(usage, ACTION));
}

function calculate(limits: OccupancyLimits, usage: BlockUsage): Occupancy {
  const warps = blocksByWarps(limits, usage);
  const blocks = limits.maxBlocksPerMultiprocessor;
  const registers = blocksByRegisters(limits, usage);
  const sharedMemory = blocksBySharedMemory(limits, usage);
  const barriers = blocksByBarriers(limits, usage);
  const activeBlocks = Math.min(warps, blocks, registers, sharedMemory, barriers);
  const activeWarps = activeBlocks * warpsPerBlock(limits, usage.threadsPerBlock);
  const order = { warps, registers, sharedMemory, blocks, barriers };
  const limiter = (Object.keys(order) as (keyof typeof order)[])
    .find((name) => order[name] === activeBlocks)!;
  return {
    activeBlocks,
    activeWarps,
    occupancy: activeWarps / warpsPerMultiprocessor(limits),
    limits: {
      warps,
      blocks,
      registers: finite(registers),
      sharedMemory: finite(sharedMemory),
      barriers: finite(barriers),
    },
    limiter,
    get advice() {
      return occupancyAdvice(limits, usage);
    },
  };
}

function finite(blocks: number): number | null {
  return blocks === Infinity ? null : blocks;
}

/**
 * The occupancy of a kernel on its device with a block of this shape. On the host device, whose
 * kernels have no registers, it is the occupancy that its compute capability would allow.
 *
 * @param kernel The kernel: `module.kernel(…)`.
 * @param config Block and dynamic shared memory, as {@linkcode Kernel.launch} takes them.
 * @throws {TypeError | RangeError} If an extent of the block or the shared memory is no integer or
 * out of range. A block with more threads than the kernel allows has an occupancy of 0.
 *
 * @example
 * ```ts
 * import { occupancyOf, openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * const axpy = device.kernels.load(
 *   "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
 * );
 * console.log(occupancyOf(axpy, { block: 256 }).activeBlocks);
 * ```
 */
export function occupancyOf(
  kernel: {
    readonly context: { readonly info: DeviceInfo };
    readonly attributes: KernelAttributes;
  },
  config: Pick<LaunchConfig, "block" | "sharedMemory">,
): Occupancy {
  requireObject(kernel, "kernel", ACTION);
  requireObject(config, "config", ACTION);
  const { context, attributes } = kernel;
  requireObject(context, "kernel.context", ACTION);
  requireObject(attributes, "kernel.attributes", ACTION);
  const limits = occupancyLimits(context.info);
  const { maxBlockDimensions } = context.info;
  const { x, y, z } = readExtents(config.block, "config.block", ACTION, maxBlockDimensions);
  return occupancy(limits, {
    threadsPerBlock: x * y * z,
    registersPerThread: attributes.registersPerThread,
    staticSharedMemory: attributes.staticSharedMemory,
    dynamicSharedMemory: config.sharedMemory ?? 0,
    maxThreadsPerBlock: attributes.maxThreadsPerBlock,
  });
}

/**
 * The limits of a device for {@linkcode occupancy}: the device's own, completed by those of its
 * compute capability that no device reports, such as allocation units.
 *
 * @param info The description of the device: `device.info`.
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
export function occupancyLimits(info: DeviceInfo): OccupancyLimits {
  requireObject(info, "info", "look up limits");
  const table = capabilityLimits(info.computeCapability);
  const limits: OccupancyLimits = {
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
  checkLimits(limits, "look up limits");
  return limits;
}

/**
 * The block size with the highest occupancy. Among block sizes with equally many resident threads
 * it is the largest, of which the fewest blocks fill a multiprocessor. Tries every multiple of a
 * warp, and the kernel's own limit of threads, as `cudaOccupancyMaxPotentialBlockSizeVariableSMem`
 * does.
 *
 * @param limits Those of a compute capability, by {@linkcode capabilityLimits}, or those of a
 * device, by {@linkcode occupancyLimits}.
 * @param usage The resources of a block; `maxThreadsPerBlock` bounds the block.
 * @param options `dynamicSharedMemory` is the dynamic shared memory of a block in bytes, or a
 * function of the threads of a block; 0 by default.
 * @returns Threads and dynamic shared memory of the block, both 0 if no block fits, and its
 * occupancy; if no block fits, the occupancy of a single warp, which explains why.
 * @throws {TypeError | RangeError} If a figure is missing, no integer, or out of range; also if the
 * function of the options returns it.
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
  usage: Omit<OccupancyUsage, "threadsPerBlock" | "dynamicSharedMemory">,
  options: { readonly dynamicSharedMemory?: number | ((threadsPerBlock: number) => number) } = {},
): {
  readonly threadsPerBlock: number;
  readonly dynamicSharedMemory: number;
  readonly occupancy: Occupancy;
} {
  const action = "choose a block size";
  checkLimits(limits, action);
  requireObject(usage, "usage", action);
  requireObject(options, "options", action);
  const { dynamicSharedMemory: given = 0 } = options;
  if (typeof given !== "function" && typeof given !== "number") {
    throw new TypeError(
      `Cannot ${action} as options.dynamicSharedMemory must be a number of bytes or a function ` +
        `of the threads of a block: it is ${describeValue(given)}`,
    );
  }
  const common = completeUsage({ ...usage, threadsPerBlock: 1, dynamicSharedMemory: 0 }, action);
  const withThreads = (threadsPerBlock: number) => {
    const bytes = typeof given === "function" ? given(threadsPerBlock) : given;
    const call = typeof given === "function" ? `(${threadsPerBlock})` : "";
    requireInteger(bytes, `options.dynamicSharedMemory${call}`, action, 0, MAX);
    return { ...common, threadsPerBlock, dynamicSharedMemory: bytes };
  };
  const max = maxThreads(limits, common);
  let best: BlockUsage | undefined;
  let bestThreads = 0;
  for (let warps = Math.ceil(max / limits.warpSize); warps > 0; warps--) {
    const candidate = withThreads(Math.min(max, warps * limits.warpSize));
    const threads = residentBlocks(limits, candidate) * candidate.threadsPerBlock;
    if (threads <= bestThreads) continue;
    best = candidate;
    bestThreads = threads;
    if (threads === limits.maxThreadsPerMultiprocessor) break;
  }
  if (best === undefined) {
    const warp = calculate(limits, withThreads(Math.min(max, limits.warpSize)));
    return { threadsPerBlock: 0, dynamicSharedMemory: 0, occupancy: warp };
  }
  const { threadsPerBlock, dynamicSharedMemory } = best;
  return { threadsPerBlock, dynamicSharedMemory, occupancy: calculate(limits, best) };
}

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

function checkLimits(limits: OccupancyLimits, action: string): void {
  requireObject(limits, "limits", action);
  for (const name of POSITIVE_LIMITS) requireCount(limits, "limits", name, action, 1);
  requireCount(limits, "limits", "reservedSharedMemoryPerBlock", action);
  requireBoolean(limits.barrierAllocation, "limits.barrierAllocation", action);
}

/** A checked copy of a usage with its defaults. A block that only does not fit is accepted. */
function completeUsage(usage: OccupancyUsage, action: string): BlockUsage {
  requireObject(usage, "usage", action);
  const complete = {
    threadsPerBlock: usage.threadsPerBlock,
    registersPerThread: usage.registersPerThread,
    staticSharedMemory: usage.staticSharedMemory,
    dynamicSharedMemory: usage.dynamicSharedMemory,
    barriersPerBlock: usage.barriersPerBlock === undefined ? 1 : usage.barriersPerBlock,
    maxThreadsPerBlock: usage.maxThreadsPerBlock === undefined ? MAX : usage.maxThreadsPerBlock,
    sharedMemoryOptIn: usage.sharedMemoryOptIn === undefined ? true : usage.sharedMemoryOptIn,
  };
  requireCount(complete, "usage", "threadsPerBlock", action, 1);
  requireCount(complete, "usage", "registersPerThread", action);
  requireCount(complete, "usage", "staticSharedMemory", action);
  requireCount(complete, "usage", "dynamicSharedMemory", action);
  requireCount(complete, "usage", "barriersPerBlock", action, 0, MAX_BARRIERS);
  requireCount(complete, "usage", "maxThreadsPerBlock", action, 1);
  requireBoolean(complete.sharedMemoryOptIn, "usage.sharedMemoryOptIn", action);
  return complete;
}

/** Requires an integer in a field of an argument. */
function requireCount<Name extends string>(
  object: Readonly<Record<Name, unknown>>,
  argument: string,
  name: Name,
  action: string,
  min = 0,
  max = MAX,
): void {
  const value = object[name];
  // Composing the name in each check would take longer than the calculation.
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return;
  requireInteger(value, `${argument}.${name}`, action, min, max);
}

function requireBoolean(value: unknown, name: string, action: string): void {
  if (typeof value === "boolean") return;
  throw new TypeError(
    `Cannot ${action} as ${name} must be a boolean: it is ${describeValue(value)}`,
  );
}
