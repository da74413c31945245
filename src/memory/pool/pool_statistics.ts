/**
 * The counters of a pool, and its statistics.
 *
 * The measures are those of PyTorch's `torch.cuda.memory_stats`, each for small and large requests:
 * the current amount, the peak, and the total that came. The rest of the total is gone.
 *
 * @module
 */

import type { BlockPool } from "./block_pool.ts";
import { UNIT } from "./block_table.ts";
import type { FreeBlocks } from "./free_blocks.ts";

/**
 * A measure of requests up to 1 MiB, of larger ones, and of both together.
 * @category Memory
 */
export interface MeasureBySize {
  /** All requests. */
  readonly all: {
    /** The amount now. */
    readonly current: number;
    /** The largest amount so far. */
    readonly peak: number;
    /** The amount added since the statistics were last reset. */
    readonly allocated: number;
    /** The amount removed since then. */
    readonly freed: number;
  };
  /** Requests up to 1 MiB. */
  readonly small: MeasureBySize["all"];
  /** Larger requests. */
  readonly large: MeasureBySize["all"];
}

/**
 * The statistics of a pool. All sizes are bytes.
 * @category Memory
 */
export interface PoolStatistics {
  /** Bytes requested in total. */
  readonly totalAllocated: number;
  /** Bytes of these that were freed. */
  readonly totalFreed: number;
  /** Bytes requested for live buffers. */
  readonly currentUsage: number;
  /** The peak of `currentUsage`. */
  readonly peakUsage: number;
  /** Allocations in total, including empty ones. */
  readonly allocationCount: number;
  /** Allocations that were freed. */
  readonly deallocationCount: number;
  /** Requests served by a cached block of their size. */
  readonly cacheHits: number;
  /** All other requests. */
  readonly cacheMisses: number;
  /**
   * Hits per request, 0 to 1; 0 before the first. A hit reuses memory of its own stream. A program
   * that makes a stream per request has no hits, but reuses the memory of finished streams as well:
   * see `upstreamCalls`.
   */
  readonly hitRate: number;

  /** Bytes of live buffers, including rounding. */
  readonly allocated: number;
  /** Bytes of free blocks that are kept whole for the next request of their size. */
  readonly cached: number;
  /** Bytes taken from the device. */
  readonly reserved: number;
  /** Bytes of these that are free: cached, pending and all others. */
  readonly free: number;
  /** Freed bytes that a stream may still use, as far as the pool knows. */
  readonly pending: number;
  /** Bytes of the largest free block. */
  readonly largestFree: number;
  /** Shares, 0 to 1, of memory that is broken up; 0 if there is no memory. */
  readonly fragmentation: {
    /** Free memory outside its largest block: `1 − largestFree / totalFree`. */
    readonly external: number;
    /** Reserved memory that is not requested: `1 − requested / reserved`. */
    readonly internal: number;
  };
  /** The peak of `reserved`. */
  readonly peakReserved: number;

  /** Live allocations. */
  readonly allocation: MeasureBySize;
  /** Plain segments; address ranges of mapped memory are not counted. */
  readonly segment: MeasureBySize;
  /** Allocations that are live or that a stream may still use. */
  readonly active: MeasureBySize;
  /** Free blocks beside others in a segment. */
  readonly inactiveSplit: MeasureBySize;
  /** Bytes of live allocations, including rounding. */
  readonly allocatedBytes: MeasureBySize;
  /** Bytes taken from the device. */
  readonly reservedBytes: MeasureBySize;
  /** Bytes of active allocations. */
  readonly activeBytes: MeasureBySize;
  /** Bytes of free blocks beside others in a segment. */
  readonly inactiveSplitBytes: MeasureBySize;
  /** Requested bytes of live allocations. */
  readonly requestedBytes: MeasureBySize;

  /** Requests that neither free memory nor growth served at once. */
  readonly retries: number;
  /** Requests that failed for lack of memory. */
  readonly outOfMemory: number;
  /** Waits for streams to make memory available. */
  readonly syncs: number;
  /** Calls to the device that take or return memory. */
  readonly upstreamCalls: number;
  /** Events recorded to learn the progress of streams. */
  readonly marks: number;
  /** Bytes returned to the device because they stayed free for long. */
  readonly expired: number;
}

// The measures; each has eight places, from `measure << 3` on.
const ALLOCATION = 0;
const ALLOCATED_BYTES = 1;
const REQUESTED_BYTES = 2;
const ACTIVE = 3;
const ACTIVE_BYTES = 4;
const INACTIVE = 5;
const INACTIVE_BYTES = 6;
const SEGMENT = 7;
const RESERVED_BYTES = 8;
const MEASURES = 9;

// Places of a measure. The current amounts come first; each pair is small and large.
const TOTAL = 2;
const PEAK = 4;
const PEAK_ALL = 6;

// Counters of one number each follow the measures.
const COUNTERS = [
  "hits",
  "retries",
  "outOfMemory",
  "syncs",
  "upstreamCalls",
  "marks",
  "emptyAllocations",
  "emptyFrees",
  "expired",
] as const;
const FIRST_COUNTER = MEASURES << 3;

type Kind = 0 | 1;

/** Adds to a measure at a place. */
function raise(values: Float64Array<ArrayBuffer>, at: number, kind: Kind, amount: number): void {
  const now = values[at + kind]! + amount;
  const all = now + values[at + 1 - kind]!;
  values[at + kind] = now;
  values[at + TOTAL + kind]! += amount;
  if (now > values[at + PEAK + kind]!) values[at + PEAK + kind] = now;
  if (all > values[at + PEAK_ALL]!) values[at + PEAK_ALL] = all;
}

/** The counters of a pool. Kind 0 stands for small requests, 1 for large ones. */
export class PoolCounters {
  readonly #heap: FreeBlocks;
  readonly #values = new Float64Array(FIRST_COUNTER + COUNTERS.length);
  readonly #base = new Float64Array(FIRST_COUNTER + COUNTERS.length);
  // Pending blocks, and free blocks outside caches beside others in a segment.
  readonly #pendingBlocks: [number, number] = [0, 0];
  readonly #pendingBytes: [number, number] = [0, 0];
  readonly #splitBlocks: [number, number] = [0, 0];
  readonly #splitBytes: [number, number] = [0, 0];

  constructor(heap: FreeBlocks) {
    this.#heap = heap;
  }

  get liveBlocks(): number {
    return this.#current(ALLOCATION);
  }

  get allocatedBytes(): number {
    return this.#current(ALLOCATED_BYTES);
  }

  get peakAllocatedBytes(): number {
    return this.#values[(ALLOCATED_BYTES << 3) + PEAK_ALL]!;
  }

  get requestedBytes(): number {
    return this.#current(REQUESTED_BYTES);
  }

  get reservedBytes(): number {
    return this.#current(RESERVED_BYTES);
  }

  get peakReservedBytes(): number {
    return this.#values[(RESERVED_BYTES << 3) + PEAK_ALL]!;
  }

  reservedOf(kind: Kind): number {
    return this.#values[(RESERVED_BYTES << 3) + kind]!;
  }

  get freeBytes(): number {
    return this.reservedBytes - this.allocatedBytes;
  }

  cachedBlocks(kind: Kind): number {
    return this.#values[(INACTIVE << 3) + kind]! - this.#splitBlocks[kind];
  }

  cachedBytes(kind: Kind): number {
    return this.#values[(INACTIVE_BYTES << 3) + kind]! - this.#splitBytes[kind];
  }

  count(counter: typeof COUNTERS[number], amount = 1): void {
    this.#values[FIRST_COUNTER + COUNTERS.indexOf(counter)]! += amount;
  }

  counted(counter: typeof COUNTERS[number]): number {
    return this.#since(FIRST_COUNTER + COUNTERS.indexOf(counter));
  }

  noteAllocated(kind: Kind, bytes: number, requested: number): void {
    const values = this.#values;
    raise(values, ALLOCATION << 3, kind, 1);
    raise(values, ALLOCATED_BYTES << 3, kind, bytes);
    raise(values, REQUESTED_BYTES << 3, kind, requested);
    if (this.#pendingBlocks[0] + this.#pendingBlocks[1] !== 0) this.#followActive();
  }

  noteFreed(kind: Kind, bytes: number, requested: number): void {
    const values = this.#values;
    values[(ALLOCATION << 3) + kind]!--;
    values[(ALLOCATED_BYTES << 3) + kind]! -= bytes;
    values[(REQUESTED_BYTES << 3) + kind]! -= requested;
  }

  noteHit(kind: Kind, bytes: number): void {
    this.#values[FIRST_COUNTER]!++;
    this.noteUncached(kind, 1, bytes);
  }

  noteCached(kind: Kind, bytes: number): void {
    raise(this.#values, INACTIVE << 3, kind, 1);
    raise(this.#values, INACTIVE_BYTES << 3, kind, bytes);
  }

  noteUncached(kind: Kind, blocks: number, bytes: number): void {
    const values = this.#values;
    values[(INACTIVE << 3) + kind]! -= blocks;
    values[(INACTIVE_BYTES << 3) + kind]! -= bytes;
  }

  /** Counts a block that becomes pending or, with negative bytes, stops being it. */
  notePending(kind: Kind, bytes: number): void {
    this.#pendingBlocks[kind] += Math.sign(bytes);
    this.#pendingBytes[kind] += bytes;
    this.#followActive();
  }

  noteReserved(kind: Kind, bytes: number, isSegment: boolean): void {
    this.#add(RESERVED_BYTES, kind, bytes);
    if (isSegment) this.#add(SEGMENT, kind, Math.sign(bytes));
  }

  /** Counts the free blocks outside caches again, of one kind or of both. */
  recount(kind?: Kind): void {
    if (kind === undefined) {
      this.recount(0);
      this.recount(1);
      return;
    }
    const heap = this.#heap;
    const blocks = heap.blocks[kind] - heap.wholeBlocks[kind];
    const bytes = this.reservedOf(kind) - this.#values[(ALLOCATED_BYTES << 3) + kind]! -
      this.cachedBytes(kind) - this.#pendingBytes[kind] - heap.wholeUnits[kind] * UNIT;
    this.#add(INACTIVE, kind, blocks - this.#splitBlocks[kind]);
    this.#add(INACTIVE_BYTES, kind, bytes - this.#splitBytes[kind]);
    this.#splitBlocks[kind] = blocks;
    this.#splitBytes[kind] = bytes;
  }

  reset(): void {
    this.recount();
    this.#followActive();
    const values = this.#values;
    this.#base.set(values);
    for (let measure = 0; measure < MEASURES; measure++) {
      const at = measure << 3;
      values[at + PEAK] = values[at]!;
      values[at + PEAK + 1] = values[at + 1]!;
      values[at + PEAK_ALL] = this.#current(measure);
    }
  }

  statistics(pool: BlockPool): PoolStatistics {
    this.#followActive();
    this.recount();
    const requested = this.#measureBySize(REQUESTED_BYTES);
    const allocation = this.#measureBySize(ALLOCATION);
    const { allocatedBytes: allocated, reservedBytes: reserved } = this;
    const largestFree = pool.largestFree();
    const hits = this.counted("hits");
    const requests = allocation.all.allocated;
    const cached = this.cachedBytes(0) + this.cachedBytes(1);
    const usable = this.#heap.freeUnits.reduce((sum, units) => sum + units, 0) * UNIT + cached;
    return {
      totalAllocated: requested.all.allocated,
      totalFreed: requested.all.freed,
      currentUsage: requested.all.current,
      peakUsage: requested.all.peak,
      allocationCount: requests + this.counted("emptyAllocations"),
      deallocationCount: allocation.all.freed + this.counted("emptyFrees"),
      cacheHits: hits,
      cacheMisses: requests - hits,
      hitRate: share(hits, requests),
      allocated,
      cached,
      reserved,
      free: reserved - allocated,
      pending: this.#pendingBytes[0] + this.#pendingBytes[1],
      largestFree,
      fragmentation: {
        external: share(usable - largestFree, usable),
        internal: share(reserved - requested.all.current, reserved),
      },
      peakReserved: this.peakReservedBytes,
      allocation,
      segment: this.#measureBySize(SEGMENT),
      active: this.#measureBySize(ACTIVE),
      inactiveSplit: this.#measureBySize(INACTIVE),
      allocatedBytes: this.#measureBySize(ALLOCATED_BYTES),
      reservedBytes: this.#measureBySize(RESERVED_BYTES),
      activeBytes: this.#measureBySize(ACTIVE_BYTES),
      inactiveSplitBytes: this.#measureBySize(INACTIVE_BYTES),
      requestedBytes: requested,
      retries: this.counted("retries"),
      outOfMemory: this.counted("outOfMemory"),
      syncs: this.counted("syncs"),
      upstreamCalls: this.counted("upstreamCalls"),
      marks: this.counted("marks"),
      expired: this.counted("expired"),
    };
  }

  #current(measure: number): number {
    return this.#values[measure << 3]! + this.#values[(measure << 3) + 1]!;
  }

  #since(place: number): number {
    return this.#values[place]! - this.#base[place]!;
  }

  #add(measure: number, kind: Kind, amount: number): void {
    if (amount > 0) raise(this.#values, measure << 3, kind, amount);
    else this.#values[(measure << 3) + kind]! += amount;
  }

  /** Active memory is live or pending; it is computed when it is read or memory is pending. */
  #followActive(): void {
    for (const kind of [0, 1] as const) {
      this.#follow(ACTIVE, ALLOCATION, kind, this.#pendingBlocks[kind]);
      this.#follow(ACTIVE_BYTES, ALLOCATED_BYTES, kind, this.#pendingBytes[kind]);
    }
    for (const [active, live] of [[ACTIVE, ALLOCATION], [ACTIVE_BYTES, ALLOCATED_BYTES]] as const) {
      const values = this.#values;
      const at = (active << 3) + PEAK_ALL;
      const peak = values[(live << 3) + PEAK_ALL]!;
      values[at] = Math.max(values[at]!, peak, this.#current(active));
    }
  }

  #follow(active: number, live: number, kind: Kind, pending: number): void {
    const values = this.#values;
    const at = (active << 3) + kind;
    const liveAt = (live << 3) + kind;
    values[at] = values[liveAt]! + pending;
    values[at + TOTAL] = values[liveAt + TOTAL]!;
    values[at + PEAK] = Math.max(values[at + PEAK]!, values[liveAt + PEAK]!, values[at]!);
  }

  #measure(measure: number, kind: Kind): MeasureBySize["all"] {
    const at = (measure << 3) + kind;
    const allocated = this.#since(at + TOTAL);
    return {
      current: this.#values[at]!,
      peak: this.#values[at + PEAK]!,
      allocated,
      freed: allocated - this.#since(at),
    };
  }

  #measureBySize(measure: number): MeasureBySize {
    const small = this.#measure(measure, 0);
    const large = this.#measure(measure, 1);
    const all = {
      current: small.current + large.current,
      peak: this.#values[(measure << 3) + PEAK_ALL]!,
      allocated: small.allocated + large.allocated,
      freed: small.freed + large.freed,
    };
    return { all, small, large };
  }
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
