/**
 * The shape of a block: how many threads along each axis.
 *
 * @module
 */

import type { Extents } from "../hardware/capability_limits.ts";
import type { BlockShape } from "./launch_problem.ts";

/** Threads of a warp, which is what memory requests are made of. */
const WARP = 32;

/**
 * Threads of a block in the order of preference: 256 divide the 1024, 1536 or 2048 threads of every
 * multiprocessor without rest, and are few enough that a block that ends soon makes room.
 */
const PREFERRED = [256, 128, 512, 64, 1024, 32];

/** Fewest threads that a block is made smaller to, so that more multiprocessors get one. */
export const LEAST_SHARED_OUT = 64;

/** Fewest threads along x that still read whole sectors: 8 elements of 4 bytes. */
const LEAST_WIDTH = 8;

/** Fewest threads of a block along y and z. */
export interface LeastExtents {
  /** Along y. */
  readonly y: number;
  /** Along z. */
  readonly z: number;
}

const ANY_EXTENTS: LeastExtents = { y: 1, z: 1 };

/** The preferred number of threads, or the whole warps that the kernel allows where they are less. */
export function preferredThreads(maxThreads: number): number {
  if (maxThreads >= PREFERRED[0]!) return PREFERRED[0]!;
  return maxThreads < WARP ? maxThreads : maxThreads - maxThreads % WARP;
}

/**
 * Numbers of threads worth trying, the preferred one first: whole warps where the kernel allows one.
 *
 * @param maxThreads Most threads of a block of the kernel.
 */
export function candidateThreads(maxThreads: number): number[] {
  if (maxThreads < WARP) return [maxThreads];
  const allowed = PREFERRED.filter((threads) => threads <= maxThreads);
  const first = preferredThreads(maxThreads);
  return allowed.includes(first) ? allowed : [first, ...allowed];
}

/**
 * Shares the threads of a block out among the axes: a warp along x first, so that it accesses
 * neighbours, then y, z, and what is left along x again. An axis gets no more than its work, rounded
 * up to a power of two: the threads of three columns go to rows.
 *
 * @param threads Threads of the block.
 * @param work Steps of threads along each axis of the problem, one to three of them.
 * @param most Most threads of a block along each axis.
 * @param least Threads along y and z that x leaves room for.
 */
export function shapeOf(
  threads: number,
  work: readonly number[],
  most: Extents,
  least = ANY_EXTENTS,
): BlockShape {
  const [alongX, alongY = 1, alongZ = 1] = work;
  if (work.length === 1) return { x: Math.min(threads, most.x), y: 1, z: 1 };
  const width = Math.max(1, Math.floor(threads / (least.y * least.z)));
  const x = Math.min(WARP, width, most.x, powerOfTwoFrom(alongX!));
  const height = Math.max(1, Math.floor(threads / (x * least.z)));
  const y = Math.min(height, most.y, powerOfTwoFrom(alongY));
  const z = Math.min(Math.floor(threads / (x * y)), most.z, powerOfTwoFrom(alongZ));
  const widest = Math.min(Math.floor(threads / (y * z)), most.x, powerOfTwoFrom(alongX!));
  return { x: Math.max(x, widest), y, z };
}

/**
 * Threads along y and z with which a grid has blocks enough to cover all work.
 *
 * @param threads Threads of a block.
 * @param mostBlocks Most blocks of a grid along each axis.
 * @returns `undefined` where that leaves too few along x, so that memory is read in pieces.
 */
export function leastExtents(
  threads: number,
  [alongX = 1, alongY = 1, alongZ = 1]: readonly number[],
  mostBlocks: Extents,
): LeastExtents | undefined {
  const y = powerOfTwoFrom(alongY / mostBlocks.y);
  const z = powerOfTwoFrom(alongZ / mostBlocks.z);
  const width = Math.min(LEAST_WIDTH, powerOfTwoFrom(alongX));
  return threads / (y * z) < width ? undefined : { y, z };
}

/** The least power of two that is not less, up to 2^30; 1 for nothing. */
function powerOfTwoFrom(value: number): number {
  return value <= 1 ? 1 : value > 2 ** 30 ? 2 ** 30 : 1 << (32 - Math.clz32(Math.ceil(value) - 1));
}
