/**
 * Occupancy: the number of blocks resident on a multiprocessor, the resource that limits it, and
 * the block size with the highest occupancy.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import { requireInteger, requireObject, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { KernelAttributes } from "../ffi/native_kernel.ts";
import { capabilityLimits } from "../hardware/capability_limits.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import { type LaunchConfig, readExtents } from "./launch_config.ts";
import { occupancyAdvice } from "./occupancy_advice.ts";
import {
  type BlockUsage,
  maxThreads,
  type OccupancyLimits,
  type OccupancyUsage,
  residency,
} from "./occupancy_rules.ts";

const ACTION = "calculate occupancy";
const MAX = 2 ** 31 - 1;
/** PTX ISA, `barrier`: a block has sixteen, numbered from 0. */
const MAX_BARRIERS = 16;

/**
 * The result of {@linkcode occupancy}.
 * @category Launching kernels
 */
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
 * @category Launching kernels
 */
export function occupancy(limits: OccupancyLimits, usage: OccupancyUsage): Occupancy {
  checkLimits(limits, ACTION);
  return calculate(limits, completeUsage(usage, ACTION));
}

/** The prototype of all results, because `occupancy()` runs in loops over block sizes. */
const SHORT_FORM = displayAs({} as Occupancy, "Occupancy", {
  occupancy: ({ occupancy }) => occupancy,
  activeBlocks: ({ activeBlocks }) => activeBlocks,
  activeWarps: ({ activeWarps }) => activeWarps,
  limiter: ({ limiter }) => limiter,
}, { more: { advice: ({ advice }) => advice } });

function calculate(limits: OccupancyLimits, usage: BlockUsage): Occupancy {
  const { limits: allowed, blocks: activeBlocks, warps, occupancy } = residency(limits, usage);
  const limiter = (Object.keys(allowed) as (keyof typeof allowed)[])
    .find((name) => allowed[name] === activeBlocks)!;
  const { registers, sharedMemory, barriers } = allowed;
  return {
    __proto__: SHORT_FORM,
    activeBlocks,
    activeWarps: warps,
    occupancy,
    limits: {
      warps: allowed.warps,
      blocks: allowed.blocks,
      registers: finite(registers),
      sharedMemory: finite(sharedMemory),
      barriers: finite(barriers),
    },
    limiter,
    get advice() {
      return occupancyAdvice(limits, usage);
    },
  } as Occupancy;
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
 * On the host device the registers of a kernel are unknown and limit nothing. `gridstride occupancy`
 * compiles the source for a GPU, with NVRTC, and has them.
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
 * @category Launching kernels
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
  const { info } = context;
  const limits = occupancyLimits(info);
  const { maxBlockDimensions } = info;
  requireObject(maxBlockDimensions, "kernel.context.info.maxBlockDimensions", ACTION);
  const { x, y, z } = readExtents(config.block, "config.block", ACTION, maxBlockDimensions);
  return occupancy(limits, {
    threadsPerBlock: x * y * z,
    registersPerThread: attributes.registersPerThread ?? 0,
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
 * @category Launching kernels
 */
export function occupancyLimits(info: DeviceInfo): OccupancyLimits {
  requireObject(info, "info", "look up limits");
  const table = capabilityLimits(info.computeCapability);
  const limits = Object.fromEntries(
    LIMITS.map((name) => [name, name in info ? info[name as keyof DeviceInfo] : table[name]]),
  ) as unknown as OccupancyLimits;
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
 * @category Launching kernels
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
  requireOptions(options, ["dynamicSharedMemory"], action);
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
    requireInteger(bytes, "options.dynamicSharedMemory", action, 0, MAX);
    return { ...common, threadsPerBlock, dynamicSharedMemory: bytes };
  };
  const max = maxThreads(limits, common);
  let best: BlockUsage | undefined;
  let bestThreads = 0;
  for (let warps = Math.ceil(max / limits.warpSize); warps > 0; warps--) {
    const candidate = withThreads(Math.min(max, warps * limits.warpSize));
    const threads = residency(limits, candidate).blocks * candidate.threadsPerBlock;
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

/** The fields of {@linkcode OccupancyLimits}. */
const LIMITS: readonly (keyof OccupancyLimits)[] = [
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
  "reservedSharedMemoryPerBlock",
  "sharedMemoryAllocationUnit",
  "barriersPerMultiprocessor",
  "barrierAllocation",
];

function checkLimits(limits: OccupancyLimits, action: string): void {
  requireObject(limits, "limits", action);
  for (const name of LIMITS) {
    if (name === "barrierAllocation") requireBoolean(limits[name], `limits.${name}`, action);
    else {requireInteger(
        limits[name],
        `limits.${name}`,
        action,
        name.startsWith("reserved") ? 0 : 1,
        MAX,
      );}
  }
}

/** The ranges of a usage's figures. */
const USAGE_RANGES: readonly (readonly [keyof OccupancyUsage, min: number, max: number])[] = [
  ["threadsPerBlock", 1, MAX],
  ["registersPerThread", 0, MAX],
  ["staticSharedMemory", 0, MAX],
  ["dynamicSharedMemory", 0, MAX],
  ["barriersPerBlock", 0, MAX_BARRIERS],
  ["maxThreadsPerBlock", 1, MAX],
];

/** A checked copy of a usage with its defaults. A block that only does not fit is accepted. */
function completeUsage(usage: OccupancyUsage, action: string): BlockUsage {
  requireObject(usage, "usage", action);
  const { barriersPerBlock = 1, maxThreadsPerBlock = MAX, sharedMemoryOptIn = true } = usage;
  const complete = { ...usage, barriersPerBlock, maxThreadsPerBlock, sharedMemoryOptIn };
  for (const [name, min, max] of USAGE_RANGES) {
    requireInteger(complete[name], `usage.${name}`, action, min, max);
  }
  requireBoolean(sharedMemoryOptIn, "usage.sharedMemoryOptIn", action);
  return complete;
}

function requireBoolean(value: unknown, name: string, action: string): void {
  if (typeof value === "boolean") return;
  throw new TypeError(
    `Cannot ${action} as ${name} must be a boolean: it is ${describeValue(value)}`,
  );
}
