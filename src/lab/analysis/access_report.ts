/**
 * What is said of how memory is accessed: the words that the analysis, layouts, pictures and the
 * command line share.
 *
 * Indices are in the order of the lanes: index `i` belongs to lane `i % 32` of request
 * `floor(i / 32)`. Nothing here depends on a device: a sector is 32 bytes, a line four sectors, and
 * shared memory has 32 banks of 4 bytes on every GPU from compute capability 7.5 on (CUDA C++
 * Programming Guide, "Maximize Memory Throughput").
 *
 * @module
 */

/**
 * The kind of a pattern.
 *
 * - `empty`: there are no indices.
 * - `broadcast`: all of them, two at least, are one.
 * - `sequential`: each is one more than the one before, or there is only one; `reversed`: one less.
 * - `strided`: each is as much more, or less, than the one before.
 * - `blocked`: runs of equal length of a regular pattern, with regular jumps between them: the rows
 *   of a tile.
 * - `random`: none of these.
 */
export type AccessKind =
  | "empty"
  | "broadcast"
  | "sequential"
  | "reversed"
  | "strided"
  | "blocked"
  | "random";

/** The shape of a blocked pattern, in elements. */
export interface TileShape {
  /** Accesses of a run. */
  readonly columns: number;
  /** Runs until the pattern begins elsewhere; all of them where it never does. */
  readonly rows: number;
  /** From the first element of a run to the first of the next; negative where they descend. */
  readonly pitch: number;
}

/**
 * How often the same line is accessed again, and after how many others.
 *
 * A request accesses each line that it touches once, in the order of its lanes: `firstTouches` and
 * the counts together are the report's `lines`.
 */
export interface ReuseHistogram {
  /** Bytes of what is counted as one: a line of 128 bytes. */
  readonly granularity: number;
  /**
   * Accesses by reuse distance, the number of different lines accessed in between: entry 0 has
   * distance 0, entry `k` has 2^(k-1) to 2^k − 1. Estimated from a sample where `sampled` is less
   * than 1.
   */
  readonly counts: readonly number[];
  /** Accesses to lines that were not accessed before. */
  readonly firstTouches: number;
  /** Share of the lines that were followed: 1 is all of them. */
  readonly sampled: number;
  /**
   * Standard error of a share read from the histogram, from the size of the sample; 0 where all
   * lines were followed. Where a few lines take many of the accesses and none of these is in the
   * sample, it is too small: what was not drawn leaves no trace. Distances are estimated, too: near
   * the edge of an entry they may be counted in the one beside it. After Waldspurger et al.,
   * "Efficient MRC Construction with SHARDS" (FAST 2015).
   */
  readonly standardError: number;
}

/** What the analysis of a pattern says. */
export interface AccessReport {
  /** The kind, without regard to outliers. */
  readonly kind: AccessKind;
  /** Elements from one access to the next, signed; null where there is no such number. */
  readonly stride: number | null;
  /**
   * Share of the accesses that follow the pattern, 0.5 to 1; for `random` the share that does not
   * follow the best pattern there is.
   */
  readonly confidence: number;
  /**
   * Accesses that do not follow the pattern; 0 for `random`.
   *
   * An access follows a stride if it continues the line, one stride an access, of one of the two
   * accesses before it or of the last that followed, or is one stride after the last that followed.
   * So a stray access counts once, in the place of another or between two, and so does a jump after
   * which the pattern goes on elsewhere. The first access of a run or tile follows where it is as
   * many accesses and elements behind the others as they are behind each other.
   */
  readonly outliers: number;
  /** The shape of a blocked pattern; null for every other. */
  readonly tile: TileShape | null;
  /** Indices that were analysed. */
  readonly count: number;
  /** Requests that warps make for them to global memory. */
  readonly requests: number;
  /** Sectors of 32 bytes that these requests touch, each counted once a request. */
  readonly sectors: number;
  /** Sectors that they would touch if the same bytes lay side by side, aligned. */
  readonly idealSectors: number;
  /** Lines of 128 bytes that they touch, each counted once a request. */
  readonly lines: number;
  /** Coalescing efficiency: `idealSectors / sectors`; 1 is the best there is, also for no accesses. */
  readonly efficiency: number;
  /**
   * Wavefronts beyond those of an access without conflicts, if the same indices went to shared
   * memory.
   */
  readonly bankConflicts: number;
  /** How lines are used again; null where it was not asked for. */
  readonly reuse: ReuseHistogram | null;
  /** What to do, in sentences; empty where there is nothing to gain. `bankAdvice` ends it. */
  readonly advice: string;
  /** What to do if the same indices went to shared memory; empty where no bank conflicts. */
  readonly bankAdvice: string;
}

/** How indices are to be understood. */
export interface AccessOptions {
  /** Bytes of an element, which an index counts: a power of two up to 16, or 12; 4 by default. */
  readonly elementBytes?: number;
  /**
   * Byte at which element 0 lies, of which only the remainder by 128 matters: 0 by default, as
   * allocations are aligned. Where it is no multiple of what is accessed at once, which faults on a
   * GPU, sectors are counted all the same and the advice says so.
   */
  readonly offset?: number;
  /**
   * Whether to follow how lines are used again, and at most how many of them at once; `true` is
   * 8192. `false` by default.
   */
  readonly reuse?: boolean | number;
}
