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

/** Places of the requests that a cached block served, small and large. */
export const HITS = 72;
/** Places of the requests that none served, small and large. */
export const MISSES = 74;
/** Places of the number of blocks that somebody has or a cache, small and large. */
export const HELD = 76;
/** Places of their bytes. */
export const HELD_BYTES = 78;
/** Places of the number of free blocks, but for cached ones, beside others in a segment. */
export const SPLIT = 80;
/** Places of their bytes. */
export const SPLIT_BYTES = 82;
/** Places of what {@linkcode SPLIT} grew by in all. */
export const SPLIT_TOTAL = 84;
/** Places of what {@linkcode SPLIT_BYTES} grew by in all. */
export const SPLIT_BYTES_TOTAL = 86;
/** Places of the blocks that left a cache otherwise than by a hit. */
export const DRAINED = 88;
/** Places of their bytes. */
export const DRAINED_BYTES = 90;
/** Places of the bytes of requests that no cached block served, with rounding. */
export const MISSED_BYTES = 92;
/**
 * Places of the count, bytes and requested bytes of small allocations above which one of their
 * peaks is new.
 */
export const CEILING = 94;
/**
 * Places of the count and bytes of small allocations below which a peak of inactive memory is new.
 */
export const FLOOR = 97;
const FIRST_COUNTER = 99;
const AFTER_COUNTERS = FIRST_COUNTER + COUNTERS.length;

/** The counters of a pool. */
export class PoolCounters {
  /** The numbers, counted from the beginning. */
  readonly values: Float64Array<ArrayBuffer> = new Float64Array(AFTER_COUNTERS);
  /** What they were when the statistics were last reset. */
  readonly #base = new Float64Array(AFTER_COUNTERS);

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

  /** Both kinds of a pair of places. */
  both(place: number): number {
    return this.values[place]! + this.values[place + 1]!;
  }

  /** Adds to a counter, one by default. */
  count(counter: CounterName, amount = 1): void {
    this.values[FIRST_COUNTER + COUNTERS.indexOf(counter)]! += amount;
  }

  /** A counter, since the last reset. */
  counted(counter: CounterName): number {
    return this.since(FIRST_COUNTER + COUNTERS.indexOf(counter));
  }

  /** How much a number that only grows has grown since the last reset. */
  since(place: number): number {
    return this.values[place]! - this.#base[place]!;
  }

  /** What went of a measure since the last reset: what came less what there is. */
  goneSince(measure: number, kind: number): number {
    const at = (measure << 3) + kind;
    return this.since(at + TOTAL) - this.since(at + CURRENT);
  }

  /** Begins to count anew; what there is now stays, and peaks begin with it. */
  reset(): void {
    const { values } = this;
    this.#base.set(values);
    for (let measure = 0; measure < MEASURES; measure++) {
      const at = measure << 3;
      values[at + PEAK] = values[at + CURRENT]!;
      values[at + PEAK + 1] = values[at + CURRENT + 1]!;
      values[at + PEAK_ALL] = this.current(measure);
    }
  }
}
