/**
 * Launch parameters of kernels that leave one result per block: reductions and histograms.
 *
 * @module
 */

import type { DeviceInfo } from "../hardware/device_information.ts";
import type { Kernel } from "../launch/kernel.ts";
import { reductionGrid } from "../launch/launch_geometry.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import { TunedParameters } from "./tuned_parameters.ts";

/** Threads of a block where nothing was tuned: whole warps, as the kernels need. */
export const REDUCTION_BLOCK = 256;

/** Bytes that a thread takes in one step: four packets, see csrc/kernels/vector_access.cuh. */
export const REDUCTION_STEP_BYTES = 64;

/** The same in a histogram: two packets. */
export const HISTOGRAM_STEP_BYTES = 32;

/** What tuning chooses for kernels that leave one result per block. */
export interface ReductionParameters {
  /** Threads of a block. */
  readonly block: number;
  /** Most blocks of the grid. */
  readonly mostBlocks: number;
}

/** What was chosen for those that were tuned. */
export const TUNED_REDUCTIONS: TunedParameters<ReductionParameters> = new TunedParameters();

/** Most blocks where nothing was tuned, by device: as many as it holds at once. */
const usualBlocks = new WeakMap<DeviceInfo, number>();

function usualParameters(info: DeviceInfo): ReductionParameters {
  let mostBlocks = usualBlocks.get(info);
  if (mostBlocks === undefined) {
    mostBlocks = reductionGrid(info, Number.MAX_SAFE_INTEGER, REDUCTION_BLOCK);
    usualBlocks.set(info, mostBlocks);
  }
  return { block: REDUCTION_BLOCK, mostBlocks };
}

/**
 * Grid and block for reducing a buffer.
 *
 * @param stepBytes Bytes that a thread takes in one step.
 */
export function reductionLaunch(
  kernel: Kernel,
  x: DeviceBuffer,
  stepBytes: number,
): { readonly grid: number; readonly block: number } {
  const steps = Math.ceil(x.byteLength / stepBytes);
  const tuned = TUNED_REDUCTIONS.of(kernel, x.length);
  return tunedReductionLaunch(tuned ?? usualParameters(x.context.info), steps);
}

/** Grid and block with certain parameters, for so many steps of all threads together. */
export function tunedReductionLaunch(
  { block, mostBlocks }: ReductionParameters,
  steps: number,
): { readonly grid: number; readonly block: number } {
  return { grid: Math.min(mostBlocks, Math.max(1, Math.ceil(steps / block))), block };
}
