/**
 * Grid and block for elementwise work, from the size of the problem and the limits of the device.
 *
 * Kernels for such work run a grid-stride loop: each thread takes the elements `i`, `i + T`,
 * `i + 2T`, … for `T` threads in all. Any grid is therefore correct, and the right one is that
 * which the device holds at once: fewer blocks leave multiprocessors idle, and more only queue up
 * behind them, each with its start to pay for. Where a step is large that start does not count, and
 * the caller may limit the steps of a thread: then what a block works on lies close together.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { COMMON_LIMITS, type Extents } from "../hardware/capability_table.ts";
import type { LaunchConfig } from "./launch_config.ts";

/**
 * Threads of a block where the kernel allows as many: they divide the 1024, 1536 or 2048 threads
 * of every multiprocessor without rest, and are few enough that a block that ends soon makes room.
 */
const PREFERRED_BLOCK = 256;

/** The size of an elementwise problem. */
export interface LaunchProblem {
  /** Number of elements. */
  readonly elements: number;
  /** Elements that a thread takes in one step, as with vector loads; 1 by default. */
  readonly elementsPerThread?: number;
  /**
   * Most steps of a thread: beyond them the grid grows past what the device holds at once. For
   * kernels whose threads have enough bytes in flight in one step. Not limited by default.
   */
  readonly stepsPerThread?: number;
  /** Dynamic shared memory of a block in bytes; 0 by default. */
  readonly sharedMemory?: number;
}

/** The figures of a device that decide how many blocks it holds at once. */
export interface ResidencyLimits {
  /** Number of multiprocessors. */
  readonly multiprocessorCount: number;
  /** Threads of a warp. */
  readonly warpSize: number;
  /** Most blocks of a grid in each dimension. */
  readonly maxGridDimensions: Extents;
  /** Threads that a multiprocessor holds. */
  readonly maxThreadsPerMultiprocessor: number;
  /** Blocks that a multiprocessor holds. */
  readonly maxBlocksPerMultiprocessor: number;
  /** Registers of a multiprocessor. */
  readonly registersPerMultiprocessor: number;
  /** Bytes of shared memory of a multiprocessor. */
  readonly sharedMemoryPerMultiprocessor: number;
  /** Bytes of shared memory that the driver keeps of every block. */
  readonly reservedSharedMemoryPerBlock: number;
}

/** What a block of a kernel takes of a multiprocessor. */
export interface BlockResources {
  /** Registers of a thread; 0 where they do not count, as on the host device. */
  readonly registersPerThread: number;
  /** Bytes of shared memory of a block, static and dynamic. */
  readonly sharedMemory: number;
}

/** A kernel on a device, as far as its launch parameters depend on it. */
export interface LaunchableKernel {
  /** The device. */
  readonly context: { readonly info: ResidencyLimits };
  /** What the compiler made of the kernel. */
  readonly attributes: {
    /** Most threads of a block. */
    readonly maxThreadsPerBlock: number;
    /** Registers of a thread. */
    readonly registersPerThread: number;
    /** Bytes of shared memory declared in the kernel. */
    readonly staticSharedMemory: number;
  };
}

/**
 * How many blocks a multiprocessor holds at once; at least 1.
 *
 * Takes the tightest of its threads, blocks, registers and shared memory. Registers are given to
 * whole warps, in multiples of the allocation unit.
 *
 * @param threads Threads of a block.
 */
export function residentBlocks(
  device: ResidencyLimits,
  threads: number,
  block: BlockResources = { registersPerThread: 0, sharedMemory: 0 },
): number {
  const warps = Math.ceil(threads / device.warpSize);
  const unit = COMMON_LIMITS.registerAllocationUnit;
  const warpRegisters = Math.ceil(block.registersPerThread * device.warpSize / unit) * unit;
  const sharedMemory = block.sharedMemory + device.reservedSharedMemoryPerBlock;
  return Math.max(
    1,
    Math.min(
      device.maxBlocksPerMultiprocessor,
      Math.floor(device.maxThreadsPerMultiprocessor / (warps * device.warpSize)),
      howOften(device.registersPerMultiprocessor, warpRegisters * warps),
      howOften(device.sharedMemoryPerMultiprocessor, sharedMemory),
    ),
  );
}

function howOften(whole: number, part: number): number {
  return part === 0 ? Infinity : Math.floor(whole / part);
}

/**
 * The blocks of a grid-stride launch: enough for one step to each thread, and no more than the
 * device holds at once, unless threads would then make too many steps. No elements take one block,
 * which finds nothing to do: CUDA knows no empty grid, and a launch that is left out would leave
 * out its place in the stream's order too.
 *
 * @param steps Steps that all threads together make: the number of elements, or less where a step
 * takes several.
 * @param threads Threads of a block.
 * @param blocksPerMultiprocessor Blocks that a multiprocessor holds at once.
 * @param stepsPerThread Most steps of a thread.
 */
function strideGrid(
  device: ResidencyLimits,
  steps: number,
  threads: number,
  blocksPerMultiprocessor: number,
  stepsPerThread = Infinity,
): number {
  const wanted = Math.max(1, Math.ceil(steps / threads));
  const held = device.multiprocessorCount * blocksPerMultiprocessor;
  const blocks = Math.min(wanted, Math.max(held, Math.ceil(wanted / stepsPerThread)));
  return Math.min(blocks, device.maxGridDimensions.x);
}

/**
 * The blocks of a launch that leaves one result per block, such as a reduction: as many as the
 * device holds at once, fewer for few elements. The grid, and with it the order in which partial
 * results are added, depends on nothing but the arguments.
 *
 * @param device The device's limits.
 * @param steps Steps that all threads together make: the number of elements, or less where a step
 * takes several.
 * @param threads Threads of a block.
 * @returns At least 1.
 * @throws {RangeError} If `steps` or `threads` is not an integer of its range.
 */
export function reductionGrid(device: ResidencyLimits, steps: number, threads: number): number {
  requireInteger("steps", steps, 0);
  requireInteger("threads", threads, 1);
  return strideGrid(device, steps, threads, residentBlocks(device, threads));
}

/**
 * Grid and block for elementwise work of a kernel with a grid-stride loop.
 *
 * @param kernel The kernel; its device and what the compiler made of it decide.
 * @param problem The size of the problem. No elements take one block.
 * @throws {RangeError} If a number of the problem is not an integer of its range.
 *
 * @example
 * ```ts ignore
 * const { grid, block } = launchGeometry(axpy, { elements: x.length });
 * axpy.launch({ grid, block }, 2, x, y, x.length);
 * ```
 */
export function launchGeometry(kernel: LaunchableKernel, problem: LaunchProblem): LaunchConfig {
  requireObject(problem, "problem", "choose launch parameters");
  const { elements, elementsPerThread = 1, stepsPerThread, sharedMemory = 0 } = problem;
  requireInteger("elements", elements, 0);
  requireInteger("elementsPerThread", elementsPerThread, 1);
  if (stepsPerThread !== undefined) requireInteger("stepsPerThread", stepsPerThread, 1);
  requireInteger("sharedMemory", sharedMemory, 0);
  const { context: { info }, attributes } = kernel;
  const block = blockSize(info, attributes.maxThreadsPerBlock);
  const resident = residentBlocks(info, block, {
    registersPerThread: attributes.registersPerThread,
    sharedMemory: attributes.staticSharedMemory + sharedMemory,
  });
  const steps = Math.ceil(elements / elementsPerThread);
  const grid = strideGrid(info, steps, block, resident, stepsPerThread);
  return sharedMemory === 0 ? { grid, block } : { grid, block, sharedMemory };
}

/** The preferred block, or the largest of whole warps that the kernel allows. */
function blockSize(device: ResidencyLimits, maxThreads: number): number {
  const wholeWarps = Math.floor(maxThreads / device.warpSize) * device.warpSize;
  return Math.min(PREFERRED_BLOCK, wholeWarps > 0 ? wholeWarps : maxThreads);
}

function requireInteger(name: string, value: number, lowest: number): void {
  if (Number.isSafeInteger(value) && value >= lowest) return;
  throw new RangeError(
    `Cannot choose launch parameters as ${name} must be an integer in ` +
      `${lowest}..${Number.MAX_SAFE_INTEGER}: it is ${describeValue(value)}`,
  );
}
