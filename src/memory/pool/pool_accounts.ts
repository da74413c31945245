/**
 * The books of a pool: counters that follow from others, brought up to date by slow operations.
 *
 * @module
 */

import type { BlockHeap } from "./block_heap.ts";
import { UNIT } from "./block_table.ts";
import {
  ACTIVE,
  ACTIVE_BYTES,
  ALLOCATED_BYTES,
  ALLOCATION,
  CACHED,
  CACHED_BYTES,
  DRAINED,
  DRAINED_BYTES,
  HITS,
  INACTIVE_SPLIT,
  INACTIVE_SPLIT_BYTES,
  MISSED_BYTES,
  MISSES,
  PEAK,
  PEAK_ALL,
  PoolCounters,
  RESERVED_BYTES,
  SEGMENT_COUNT,
  SPLIT,
  SPLIT_BYTES,
  SPLIT_BYTES_TOTAL,
  SPLIT_TOTAL,
  TOTAL,
} from "./pool_counters.ts";

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

  /** Notes a block that became pending or, below zero, is not any more. */
  notePending(kind: number, bytes: number): void {
    this.#pendingCounts[kind as 0 | 1] += Math.sign(bytes);
    this.#pendingBytes[kind as 0 | 1] += bytes;
    this.refreshActive();
  }

  /** Counts free blocks anew. */
  recount(): void {
    const heap = this.#heap;
    const { values } = this;
    for (let kind: 0 | 1 = 0; kind < 2; kind++) {
      const active = values[(ALLOCATED_BYTES << 3) + kind]! + this.#pendingBytes[kind]!;
      this.#change(SPLIT, SPLIT_TOTAL, kind, heap.blocks[kind]! - heap.wholeBlocks[kind]!);
      const bytes = values[(RESERVED_BYTES << 3) + kind]! - active -
        heap.wholeUnits[kind]! * UNIT - values[CACHED_BYTES + kind]!;
      this.#change(SPLIT_BYTES, SPLIT_BYTES_TOTAL, kind, bytes);
    }
    this.refreshInactive();
  }

  #change(place: number, total: number, kind: number, now: number): void {
    const { values } = this;
    const before = values[place + kind]!;
    if (now > before) values[total + kind]! += now - before;
    values[place + kind] = now;
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
