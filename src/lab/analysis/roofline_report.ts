/**
 * The words of the roofline model.
 *
 * @module
 */

/** What bounds a kernel. */
export type RooflineBound = "memory" | "compute" | "latency";

/** A further roof: another level of memory, or another precision. */
export interface RooflineCeiling {
  /** What it is, such as `"L2 cache"` or `"tensor cores, float16"`. */
  readonly name: string;
  /** Bytes per second of a level of memory; none for a precision. */
  readonly bandwidth?: number;
  /** Operations per second of a precision; none for a level of memory. */
  readonly throughput?: number;
  /** Bytes that the kernel moves at this level of memory; those of the kernel by default. */
  readonly bytes?: number;
}

/** What a kernel does, and the roofs over it. */
export interface RooflineOptions {
  /** Bytes that it moves from and to memory, both counted. */
  readonly bytes: number;
  /** Operations that it does; a multiply-add is two. */
  readonly operations: number;
  /** Seconds that it takes, where that was measured. */
  readonly seconds?: number;
  /** The memory's peak in bytes per second: `peakThroughput(info).bandwidth`, or a copy's. */
  readonly bandwidth: number;
  /** The peak in operations per second: `peakThroughput(info).operations.float32`, for one. */
  readonly throughput: number;
  /** Further roofs to compare with. */
  readonly ceilings?: readonly RooflineCeiling[];
}

/** How a kernel stands to one further roof. */
export interface CeilingStanding {
  /** The roof's name. */
  readonly name: string;
  /** Operations per byte at this level of memory, or of the kernel. */
  readonly intensity: number;
  /** Where the roof meets the main one of the other kind, in operations per byte. */
  readonly ridge: number;
  /** Operations per second under this roof and the main one of the other kind. */
  readonly attainable: number;
  /** Share of the roof that is reached; null where no time was measured. */
  readonly share: number | null;
}

/** Where a kernel stands. */
export interface Roofline {
  /** Arithmetic intensity: operations per byte. 0 of a copy, `Infinity` where no byte is moved. */
  readonly intensity: number;
  /** Operations per byte at which the roofs meet; a kernel below it is bounded by memory. */
  readonly ridge: number;
  /** Operations per second that the roofs allow at this intensity. */
  readonly attainable: number;
  /** The least seconds that the roofs allow. */
  readonly secondsAtRoof: number;
  /**
   * What bounds it: the roof over it, `"memory"` or `"compute"`; `"latency"` where it was measured
   * and reaches neither 60 % of the bandwidth nor 60 % of the arithmetic, so that neither is what
   * it waits for.
   */
  readonly bound: RooflineBound;
  /** Operations per second that were measured; null where no time was. */
  readonly achieved: number | null;
  /** Bytes per second that were measured; null where no time was. */
  readonly achievedBandwidth: number | null;
  /** Share of the roof that is reached, `secondsAtRoof / seconds`; null where no time was measured. */
  readonly share: number | null;
  /** How it stands to the further roofs, in their order. */
  readonly ceilings: readonly CeilingStanding[];
  /** All that in a sentence or two. */
  readonly sentence: string;
}
