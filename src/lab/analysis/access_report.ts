/**
 * The report of an access analysis, its options, and the geometry of sectors and lines.
 *
 * Indices are in the order of the lanes: index `i` belongs to lane `i % 32` of request
 * `floor(i / 32)`. Nothing here depends on a device: a sector is 32 bytes, a line four sectors, and
 * shared memory has 32 banks of 4 bytes on every GPU from compute capability 7.5 on (CUDA C++
 * Programming Guide, "Maximize Memory Throughput").
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { requireInteger, requireOneOf, typeError } from "./arguments.ts";

/**
 * The kind of a pattern.
 *
 * - `empty`: no indices.
 * - `broadcast`: two or more indices, all equal.
 * - `sequential`: each index is one more than the one before, or there is only one; `reversed`: one
 *   less.
 * - `strided`: each index differs from the one before by the same stride.
 * - `blocked`: runs of equal length of a regular pattern, with regular jumps between them: the rows
 *   of a tile.
 * - `random`: any other.
 * @category Memory access
 */
export type AccessKind =
  | "empty"
  | "broadcast"
  | "sequential"
  | "reversed"
  | "strided"
  | "blocked"
  | "random";

/**
 * The shape of a blocked pattern, in elements.
 * @category Memory access
 */
export interface TileShape {
  /** Accesses of a run. */
  readonly columns: number;
  /** Runs of a tile; all runs if the pattern never begins elsewhere. */
  readonly rows: number;
  /** Distance from the first element of a run to that of the next; negative if runs descend. */
  readonly pitch: number;
}

/**
 * Reuse of lines: how many other lines are accessed between two accesses to a line.
 *
 * A request accesses each line that it touches once, in the order of its lanes: `firstTouches` and
 * the counts add up to the report's `lines`.
 * @category Memory access
 */
export interface ReuseHistogram {
  /** Bytes of a line: 128. */
  readonly granularity: number;
  /**
   * Accesses by reuse distance, the number of different lines accessed in between: entry 0 has
   * distance 0, entry `k` has 2^(k-1) to 2^k − 1. Estimated from a sample if `sampled` is less than
   * 1.
   */
  readonly counts: readonly number[];
  /** Accesses to lines that were not accessed before. */
  readonly firstTouches: number;
  /** Share of the lines that were followed: 1 is all of them. */
  readonly sampled: number;
  /**
   * Standard error of a share read from the histogram, from the size of the sample; 0 if all lines
   * were followed. It is too small if a few lines take many of the accesses and none of these lines
   * is in the sample. Distances are estimated, too: near the edge of an entry they may be counted in
   * the next one. After Waldspurger et al., "Efficient MRC Construction with SHARDS" (FAST 2015).
   */
  readonly standardError: number;
}

/**
 * The result of an access analysis.
 * @category Memory access
 */
export interface AccessReport {
  /** The kind of the pattern, without regard to outliers. */
  readonly kind: AccessKind;
  /** Elements from one access to the next, signed; null if there is no such number. */
  readonly stride: number | null;
  /**
   * Share of the accesses that follow the pattern, 0.5 to 1; for `random` the share that does not
   * follow the best candidate.
   */
  readonly confidence: number;
  /**
   * Accesses that do not follow the pattern; 0 for `random`.
   *
   * A stray access counts once, in the place of another or between two, and so does a jump after
   * which the pattern goes on elsewhere. The first access of a run or tile follows if it is as many
   * accesses and elements behind the others as they are behind each other.
   */
  readonly outliers: number;
  /** The shape of a blocked pattern; null for every other. */
  readonly tile: TileShape | null;
  /** Analysed indices. */
  readonly count: number;
  /** Requests that warps make for them to global memory. */
  readonly requests: number;
  /** Sectors of 32 bytes that these requests touch, each counted once a request. */
  readonly sectors: number;
  /** Sectors that they would touch if the same bytes lay side by side, aligned. */
  readonly idealSectors: number;
  /** Lines of 128 bytes that they touch, each counted once a request. */
  readonly lines: number;
  /** Coalescing efficiency, `idealSectors / sectors`: 1 is the best, also for no accesses. */
  readonly efficiency: number;
  /** Wavefronts that bank conflicts add if the same indices go to shared memory. */
  readonly bankConflicts: number;
  /** Reuse of lines; null unless the option `reuse` was set. */
  readonly reuse: ReuseHistogram | null;
  /** Advice in sentences; empty if there is nothing to gain. It ends with `bankAdvice`. */
  readonly advice: string;
  /** Advice for the same indices in shared memory; empty if no bank conflicts. */
  readonly bankAdvice: string;
}

/**
 * The meaning of indices, and the extent of an analysis.
 * @category Memory access
 */
export interface AccessOptions {
  /** Bytes of an element: a power of two up to 16, or 12; 4 by default. */
  readonly elementBytes?: number;
  /**
   * Byte address of element 0, of which only the remainder by 128 matters: 0 by default, as
   * allocations are aligned. If it is not a multiple of the access size, which faults on a GPU,
   * sectors are counted all the same and the advice says so.
   */
  readonly offset?: number;
  /**
   * Whether to follow the reuse of lines, and the most lines to follow at once; `true` is 8192.
   * `false` by default.
   */
  readonly reuse?: boolean | number;
}

export const SECTOR_BYTES = 32;
export const LINE_BYTES = 128;
export const WARP_LANES = 32;
/** Sizes of elements that can be analysed. */
export const ELEMENT_BYTES: readonly number[] = [1, 2, 4, 8, 12, 16];

const ACTION = "analyse accesses";
const DEFAULT_REUSE_LINES = 8192;
/** Some 500 MB of tables. */
const MAX_REUSE_LINES = 2 ** 22;

/** The position of accesses in lines. */
export interface AccessGeometry {
  readonly elementBytes: number;
  /** Byte of a line at which element 0 begins. */
  readonly offset: number;
  /** Requests for an access of a warp, and the bytes that a lane accesses in each. */
  readonly parts: number;
  readonly accessBytes: number;
  /** Lines to follow for reuse; 0 for none. */
  readonly reuseLines: number;
}

/**
 * Bytes that a lane accesses at once. There is no instruction for 12 bytes (PTX ISA, `ld`: vectors
 * of two or four), so such elements take three accesses of 4 bytes.
 */
export function accessBytesOf(elementBytes: number): number {
  return elementBytes === 12 ? 4 : elementBytes;
}

/** Whether addresses are multiples of the access size, as instructions need them. */
export function isAligned({ offset, accessBytes }: AccessGeometry): boolean {
  return offset % accessBytes === 0;
}

/** Checks the options of an analysis. */
export function accessGeometry(options: AccessOptions): AccessGeometry {
  requireOptions(options, ["elementBytes", "offset", "reuse"], ACTION);
  const { elementBytes = 4, offset = 0, reuse = false } = options;
  requireOneOf(ACTION, "elementBytes", elementBytes, ELEMENT_BYTES);
  requireInteger(ACTION, "offset", offset, 0);
  if (typeof reuse !== "boolean" && typeof reuse !== "number") {
    throw typeError(ACTION, "reuse", "a boolean or a number", reuse);
  }
  if (typeof reuse === "number") requireInteger(ACTION, "reuse", reuse, 1, MAX_REUSE_LINES);
  const accessBytes = accessBytesOf(elementBytes);
  return {
    elementBytes,
    offset: offset % LINE_BYTES,
    parts: elementBytes / accessBytes,
    accessBytes,
    reuseLines: typeof reuse === "number" ? reuse : reuse ? DEFAULT_REUSE_LINES : 0,
  };
}

/** A figure with few digits, for sentences. */
export function decimal(value: number, digits: number = value < 10 ? 2 : 1): string {
  return String(Number(value.toFixed(digits)));
}

/** A share in per cent, with three digits. */
export function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
