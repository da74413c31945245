/**
 * What a replay tells.
 *
 * @module
 */

/** The figures of one trace replayed against one policy; sizes are bytes. */
export interface ReplayResult {
  /** The trace's name. */
  readonly trace: string;
  /** The policy's name. */
  readonly policy: string;
  /**
   * The largest sum of what was asked for and not yet freed. A request that was refused is no part
   * of it.
   */
  readonly peakLive: number;
  /** The most memory that the policy had taken from the layer below. */
  readonly peakReserved: number;
  /** {@linkcode peakReserved} ÷ {@linkcode peakLive}; 1 where both are 0. */
  readonly ratio: number;
  /** Requests to the layer below, the refused ones included. */
  readonly upstreamCalls: number;
  /** Requests to the layer below that followed a refused one within the same allocation. */
  readonly retries: number;
  /** Allocations that were refused. */
  readonly outOfMemory: number;
  /**
   * Time per event that is not a point, in nanoseconds; `null` for models, whose speed means
   * nothing.
   */
  readonly nanosecondsPerOperation: number | null;
}

/** What happened between two points of a trace. */
export interface ReplayStep {
  /** The point that ends it; `null` for what follows the last one. */
  readonly name: string | null;
  /** Events in it, its point not counted. */
  readonly events: number;
  /** Requests to the layer below; those at the policy's creation belong to the first step. */
  readonly upstreamCalls: number;
  /** The largest sum of what was asked for, in bytes. */
  readonly peakLive: number;
  /** The most that was reserved, in bytes. */
  readonly peakReserved: number;
}

/** The figures with what led to them. */
export interface DetailedReplayResult extends ReplayResult {
  /** The steps between points, in order; what follows the last point is one if there is any. */
  readonly steps: readonly ReplayStep[];
  /** Live bytes after each event of the trace. */
  readonly liveOverTime: Float64Array<ArrayBuffer>;
  /** Reserved bytes after each event of the trace. */
  readonly reservedOverTime: Float64Array<ArrayBuffer>;
}

/** The figures alone, as `gridstride memory replay --json` prints them. */
export function replayFigures(result: ReplayResult): ReplayResult {
  const { trace, policy, peakLive, peakReserved, ratio, upstreamCalls, retries, outOfMemory } =
    result;
  return {
    trace,
    policy,
    peakLive,
    peakReserved,
    ratio,
    upstreamCalls,
    retries,
    outOfMemory,
    nanosecondsPerOperation: result.nanosecondsPerOperation,
  };
}
