/**
 * Grid and block of the built-in kernels, whose launches are to cost next to nothing: grid-stride
 * loops over elements, and reductions. `launch_planner.ts` plans for all other kernels.
 *
 * Each thread of a grid-stride loop takes the elements `i`, `i + T`, `i + 2T`, … for `T` threads in
 * all. Any grid is therefore correct, and the right one is that which the device holds at once:
 * fewer blocks leave multiprocessors idle, and more only queue up behind them, each with its start
 * to pay for. Where a step is large that start does not count, and the caller may limit the steps of
 * a thread: then what a block works on lies close together.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import { preferredThreads } from "./block_shape.ts";
import { occupancy } from "./occupancy.ts";
import { occupancyLimits } from "./occupancy_limits.ts";

/** The work of a grid-stride loop. */
export interface StrideWork {
  /** Number of elements. */
  readonly elements: number;
  /** Elements that a thread takes in one step, as with vector loads; 1 by default. */
  readonly elementsPerThread?: number;
  /** Most steps of a thread: beyond them the grid grows past what the device holds at once. */
  readonly stepsPerThread?: number;
  /** Threads of a block; 256 by default, or as many as the kernel allows. */
  readonly block?: number;
}

/** Grid and block, along x. */
export interface StrideLaunch {
  /** Blocks of the grid. */
  readonly grid: number;
  /** Threads of a block. */
  readonly block: number;
}

/** A kernel on a device, as far as its launches depend on it. */
export interface StridingKernel {
  /** The device. */
  readonly context: { readonly info: DeviceInfo };
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

/** Blocks that the device holds at once, by the kernel and the threads of its blocks. */
const heldBlocks = new WeakMap<StridingKernel, Map<number, number>>();

function heldBy(kernel: StridingKernel, threads: number): number {
  let known = heldBlocks.get(kernel);
  if (known === undefined) {
    known = new Map();
    heldBlocks.set(kernel, known);
  }
  let held = known.get(threads);
  if (held === undefined) {
    const { context: { info }, attributes: { registersPerThread, staticSharedMemory } } = kernel;
    held = deviceHolds(info, threads, registersPerThread, staticSharedMemory);
    known.set(threads, held);
  }
  return held;
}

/** Blocks that a device holds at once; one at least, as a grid has that many. */
function deviceHolds(
  info: DeviceInfo,
  threads: number,
  registersPerThread: number,
  staticSharedMemory: number,
): number {
  const { activeBlocks } = occupancy(occupancyLimits(info), {
    threadsPerBlock: threads,
    registersPerThread,
    staticSharedMemory,
    dynamicSharedMemory: 0,
  });
  return Math.max(1, activeBlocks * info.multiprocessorCount);
}

/**
 * The blocks of a grid-stride launch: enough for one step to each thread, and no more than the
 * device holds at once, unless threads would then make too many steps. No elements take one block,
 * which finds nothing to do: CUDA knows no empty grid, and a launch that is left out would leave
 * out its place in the stream's order too.
 */
function strideGrid(
  info: DeviceInfo,
  steps: number,
  threads: number,
  held: number,
  stepsPerThread = Infinity,
): number {
  const wanted = Math.max(1, Math.ceil(steps / threads));
  const blocks = Math.min(wanted, Math.max(held, Math.ceil(wanted / stepsPerThread)));
  return Math.min(blocks, info.maxGridDimensions.x);
}

/**
 * The blocks of a launch that leaves one result per block, such as a reduction: as many as the
 * device holds at once, fewer for few elements. The grid, and with it the order in which partial
 * results are added, depends on nothing but the arguments.
 *
 * @param info The device.
 * @param steps Steps that all threads together make: the number of elements, or less where a step
 * takes several.
 * @param threads Threads of a block.
 * @returns At least 1.
 * @throws {RangeError} If `steps` or `threads` is not an integer of its range.
 */
export function reductionGrid(info: DeviceInfo, steps: number, threads: number): number {
  requireInteger("steps", steps, 0);
  requireInteger("threads", threads, 1);
  return strideGrid(info, steps, threads, deviceHolds(info, threads, 0, 0));
}

/**
 * Grid and block for a built-in kernel with a grid-stride loop.
 *
 * @param kernel The kernel; its device and what the compiler made of it decide.
 * @param work The size of the problem. No elements take one block.
 * @throws {RangeError} If a number is not an integer of its range.
 *
 * @example
 * ```ts ignore
 * const { grid, block } = launchGeometry(axpy, { elements: x.length });
 * axpy.launch({ grid, block }, 2, x, y, x.length);
 * ```
 */
export function launchGeometry(kernel: StridingKernel, work: StrideWork): StrideLaunch {
  const { elements, elementsPerThread = 1, stepsPerThread } = work;
  requireInteger("elements", elements, 0);
  requireInteger("elementsPerThread", elementsPerThread, 1);
  if (stepsPerThread !== undefined) requireInteger("stepsPerThread", stepsPerThread, 1);
  const { context: { info }, attributes } = kernel;
  const block = work.block ?? preferredThreads(attributes.maxThreadsPerBlock);
  requireInteger("block", block, 1);
  const steps = Math.ceil(elements / elementsPerThread);
  return { grid: strideGrid(info, steps, block, heldBy(kernel, block), stepsPerThread), block };
}

function requireInteger(name: string, value: number, lowest: number): void {
  if (Number.isSafeInteger(value) && value >= lowest) return;
  throw new RangeError(
    `Cannot choose launch parameters as ${name} must be an integer in ` +
      `${lowest}..${Number.MAX_SAFE_INTEGER}: it is ${describeValue(value)}`,
  );
}
