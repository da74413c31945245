/**
 * The statistics of a pool, as its user reads them.
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
  CURRENT,
  HITS,
  INACTIVE_SPLIT,
  INACTIVE_SPLIT_BYTES,
  MISSES,
  PEAK,
  PEAK_ALL,
  type PoolCounters,
  REQUESTED_BYTES,
  RESERVED_BYTES,
  SEGMENT_COUNT,
  TOTAL,
} from "./pool_counters.ts";
import type { PoolEngine } from "./pool_engine.ts";

/** A measure over time. */
export interface Measure {
  /** What there is now. */
  readonly current: number;
  /** The most there was at any time. */
  readonly peak: number;
  /** What came, since the statistics were last reset. */
  readonly allocated: number;
  /** What went since then. */
  readonly freed: number;
}

/** A measure of requests up to 1 MiB, of larger ones, and of both together. */
export interface MeasureBySize {
  /** Of all. */
  readonly all: Measure;
  /** Of requests up to 1 MiB. */
  readonly small: Measure;
  /** Of larger ones. */
  readonly large: Measure;
}

/** How broken up memory is. Both figures are shares, 0 to 1, and 0 where there is no memory. */
export interface Fragmentation {
  /** Of free memory, what is not in its largest block: `1 − largestFree / totalFree`. */
  readonly external: number;
  /** Of reserved memory, what nobody asked for: `1 − requested / reserved`. */
  readonly internal: number;
}

/** The statistics of a pool. All sizes are bytes. */
export interface PoolStatistics {
  // What one asks most.
  /** Bytes that buffers were asked for in all. */
  readonly totalAllocated: number;
  /** Bytes of these that were freed. */
  readonly totalFreed: number;
  /** Bytes that live buffers were asked for. */
  readonly currentUsage: number;
  /** The most that this was. */
  readonly peakUsage: number;
  /** Allocations in all, empty ones too. */
  readonly allocationCount: number;
  /** Of these, those that were freed. */
  readonly deallocationCount: number;
  /** Requests that a cached block of their size served. */
  readonly cacheHits: number;
  /** Requests that none served. */
  readonly cacheMisses: number;
  /** Hits of all requests, 0 to 1; 0 before the first. */
  readonly hitRate: number;

  // What the pool has.
  /** Bytes that live buffers take up, with rounding. */
  readonly allocated: number;
  /** Bytes of free blocks that are kept whole for the next request of their size. */
  readonly cached: number;
  /** Bytes taken from the device. */
  readonly reserved: number;
  /** Bytes of these that are free: cached, pending, and all others. */
  readonly free: number;
  /** Bytes that are freed but that a stream may still use, as far as the pool knows. */
  readonly pending: number;
  /** Bytes of the largest free block. */
  readonly largestFree: number;
  /** How broken up memory is. */
  readonly fragmentation: Fragmentation;
  /** The most that `reserved` was. */
  readonly peakReserved: number;

  // PyTorch's measures.
  /** Allocations that somebody has. */
  readonly allocation: MeasureBySize;
  /** Segments: plain ones; address ranges of mapped memory are not counted. */
  readonly segment: MeasureBySize;
  /** Allocations that somebody has, or that a stream may still use. */
  readonly active: MeasureBySize;
  /** Free blocks beside others in a segment. */
  readonly inactiveSplit: MeasureBySize;
  /** Bytes of allocations, with rounding. */
  readonly allocatedBytes: MeasureBySize;
  /** Bytes taken from the device. */
  readonly reservedBytes: MeasureBySize;
  /** Bytes of active allocations. */
  readonly activeBytes: MeasureBySize;
  /** Bytes of free blocks beside others in a segment. */
  readonly inactiveSplitBytes: MeasureBySize;
  /** Bytes that were asked for. */
  readonly requestedBytes: MeasureBySize;

  // What the pool did.
  /** Requests that neither free memory nor more of the device's served at once. */
  readonly retries: number;
  /** Requests that failed for want of memory. */
  readonly outOfMemory: number;
  /** Waits for streams so that memory becomes available. */
  readonly syncs: number;
  /** Requests to the device to take or give back memory. */
  readonly upstreamCalls: number;
  /** Events recorded to learn what streams are through with. */
  readonly marks: number;
  /** Bytes given back because they stayed free for long. */
  readonly expired: number;
}

function measure(counters: PoolCounters, which: number, kind: 0 | 1): Measure {
  const at = which << 3;
  return {
    current: counters.values[at + CURRENT + kind]!,
    peak: counters.values[at + PEAK + kind]!,
    allocated: counters.since(at + TOTAL + kind),
    freed: counters.goneSince(which, kind),
  };
}

function measureBySize(counters: PoolCounters, which: number): MeasureBySize {
  const small = measure(counters, which, 0);
  const large = measure(counters, which, 1);
  const all = {
    current: small.current + large.current,
    peak: counters.values[(which << 3) + PEAK_ALL]!,
    allocated: small.allocated + large.allocated,
    freed: small.freed + large.freed,
  };
  return { all, small, large };
}

/** Bytes of the largest free block, cached ones included. */
export function largestFree(engine: PoolEngine): number {
  let largest = 0;
  for (const slot of engine.streams.slots()) {
    const block = engine.heap.largest(slot.index);
    if (block !== 0) largest = Math.max(largest, engine.table.units(block) * UNIT);
  }
  return Math.max(largest, engine.cache.largestBytes());
}

function freeOfHeap(heap: BlockHeap): number {
  return heap.freeUnits.reduce((sum, units) => sum + units, 0) * UNIT;
}

/** A share, 0 where there is nothing. */
function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/** The statistics of an engine now. Makes no native call. */
export function poolStatistics(engine: PoolEngine): PoolStatistics {
  const { counters, cache } = engine;
  engine.refreshCounters();
  const requested = measureBySize(counters, REQUESTED_BYTES);
  const allocation = measureBySize(counters, ALLOCATION);
  const allocated = counters.current(ALLOCATED_BYTES);
  const reserved = counters.current(RESERVED_BYTES);
  const pending = counters.current(ACTIVE_BYTES) - allocated;
  const free = reserved - allocated;
  const largest = largestFree(engine);
  const hits = counters.since(HITS) + counters.since(HITS + 1);
  const misses = counters.since(MISSES) + counters.since(MISSES + 1);
  const empty = counters.counted("emptyAllocations");
  const emptyFreed = counters.counted("emptyFrees");
  const joined = freeOfHeap(engine.heap) + cache.bytes;
  return {
    totalAllocated: requested.all.allocated,
    totalFreed: requested.all.freed,
    currentUsage: requested.all.current,
    peakUsage: requested.all.peak,
    allocationCount: allocation.all.allocated + empty,
    deallocationCount: allocation.all.freed + emptyFreed,
    cacheHits: hits,
    cacheMisses: misses,
    hitRate: share(hits, hits + misses),
    allocated,
    cached: cache.bytes,
    reserved,
    free,
    pending,
    largestFree: largest,
    fragmentation: {
      external: share(joined - largest, joined),
      internal: share(reserved - requested.all.current, reserved),
    },
    peakReserved: counters.peak(RESERVED_BYTES),
    allocation,
    segment: measureBySize(counters, SEGMENT_COUNT),
    active: measureBySize(counters, ACTIVE),
    inactiveSplit: measureBySize(counters, INACTIVE_SPLIT),
    allocatedBytes: measureBySize(counters, ALLOCATED_BYTES),
    reservedBytes: measureBySize(counters, RESERVED_BYTES),
    activeBytes: measureBySize(counters, ACTIVE_BYTES),
    inactiveSplitBytes: measureBySize(counters, INACTIVE_SPLIT_BYTES),
    requestedBytes: requested,
    retries: counters.counted("retries"),
    outOfMemory: counters.counted("outOfMemory"),
    syncs: counters.counted("syncs"),
    upstreamCalls: counters.counted("upstreamCalls"),
    marks: counters.counted("marks"),
    expired: counters.counted("expired"),
  };
}
