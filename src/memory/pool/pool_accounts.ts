/**
 * The books of a pool: counters that follow from others, brought up to date by slow operations.
 *
 * @module
 */

import type { BlockHeap } from "./block_heap.ts";
import type * as table from "./block_table.ts";
import { PoolCounters } from "./pool_counters.ts";
import type * as counter from "./pool_counters.ts";

// Copies, as in `pool_engine.ts`.
const UNIT: typeof table.UNIT = 512;
const ACTIVE: typeof counter.ACTIVE = 3;
const ACTIVE_BYTES: typeof counter.ACTIVE_BYTES = 4;
const ALLOCATED_BYTES: typeof counter.ALLOCATED_BYTES = 1;
const ALLOCATION: typeof counter.ALLOCATION = 0;
const INACTIVE_SPLIT: typeof counter.INACTIVE_SPLIT = 5;
const INACTIVE_SPLIT_BYTES: typeof counter.INACTIVE_SPLIT_BYTES = 6;
const RESERVED_BYTES: typeof counter.RESERVED_BYTES = 8;
const SEGMENT_COUNT: typeof counter.SEGMENT_COUNT = 7;
const TOTAL: typeof counter.TOTAL = 2;
const PEAK: typeof counter.PEAK = 4;
const PEAK_ALL: typeof counter.PEAK_ALL = 6;
const HITS: typeof counter.HITS = 72;
const MISSES: typeof counter.MISSES = 74;
const HELD: typeof counter.HELD = 76;
const HELD_BYTES: typeof counter.HELD_BYTES = 78;
const SPLIT: typeof counter.SPLIT = 80;
const SPLIT_BYTES: typeof counter.SPLIT_BYTES = 82;
const SPLIT_TOTAL: typeof counter.SPLIT_TOTAL = 84;
const SPLIT_BYTES_TOTAL: typeof counter.SPLIT_BYTES_TOTAL = 86;
const DRAINED: typeof counter.DRAINED = 88;
const DRAINED_BYTES: typeof counter.DRAINED_BYTES = 90;
const MISSED_BYTES: typeof counter.MISSED_BYTES = 92;
const CEILING: typeof counter.CEILING = 94;
const FLOOR: typeof counter.FLOOR = 97;

// Places of measures.
const COUNT = ALLOCATION << 3;
const REQUESTED = (2 satisfies typeof counter.REQUESTED_BYTES) << 3;
// Adding a constant to a float makes the engine convert it to an integer and back, to be sure that
// it is one; subtracting does not.
const MINUS_ONE = -1;
const RESERVED = RESERVED_BYTES << 3;
const ALLOCATED = ALLOCATED_BYTES << 3;
const IDLE = INACTIVE_SPLIT << 3;
const IDLE_BYTES = INACTIVE_SPLIT_BYTES << 3;

/** Counters, and what they follow from. */
export class PoolAccounts extends PoolCounters {
  readonly #heap: BlockHeap;
  readonly #pendingCounts: [number, number] = [0, 0];
  readonly #pendingBytes: [number, number] = [0, 0];

  /** The books of a pool with these free blocks. */
  constructor(heap: BlockHeap) {
    super();
    this.#heap = heap;
  }

  /** Bytes that are free, in whatever way. */
  get freeBytes(): number {
    return this.current(RESERVED_BYTES) - this.current(ALLOCATED_BYTES);
  }

  /** Begins to count anew. */
  override reset(): void {
    super.reset();
    this.raisePeaks();
    this.raiseInactivePeaks();
  }

  /** Notes memory taken from the device or, below zero, given back. */
  noteReserved(bytes: number, kind: number, isSegment: boolean): void {
    if (bytes > 0) this.raise(RESERVED_BYTES, kind, bytes);
    else this.lower(RESERVED_BYTES, kind, -bytes);
    if (isSegment && bytes > 0) this.raise(SEGMENT_COUNT, kind, 1);
    if (isSegment && bytes < 0) this.lower(SEGMENT_COUNT, kind, 1);
  }

  /** How many blocks the caches have. */
  cachedBlocks(kind: 0 | 1): number {
    return this.values[HELD + kind]! - this.values[COUNT + kind]!;
  }

  /** Their bytes. */
  cachedBytes(kind: 0 | 1): number {
    return this.values[HELD_BYTES + kind]! - this.values[ALLOCATED + kind]!;
  }

  /** Notes that no cached block served a request, so that there is one more. */
  noteMiss(kind: 0 | 1, rounded: number): void {
    const { values } = this;
    values[MISSES + kind]! -= MINUS_ONE;
    values[MISSED_BYTES + kind]! += rounded;
    values[HELD + kind]! -= MINUS_ONE;
    values[HELD_BYTES + kind]! += rounded;
  }

  /** Notes that a block, which is freed, comes into no cache. */
  noteUncached(kind: 0 | 1, rounded: number): void {
    this.values[HELD + kind]! -= 1;
    this.values[HELD_BYTES + kind]! -= rounded;
  }

  /** Notes blocks that leave a cache otherwise than by a hit. */
  noteDrained(kind: 0 | 1, blocks: number, bytes: number): void {
    const { values } = this;
    values[HELD + kind]! -= blocks;
    values[HELD_BYTES + kind]! -= bytes;
    values[DRAINED + kind]! += blocks;
    values[DRAINED_BYTES + kind]! += bytes;
  }

  /** Says what the caches of small blocks have served, which they count. */
  setSmallHits(blocks: number, bytes: number): void {
    this.values[HITS] = blocks;
    this.values[ALLOCATED + TOTAL] = this.values[MISSED_BYTES]! + bytes;
  }

  /**
   * Brings the peaks of small allocations up to date, one of which is new, and says where the next
   * ones begin. So the hot path compares with three numbers and not with six.
   */
  raisePeaks(): void {
    const { values } = this;
    for (let measure = 0; measure < 3; measure++) {
      const at = measure << 3;
      const now = values[at]!;
      const other = values[at + 1]!;
      if (now > values[at + PEAK]!) values[at + PEAK] = now;
      if (now + other > values[at + PEAK_ALL]!) values[at + PEAK_ALL] = now + other;
      values[CEILING + measure] = Math.min(values[at + PEAK]!, values[at + PEAK_ALL]! - other);
    }
  }

  /** The same for the peaks of inactive memory, of which there is most when the least is live. */
  raiseInactivePeaks(): void {
    const { values } = this;
    const blocks = values[SPLIT]! + values[HELD]! - values[COUNT]!;
    const largeBlocks = values[SPLIT + 1]! + values[HELD + 1]! - values[COUNT + 1]!;
    values[FLOOR] = values[COUNT]! - this.#raiseTo(IDLE, blocks, largeBlocks);
    const bytes = values[SPLIT_BYTES]! + values[HELD_BYTES]! - values[ALLOCATED]!;
    const largeBytes = values[SPLIT_BYTES + 1]! + values[HELD_BYTES + 1]! - values[ALLOCATED + 1]!;
    values[FLOOR + 1] = values[ALLOCATED]! - this.#raiseTo(IDLE_BYTES, bytes, largeBytes);
  }

  /** Raises the peaks of a measure to what there is; how much more there may be of the small. */
  #raiseTo(at: number, small: number, large: number): number {
    const { values } = this;
    if (small > values[at + PEAK]!) values[at + PEAK] = small;
    if (large > values[at + PEAK + 1]!) values[at + PEAK + 1] = large;
    const all = small + large;
    if (all > values[at + PEAK_ALL]!) values[at + PEAK_ALL] = all;
    const room = values[at + PEAK]! - small;
    const roomOfAll = values[at + PEAK_ALL]! - all;
    return room < roomOfAll ? room : roomOfAll;
  }

  /** Notes a block that became live other than by a hit among the small, which does it itself. */
  noteTaken(kind: 0 | 1, rounded: number, bytes: number): void {
    this.values[ALLOCATED + TOTAL + kind]! += rounded;
    this.values[REQUESTED + TOTAL + kind]! += bytes;
    this.#raise(0, kind, 1);
    this.#raise(1, kind, rounded);
    this.#raise(2, kind, bytes);
  }

  /** Does as `raise()` does for one of the first three measures. */
  #raise(measure: 0 | 1 | 2, kind: 0 | 1, amount: number): void {
    const { values } = this;
    const at = measure << 3;
    const now = values[at + kind]! - -amount;
    values[at + kind] = now;
    if (now > values[at + PEAK + kind]!) values[at + PEAK + kind] = now;
    const all = now + values[at + 1 - kind]!;
    if (all > values[at + PEAK_ALL]!) values[at + PEAK_ALL] = all;
    // There is less room for small ones when there is more of the large.
    if (kind === 1) {
      values[CEILING + measure] = Math.min(values[at + PEAK]!, values[at + PEAK_ALL]! - now);
    }
  }

  /** Notes a block that became pending or, below zero, is not any more. */
  notePending(kind: number, bytes: number): void {
    this.#pendingCounts[kind as 0 | 1] += Math.sign(bytes);
    this.#pendingBytes[kind as 0 | 1] += bytes;
    this.refreshActive();
  }

  /** Counts free blocks anew. */
  recount(): void {
    this.recountKind(0);
    this.recountKind(1);
  }

  /**
   * Counts the free blocks of a kind anew.
   *
   * Follows every request that no cached block serves, and is written out for that.
   */
  recountKind(kind: 0 | 1): void {
    const heap = this.#heap;
    const { values } = this;
    const blocks = heap.blocks[kind]! - heap.wholeBlocks[kind]!;
    const moreBlocks = blocks - values[SPLIT + kind]!;
    if (moreBlocks !== 0) {
      if (moreBlocks > 0) values[SPLIT_TOTAL + kind]! += moreBlocks;
      values[SPLIT + kind] = blocks;
    }
    const bytes = values[RESERVED + kind]! - values[HELD_BYTES + kind]! -
      this.#pendingBytes[kind]! - heap.wholeUnits[kind]! * UNIT;
    const moreBytes = bytes - values[SPLIT_BYTES + kind]!;
    if (moreBytes !== 0) {
      if (moreBytes > 0) values[SPLIT_BYTES_TOTAL + kind]! += moreBytes;
      values[SPLIT_BYTES + kind] = bytes;
    }
    // What there is at a time follows from these when it is read; only the peaks have to be kept.
    this.raiseInactivePeaks();
  }

  /** Brings the measures of inactive memory up to date. */
  refreshInactive(): void {
    const { values } = this;
    for (const kind of [0, 1] as const) {
      // A block comes into a cache once, and leaves by a hit or otherwise or is still there.
      values[(INACTIVE_SPLIT << 3) + TOTAL + kind] = values[SPLIT_TOTAL + kind]! +
        values[HITS + kind]! + values[DRAINED + kind]! + this.cachedBlocks(kind);
      const hitBytes = values[(ALLOCATED_BYTES << 3) + TOTAL + kind]! -
        values[MISSED_BYTES + kind]!;
      values[(INACTIVE_SPLIT_BYTES << 3) + TOTAL + kind] = values[SPLIT_BYTES_TOTAL + kind]! +
        hitBytes + values[DRAINED_BYTES + kind]! + this.cachedBytes(kind);
      this.set(INACTIVE_SPLIT, kind, values[SPLIT + kind]! + this.cachedBlocks(kind));
      const bytes = values[SPLIT_BYTES + kind]! + this.cachedBytes(kind);
      this.set(INACTIVE_SPLIT_BYTES, kind, bytes);
    }
  }

  /** Brings the measures of active memory up to date. */
  refreshActive(): void {
    for (const kind of [0, 1] as const) {
      this.values[(ALLOCATION << 3) + TOTAL + kind] = this.values[HITS + kind]! +
        this.values[MISSES + kind]!;
      this.#follow(ACTIVE, ALLOCATION, kind, this.#pendingCounts[kind]);
      this.#follow(ACTIVE_BYTES, ALLOCATED_BYTES, kind, this.#pendingBytes[kind]);
    }
  }

  #follow(active: number, allocated: number, kind: 0 | 1, pending: number): void {
    const { values } = this;
    this.set(active, kind, values[(allocated << 3) + kind]! + pending);
    // What somebody has is active, so there never was less of it.
    for (const place of [PEAK + kind, PEAK_ALL]) {
      const at = (active << 3) + place;
      values[at] = Math.max(values[at]!, values[(allocated << 3) + place]!);
    }
    values[(active << 3) + TOTAL + kind] = values[(allocated << 3) + TOTAL + kind]!;
  }
}
