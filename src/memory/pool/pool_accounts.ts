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
const CACHED: typeof counter.CACHED = 76;
const CACHED_BYTES: typeof counter.CACHED_BYTES = 78;
const SPLIT: typeof counter.SPLIT = 80;
const SPLIT_BYTES: typeof counter.SPLIT_BYTES = 82;
const SPLIT_TOTAL: typeof counter.SPLIT_TOTAL = 84;
const SPLIT_BYTES_TOTAL: typeof counter.SPLIT_BYTES_TOTAL = 86;
const DRAINED: typeof counter.DRAINED = 88;
const DRAINED_BYTES: typeof counter.DRAINED_BYTES = 90;
const MISSED_BYTES: typeof counter.MISSED_BYTES = 92;

// Places of measures.
const COUNT = ALLOCATION << 3;
const REQUESTED = (2 satisfies typeof counter.REQUESTED_BYTES) << 3;
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

  /** Notes memory taken from the device or, below zero, given back. */
  noteReserved(bytes: number, kind: number, isSegment: boolean): void {
    if (bytes > 0) this.raise(RESERVED_BYTES, kind, bytes);
    else this.lower(RESERVED_BYTES, kind, -bytes);
    if (isSegment && bytes > 0) this.raise(SEGMENT_COUNT, kind, 1);
    if (isSegment && bytes < 0) this.lower(SEGMENT_COUNT, kind, 1);
  }

  /** Notes that no cached block served a request. */
  noteMiss(kind: 0 | 1, rounded: number): void {
    this.values[MISSES + kind]! += 1;
    this.values[MISSED_BYTES + kind]! += rounded;
  }

  /** Notes a block that became live other than by a hit among the small, which does it itself. */
  noteTaken(kind: 0 | 1, rounded: number, bytes: number): void {
    this.values[ALLOCATED + TOTAL + kind]! += rounded;
    this.values[REQUESTED + TOTAL + kind]! += bytes;
    this.#raise(COUNT, kind, 1);
    this.#raise(ALLOCATED, kind, rounded);
    this.#raise(REQUESTED, kind, bytes);
  }

  /** Does as `raise()` does for a place. */
  #raise(at: number, kind: 0 | 1, amount: number): void {
    const { values } = this;
    const now = values[at + kind]! + amount;
    values[at + kind] = now;
    if (now > values[at + PEAK + kind]!) values[at + PEAK + kind] = now;
    const all = now + values[at + 1 - kind]!;
    if (all > values[at + PEAK_ALL]!) values[at + PEAK_ALL] = all;
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
    const cachedBytes = values[CACHED_BYTES + kind]!;
    const bytes = values[RESERVED + kind]! - values[ALLOCATED + kind]! -
      this.#pendingBytes[kind]! - heap.wholeUnits[kind]! * UNIT - cachedBytes;
    const moreBytes = bytes - values[SPLIT_BYTES + kind]!;
    if (moreBytes !== 0) {
      if (moreBytes > 0) values[SPLIT_BYTES_TOTAL + kind]! += moreBytes;
      values[SPLIT_BYTES + kind] = bytes;
    }
    // What there is at a time follows from these when it is read; only the peaks have to be kept.
    const other = 1 - kind;
    const count = blocks + values[CACHED + kind]!;
    if (count > values[IDLE + PEAK + kind]!) values[IDLE + PEAK + kind] = count;
    const countAll = count + values[SPLIT + other]! + values[CACHED + other]!;
    if (countAll > values[IDLE + PEAK_ALL]!) values[IDLE + PEAK_ALL] = countAll;
    const idle = bytes + cachedBytes;
    if (idle > values[IDLE_BYTES + PEAK + kind]!) values[IDLE_BYTES + PEAK + kind] = idle;
    const idleAll = idle + values[SPLIT_BYTES + other]! + values[CACHED_BYTES + other]!;
    if (idleAll > values[IDLE_BYTES + PEAK_ALL]!) values[IDLE_BYTES + PEAK_ALL] = idleAll;
  }

  /** Brings the measures of inactive memory up to date. */
  refreshInactive(): void {
    const { values } = this;
    for (let kind = 0; kind < 2; kind++) {
      // A block comes into a cache once, and leaves by a hit or otherwise or is still there.
      values[(INACTIVE_SPLIT << 3) + TOTAL + kind] = values[SPLIT_TOTAL + kind]! +
        values[HITS + kind]! + values[DRAINED + kind]! + values[CACHED + kind]!;
      const hitBytes = values[(ALLOCATED_BYTES << 3) + TOTAL + kind]! -
        values[MISSED_BYTES + kind]!;
      values[(INACTIVE_SPLIT_BYTES << 3) + TOTAL + kind] = values[SPLIT_BYTES_TOTAL + kind]! +
        hitBytes + values[DRAINED_BYTES + kind]! + values[CACHED_BYTES + kind]!;
      this.set(INACTIVE_SPLIT, kind, values[SPLIT + kind]! + values[CACHED + kind]!);
      const bytes = values[SPLIT_BYTES + kind]! + values[CACHED_BYTES + kind]!;
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
