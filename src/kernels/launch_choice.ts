/**
 * Grids and blocks of elementwise operations, moments and histograms: those of an installed lookup, such
 * as tuning, or the defaults. `row_plan.ts` has those of sums and extrema.
 *
 * @module
 */

import { logger } from "../ffi/logging.ts";
import type { Kernel } from "../launch/kernel.ts";
import { type LineLaunch, lineLaunch } from "../launch/launch_planner.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import { kernelFormOf } from "./kernel_form.ts";

/** Finds the launch of a kernel for a number of elements; `undefined` for the default. */
export type LaunchLookup = (kernel: Kernel, elements: number) => LineLaunch | undefined;

let lookup: LaunchLookup | undefined;

/** Installs a lookup in place of the one before; operations call it before each launch. */
export function installLaunchLookup(next: LaunchLookup): void {
  lookup = next;
}

/**
 * The default steps of an elementwise CUDA thread. One keeps enough bytes in flight, and with more a block
 * reads and writes distant places of each array at once.
 */
export const STEPS_PER_THREAD = 1;

/** The default elements of a block in the block form: half of a first-level cache of float32. */
export const LOOP_ELEMENTS = 16384;

/** The launch in the block form, whose blocks have one thread. */
export function loopLaunch(elements: number, elementsPerBlock: number): LineLaunch {
  return { grid: Math.max(1, Math.ceil(elements / elementsPerBlock)), block: 1 };
}

/** Grid and block of an elementwise kernel. */
export function elementwiseLaunch(
  kernel: Kernel,
  elements: number,
  elementsPerThread: number,
): LineLaunch {
  const tuned = lookup?.(kernel, elements);
  const problem = { elementsPerThread, stepsPerThread: STEPS_PER_THREAD };
  const usual = () =>
    kernelFormOf(kernel.context) === "block"
      ? loopLaunch(elements, LOOP_ELEMENTS)
      : lineLaunch(kernel, elements, problem);
  return noted(kernel, elements, tuned, tuned ?? usual());
}

/** Logs a choice, and returns it. */
function noted(
  { name }: Kernel,
  elements: number,
  tuned: LineLaunch | undefined,
  launch: LineLaunch,
): LineLaunch {
  logger("kernels").trace(
    "{name} of {elements} elements: grid {grid}, block {block}, {origin}",
    () => {
      return { name, elements, ...launch, origin: tuned === undefined ? "by default" : "as tuned" };
    },
  );
  return launch;
}

/** The default threads of a reduction's block: whole warps, as the kernels need. */
export const REDUCTION_BLOCK = 256;

/** Bytes that a thread of a reduction takes in one step: four packets, see `moments.cuh`. */
export const REDUCTION_STEP_BYTES = 64;

/** Bytes that a thread of a histogram takes in one step: four packets of elements of 4 or 8 bytes. */
export const HISTOGRAM_STEP_BYTES = 64;

/** The default blocks of a multiprocessor, which all run at once if threads have up to 64 registers. */
const REDUCTION_BLOCKS = 4;

/**
 * The default limit of a reduction's blocks. It does not depend on the kernel, and so the order of
 * additions depends on nothing but the arguments.
 */
export function reductionBlocks({ context: { info } }: Pick<Kernel, "context">): number {
  return REDUCTION_BLOCKS * info.multiprocessorCount;
}

/** Grid and block of a kernel whose blocks reduce a share each. */
export function reductionLaunch(kernel: Kernel, x: DeviceBuffer, stepBytes: number): LineLaunch {
  const steps = Math.ceil(x.byteLength / stepBytes);
  const tuned = lookup?.(kernel, x.length);
  const launch = tuned ?? boundedLaunch(steps, REDUCTION_BLOCK, reductionBlocks(kernel));
  return noted(kernel, x.length, tuned, launch);
}

/** The launch with a step for each thread, up to a limit of blocks. */
export function boundedLaunch(steps: number, block: number, maxBlocks: number): LineLaunch {
  return { grid: Math.min(maxBlocks, Math.max(1, Math.ceil(steps / block))), block };
}
