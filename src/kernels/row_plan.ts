/**
 * How kernels reduce rows: the parts of long rows, and the threads of each. In each form, both depend on
 * the shape and on the element types alone, so built-in kernels and those of tensors add up in the same
 * order.
 *
 * @module
 */

import type { KernelForm } from "./kernel_form.ts";

/** The threads of a block. */
export const BLOCK = 256;
const WARP = 32;
/**
 * The lanes that take a short row, if they have at most so many elements each. Eight lanes load the 128
 * bytes of a line of the cache at once.
 */
const LANES: readonly number[] = [8, 16];
const LANE_ELEMENTS = 16;

/** Elements of a part of a long row, or of a tile of columns: at least so many for CUDA threads. */
const PART: Readonly<Record<KernelForm, number>> = { block: 131072, threads: 8192 };
/** With this many jobs, rows are not split. */
export const ENOUGH_JOBS = 256;
/** Parts that CUDA threads make of all rows: more would only have to be merged. */
export const MAX_PARTS = 1024;
/** Parts of rows for CUDA threads begin at multiples of this, so that they begin with packets. */
const PART_STEP = 1024;

/** Bytes of operands that a thread loads in a step: with four blocks of 64 registers a thread. */
const STEP_BYTES = 128;
const STEP_ELEMENTS = 32;
const PACKET_BYTES = 16;

const roundUp = (size: number, step: number) => Math.ceil(size / step) * step;

/** The number of parts in the block form, which depends on nothing but the shape. */
export function segmentsOf(jobs: number, steps: number, stepSize: number): number {
  if (jobs >= ENOUGH_JOBS) return 1;
  // To merge two parts takes as long as the second one.
  if (steps * stepSize <= 2 * PART.block) return 1;
  const length = Math.max(1, Math.ceil(PART.block / stepSize));
  return Math.max(1, Math.ceil(steps / length));
}

/** The parts of a row. */
export interface RowParts {
  readonly segments: number;
  /** The elements of a part; the last may have fewer. */
  readonly length: number;
}

/** The parts of each of some rows. */
export function partsOf(rows: number, width: number, form: KernelForm): RowParts {
  if (form === "block") {
    const length = Math.ceil(width / segmentsOf(rows, width, 1));
    return { segments: Math.max(1, Math.ceil(width / Math.max(1, length))), length };
  }
  if (rows >= ENOUGH_JOBS || width <= 2 * PART.threads) return { segments: 1, length: width };
  const least = Math.max(PART.threads, Math.ceil(rows * width / MAX_PARTS));
  const segments = Math.ceil(width / roundUp(least, PART_STEP));
  return { segments, length: roundUp(Math.ceil(width / segments), PART_STEP) };
}

/**
 * The elements of a packet and of a step of operands, by the bytes of their elements. Strides do not
 * count, so that results do not depend on them.
 */
export function stepOf(bytes: readonly number[]): { elements: number; size: number } {
  const all = bytes.reduce((sum, own) => sum + own, 0);
  const fitting = 2 ** Math.floor(Math.log2(STEP_BYTES / Math.max(1, all)));
  const elements = Math.max(1, Math.min(STEP_ELEMENTS, fitting));
  return { elements, size: Math.min(PACKET_BYTES / Math.min(PACKET_BYTES, ...bytes), elements) };
}

/**
 * The threads of a part of a row, some lanes of a warp, a warp or a block, and the elements of a packet.
 *
 * @param width The length of a row, of which a kernel takes parts of `length`.
 * @param isShared Whether short rows share a warp.
 */
export function rowThreadsOf(
  { elements, size }: { readonly elements: number; readonly size: number },
  width: number,
  length: number,
  isShared = false,
): { readonly threads: number; readonly size: number } {
  const lanes = isShared
    ? LANES.find((it) => length <= it * Math.min(LANE_ELEMENTS, elements)) ?? WARP
    : WARP;
  return {
    threads: length <= WARP * elements ? lanes : BLOCK,
    size: width % size === 0 ? size : 1,
  };
}
