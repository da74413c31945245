/**
 * Occupancy: how many blocks of a kernel a multiprocessor holds at once, what limits them, and what
 * would make them more.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { Extents } from "../hardware/capability_limits.ts";
import type { KernelAttributes } from "../ffi/native_kernel.ts";
import {
  blocksByBarriers,
  blocksByRegisters,
  blocksBySharedMemory,
  blocksByWarps,
  type BlockUsage,
  type OccupancyLimits,
  type OccupancyUsage,
  warpsPerBlock,
  warpsPerMultiprocessor,
} from "./block_limits.ts";
import type { Dimensions } from "./launch_config.ts";
import { occupancyAdvice } from "./occupancy_advice.ts";
import { checkLimits, completeUsage, requireCount } from "./occupancy_arguments.ts";
import { type DeviceLimits, occupancyLimits } from "./occupancy_limits.ts";

const ACTION = "calculate occupancy";

/** A resource of a multiprocessor that bounds how many blocks it holds. */
export type OccupancyLimiter = "warps" | "blocks" | "registers" | "sharedMemory" | "barriers";

/**
 * The blocks that each resource of a multiprocessor alone would allow; 0 where a block takes more of
 * it than a block can have, null where blocks take nothing of it.
 */
export interface BlockLimits {
  /** By the warps that a multiprocessor holds, and the threads that a block can have. */
  readonly warps: number;
  /** By the number of blocks itself. */
  readonly blocks: number;
  /** By registers; null where a thread has none. */
  readonly registers: number | null;
  /** By shared memory; null where a block takes none, and nothing is kept of it in every block. */
  readonly sharedMemory: number | null;
  /** By hardware barriers; null where a block takes none, and before compute capability 9.0. */
  readonly barriers: number | null;
}

/** What {@linkcode occupancy} calculates. */
export interface Occupancy {
  /** Blocks that a multiprocessor holds at once; 0 where the kernel cannot be launched so. */
  readonly activeBlocks: number;
  /** Their warps. */
  readonly activeWarps: number;
  /** Share of the warps of a multiprocessor that they are, 0 to 1. */
  readonly occupancy: number;
  /** What each resource alone would allow. */
  readonly limits: BlockLimits;
  /** What allows least; of several the first of warps, registers, shared memory, blocks, barriers. */
  readonly limiter: OccupancyLimiter;
  /**
   * What would raise occupancy, in exact figures; empty where nothing would. Each change that it
   * names gives what it says by itself. Made when it is first read.
   */
  readonly advice: string;
}

/** The first of the resources that allow no more than what all of them do. */
function limiterOf(activeBlocks: number, limits: BlockLimits): OccupancyLimiter {
  if (limits.warps === activeBlocks) return "warps";
  if (limits.registers === activeBlocks) return "registers";
  if (limits.sharedMemory === activeBlocks) return "sharedMemory";
  return limits.blocks === activeBlocks ? "blocks" : "barriers";
}

/** The method of old that gives an object a getter: `Object.defineProperty` reads a descriptor. */
type WithGetters = { __defineGetter__(name: string, getter: () => unknown): void };

/** An occupancy whose advice is a property of its own, as all others, but made when it is read. */
class LazyOccupancy {
  readonly activeBlocks: number;
  readonly activeWarps: number;
  readonly occupancy: number;
  readonly limits: BlockLimits;
  readonly limiter: OccupancyLimiter;
  declare readonly advice: string;
  readonly #limits: OccupancyLimits;
  readonly #usage: BlockUsage;
  #advice: string | undefined;

  constructor(limits: OccupancyLimits, usage: BlockUsage) {
    const warps = blocksByWarps(limits, usage);
    const blocks = limits.maxBlocksPerMultiprocessor;
    const registers = blocksByRegisters(limits, usage);
    const sharedMemory = blocksBySharedMemory(limits, usage);
    const barriers = blocksByBarriers(limits, usage);
    const activeBlocks = Math.min(warps, blocks, registers, sharedMemory, barriers);
    this.activeBlocks = activeBlocks;
    this.activeWarps = activeBlocks * warpsPerBlock(limits, usage.threadsPerBlock);
    this.occupancy = this.activeWarps / warpsPerMultiprocessor(limits);
    this.limits = {
      warps,
      blocks,
      registers: registers === Infinity ? null : registers,
      sharedMemory: sharedMemory === Infinity ? null : sharedMemory,
      barriers: barriers === Infinity ? null : barriers,
    };
    this.limiter = limiterOf(activeBlocks, this.limits);
    this.#limits = limits;
    this.#usage = usage;
    // With Object.defineProperty() the whole call takes twice as long or more.
    (this as unknown as WithGetters).__defineGetter__("advice", LazyOccupancy.#readAdvice);
  }

  /** Printed as what it holds: `console.log()` would not read the advice. */
  [Symbol.for("Deno.customInspect")](
    inspect: typeof Deno.inspect,
    options: Deno.InspectOptions,
  ): string {
    return inspect({ ...this }, options);
  }

  static #readAdvice(this: LazyOccupancy): string {
    return this.#advice ??= occupancyAdvice(this.#limits, this.#usage);
  }
}

/**
 * How many blocks of a kernel a multiprocessor holds at once, and what limits them. Equal to
 * NVIDIA's own calculator, `cuda_occupancy.h`, and to `cudaOccupancyMaxActiveBlocksPerMultiprocessor`.
 *
 * A block that cannot be launched has an occupancy of 0, which `limiter` and `advice` explain.
 *
 * @param limits Those of a compute capability, by {@linkcode capabilityLimits}, or those of a
 * device, by {@linkcode occupancyLimits}.
 * @param usage What a block takes; `kernel.attributes` has registers and static shared memory.
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
  return new LazyOccupancy(limits, completeUsage(usage, ACTION));
}

/** A kernel on a device, as far as its occupancy depends on it. */
export interface OccupyingKernel {
  /** The device. */
  readonly context: { readonly info: DeviceLimits & { readonly maxBlockDimensions: Extents } };
  /** What the compiler made of the kernel. */
  readonly attributes: Pick<
    KernelAttributes,
    "maxThreadsPerBlock" | "registersPerThread" | "staticSharedMemory"
  >;
}

/** The part of a launch's parameters that its occupancy depends on. */
export interface BlockConfig {
  /** Threads of a block. */
  readonly block: Dimensions;
  /** Dynamic shared memory of a block in bytes; 0 by default. */
  readonly sharedMemory?: number;
}

/**
 * The occupancy of a kernel on its device, if it is launched so.
 *
 * On the host device, whose kernels have no registers, it is that which warps, blocks and shared
 * memory of its compute capability would allow.
 *
 * @param kernel The kernel: `module.kernel(…)`.
 * @param config Block and dynamic shared memory, as {@linkcode Kernel.launch} takes them.
 * @throws {TypeError | RangeError} If an extent of the block or the shared memory is no integer or
 * out of range. More threads in all than the kernel can have are an occupancy of 0.
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
export function occupancyOf(kernel: OccupyingKernel, config: BlockConfig): Occupancy {
  requireObject(kernel, "kernel", ACTION);
  requireObject(config, "config", ACTION);
  const { context, attributes } = kernel;
  requireObject(context, "kernel.context", ACTION);
  requireObject(attributes, "kernel.attributes", ACTION);
  const { info } = context;
  const limits = occupancyLimits(info);
  const { maxBlockDimensions } = info;
  requireObject(maxBlockDimensions, "kernel.context.info.maxBlockDimensions", ACTION);
  return occupancy(limits, {
    threadsPerBlock: threadsOf(config.block, maxBlockDimensions),
    registersPerThread: attributes.registersPerThread,
    staticSharedMemory: attributes.staticSharedMemory,
    dynamicSharedMemory: config.sharedMemory ?? 0,
    maxThreadsPerBlock: attributes.maxThreadsPerBlock,
  });
}

function threadsOf(block: Dimensions, most: Extents): number {
  const extents: readonly unknown[] = typeof block === "number" ? [block] : block;
  if (!Array.isArray(extents) || extents.length < 1 || extents.length > 3) {
    throw new TypeError(
      `Cannot ${ACTION} as config.block must be an integer or an array of 1 to 3 integers: it is ` +
        (Array.isArray(extents) ? `an array of ${extents.length}` : describeValue(block)),
    );
  }
  const [x, y = 1, z = 1] = extents;
  requireCount(x, "config.block.x", ACTION, 1, most.x);
  requireCount(y, "config.block.y", ACTION, 1, most.y);
  requireCount(z, "config.block.z", ACTION, 1, most.z);
  return x * y * z;
}
