/**
 * What a pool counts, in one typed array: counting costs a few nanoseconds and reading no native
 * call.
 *
 * The measures are PyTorch's (`torch.cuda.memory_stats`), each for small and for large requests:
 * what there is now, what there was at most, and what came in all; what went is the difference.
 *
 * @module
 */

/** Measure: allocations that somebody has. */
export const ALLOCATION = 0;
/** Measure: bytes that somebody has, with rounding. */
export const ALLOCATED_BYTES = 1;
/** Measure: bytes that somebody asked for. */
export const REQUESTED_BYTES = 2;
/** Measure: allocations, with those that are freed but that a stream may still use. */
export const ACTIVE = 3;
/** Measure: the same in bytes. */
export const ACTIVE_BYTES = 4;
/** Measure: free blocks beside others in their segment. */
export const INACTIVE_SPLIT = 5;
/** Measure: the same in bytes. */
export const INACTIVE_SPLIT_BYTES = 6;
/** Measure: segments. */
export const SEGMENT_COUNT = 7;
/** Measure: bytes taken from the device. */
export const RESERVED_BYTES = 8;
/** The number of measures. */
export const MEASURES = 9;

/** Places of a measure, from `measure << 3` on: what there is, small and large. */
export const CURRENT = 0;
/** What came in all, small and large. */
export const TOTAL = 2;
/** Most there was, small and large. */
export const PEAK = 4;
/** Most there was of both together. */
export const PEAK_ALL = 6;

/** Counters that are one number each; their places follow the measures. */
export const COUNTERS = [
  "hits",
  "misses",
  "retries",
  "outOfMemory",
  "syncs",
  "upstreamCalls",
  "marks",
  "emptyAllocations",
  "emptyFrees",
  "expired",
] as const;

/** The name of a counter. */
export type CounterName = typeof COUNTERS[number];

const FIRST_COUNTER = MEASURES << 3;
/** Place of the number of requests that a cached block served. */
export const HITS: number = FIRST_COUNTER;
/** Place of the number of requests that none served. */
export const MISSES: number = FIRST_COUNTER + 1;

/** The counters of a pool. */
export class PoolCounters {
  /** The numbers. */
  readonly values: Float64Array<ArrayBuffer> = new Float64Array(FIRST_COUNTER + COUNTERS.length);

  /** Adds to a measure of a kind, 0 small or 1 large. */
  raise(measure: number, kind: number, amount: number): void {
    this.values[(measure << 3) + TOTAL + kind]! += amount;
    this.set(measure, kind, this.values[(measure << 3) + CURRENT + kind]! + amount);
  }

  /** Takes from a measure. */
  lower(measure: number, kind: number, amount: number): void {
    this.values[(measure << 3) + CURRENT + kind]! -= amount;
  }

  /** Sets what there is of a measure, and what there was at most. */
  set(measure: number, kind: number, amount: number): void {
    const { values } = this;
    const at = measure << 3;
    values[at + CURRENT + kind] = amount;
    if (amount > values[at + PEAK + kind]!) values[at + PEAK + kind] = amount;
    const all = values[at + CURRENT]! + values[at + CURRENT + 1]!;
    if (all > values[at + PEAK_ALL]!) values[at + PEAK_ALL] = all;
  }

  /** What there is of a measure. */
  current(measure: number): number {
    return this.values[(measure << 3) + CURRENT]! + this.values[(measure << 3) + CURRENT + 1]!;
  }

  /** Most there was of a measure. */
  peak(measure: number): number {
    return this.values[(measure << 3) + PEAK_ALL]!;
  }

  /** Adds to a counter, one by default. */
  count(counter: CounterName, amount = 1): void {
    this.values[FIRST_COUNTER + COUNTERS.indexOf(counter)]! += amount;
  }

  /** A counter. */
  counted(counter: CounterName): number {
    return this.values[FIRST_COUNTER + COUNTERS.indexOf(counter)]!;
  }

  /** Forgets what was: peaks become what there is now, totals too, counters 0. */
  reset(): void {
    const { values } = this;
    for (let measure = 0; measure < MEASURES; measure++) {
      const at = measure << 3;
      for (const kind of [0, 1]) {
        values[at + TOTAL + kind] = values[at + CURRENT + kind]!;
        values[at + PEAK + kind] = values[at + CURRENT + kind]!;
      }
      values[at + PEAK_ALL] = this.current(measure);
    }
    values.fill(0, FIRST_COUNTER);
  }
}
