/**
 * The engine of a pool: allocating and freeing, by block numbers.
 *
 * Nearly every request is served by a cached block of its size class, in a few nanoseconds and
 * without a native call. What no cached block serves goes to the free blocks, and what these do not
 * serve up the ladder of `allocation_ladder.ts`.
 *
 * @module
 */

import { BlockCache } from "./block_cache.ts";
import { BlockHeap } from "./block_heap.ts";
import { type BlockRequest, findBlock, type MissHandler, requestFor } from "./block_request.ts";
import { BlockTable } from "./block_table.ts";
import type * as table from "./block_table.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { MemoryStream, MemoryUpstream } from "./memory_upstream.ts";
import { PoolAccounts } from "./pool_accounts.ts";
import type * as counter from "./pool_counters.ts";
import type { ObserverList } from "./observer_list.ts";
import { PoolStreams } from "./pool_streams.ts";
import { PressureAnswer } from "./pressure_answer.ts";
import type { Segment } from "./segment.ts";
import type { SharedMemory } from "./shared_memory.ts";
import { sizeClass, unitsFor } from "./size_class.ts";
import type * as size from "./size_class.ts";

// A module's own constants become part of its compiled code, and imported ones are loaded at each
// use, which would be 14 of 46 ns for a pair of take and give. So the hot path has copies of its
// own, whose types make sure that they are the same.
const UNIT: typeof table.UNIT = 512;
const RECORD_SHIFT: typeof table.RECORD_SHIFT = 4;
const FLOAT_SHIFT: typeof table.FLOAT_SHIFT = 3;
const UNITS: typeof table.UNITS = 0;
const STATE: typeof table.STATE = 1;
const LINK: typeof table.LINK = 5;
const OWNER: typeof table.OWNER = 6;
const EPOCH: typeof table.EPOCH = 7;
const SEGMENT: typeof table.SEGMENT = 8;
const TICK: typeof table.TICK = 9;
const REQUESTED: typeof table.REQUESTED = 7;
const LIVE: typeof table.LIVE = 1;
const CACHED_STATE: typeof table.CACHED = 2;
const LARGEST_SMALL: typeof size.LARGEST_SMALL = 1048576;
const SIZE_CLASSES: typeof size.SIZE_CLASSES = 129;
const HITS: typeof counter.HITS = 72;
const HELD_BYTES: typeof counter.HELD_BYTES = 78;
const CEILING: typeof counter.CEILING = 94;
const FLOOR: typeof counter.FLOOR = 97;

// Places of measures: the number of the measure times eight.
const COUNT = (0 satisfies typeof counter.ALLOCATION) << 3;
const ALLOCATED = (1 satisfies typeof counter.ALLOCATED_BYTES) << 3;
const REQUESTED_NOW = (2 satisfies typeof counter.REQUESTED_BYTES) << 3;
const REQUESTED_TOTAL = REQUESTED_NOW + (2 satisfies typeof counter.TOTAL);

// Adding a constant to a float makes V8 convert it to an integer and back, to be sure that it is
// one; subtracting does not.
const MINUS_ONE = -1;

/** So much more free memory than the last attempt has left may be worth another. */
const LEAST_EXCESS = 2 * 2 ** 20;

/** The engine. */
export class PoolEngine implements SharedMemory {
  /** Where memory comes from. */
  readonly upstream: MemoryUpstream;
  /** The blocks. */
  readonly table: BlockTable = new BlockTable();
  /** The free ones. */
  readonly heap: BlockHeap = new BlockHeap(this.table);
  /** Those kept whole. */
  readonly cache: BlockCache;
  /** All segments by number. */
  readonly segments: (Segment | undefined)[] = [];
  /** The streams. */
  readonly streams: PoolStreams;
  /** What is counted. */
  readonly counters: PoolAccounts = new PoolAccounts(this.heap);
  /** The tick of the pool's clock. */
  tick = 0;
  /** Told of what happens. */
  observer: ObserverList | undefined;
  /** In debug mode, what is before the buffers in their blocks. */
  guards: { frontOf(block: number): number } | undefined;
  /** Serves what the cache does not. */
  onMiss: MissHandler = () => 0;
  /** Called when the pool holds so many more free bytes than it may, or somebody asked for all. */
  onExcess: (bytes: number) => void = () => {};
  /** Called when memory was taken from the device or given back; must not use the pool. */
  onReservedChange: () => void = () => {};
  readonly #values: Float64Array<ArrayBuffer>;
  readonly #mostFreeBytes: number;
  readonly #limitsFree: boolean;
  readonly #mostCached: number;
  readonly #onUse: (isInUse: boolean) => void;
  #lastStream: MemoryStream | undefined;
  #lastSlot = 0;
  #lastCommon = 0;
  #lastLarge = 0; // The large block that was taken last, until another is taken or freed.
  #signal: number;
  readonly #answer: PressureAnswer;
  // What giving back what is too much has left, and for how many frees it is not tried again.
  #leftFree = 0;
  #patience = 0;

  /** An engine without memory. */
  constructor(options: EngineOptions) {
    this.upstream = options.upstream;
    this.#values = this.counters.values;
    this.#mostFreeBytes = options.maxCachedBytes;
    this.#mostCached = options.maxCachedBuffers;
    this.#limitsFree = Number.isFinite(options.maxCachedBytes);
    this.#onUse = options.onUse;
    this.#signal = options.upstream.signal;
    this.cache = new BlockCache(this.table, this.counters);
    const isVirtual = options.virtualMemory && options.upstream.granularity > 0;
    this.streams = new PoolStreams(
      this,
      this.cache,
      isVirtual,
      (kind, bytes) => this.counters.notePending(kind, bytes),
    );
    this.#answer = new PressureAnswer(this.upstream, this.streams, () => this.onExcess(Infinity));
  }

  /**
   * A block of at least this many bytes; 0 where there is no memory.
   *
   * All that a hit needs is written out here, since calls and objects would take as long again.
   *
   * @param bytes More than 0; an integer.
   */
  take(bytes: number, stream: MemoryStream): number {
    if (
      stream !== this.#lastStream || this.upstream.signal !== this.#signal
    ) this.#attend(stream);
    if (bytes > LARGEST_SMALL) return this.#takeLarge(bytes, stream);
    const { heads, counts, hits } = this.cache;
    const list = this.#lastSlot * SIZE_CLASSES + sizeClass((bytes + UNIT - 1) >>> 9);
    const block = heads[list]!;
    if (block === 0) return this.#miss(bytes, UNIT, stream);
    const { ints, floats } = this.table;
    const at = block << RECORD_SHIFT;
    heads[list] = ints[at + LINK]!;
    counts[list]!--;
    hits[list]! -= MINUS_ONE;
    ints[at + STATE] = LIVE;
    floats[(block << FLOAT_SHIFT) + REQUESTED] = bytes;
    const values = this.#values;
    const rounded = ints[at + UNITS]! * UNIT;
    const count = values[COUNT]! - MINUS_ONE;
    const allocated = values[ALLOCATED]! + rounded;
    const requested = values[REQUESTED_NOW]! + bytes;
    values[COUNT] = count;
    values[ALLOCATED] = allocated;
    values[REQUESTED_NOW] = requested;
    values[REQUESTED_TOTAL]! += bytes;
    if (
      count > values[CEILING]! || allocated > values[CEILING + 1]! ||
      requested > values[CEILING + 2]!
    ) this.counters.raisePeaks();
    if (this.streams.pendingCount !== 0) this.counters.refreshActive();
    if (count === 1 && values[COUNT + 1] === 0) this.#onUse(true);
    if (this.observer !== undefined) this.observer.allocated(block, stream);
    return block;
  }

  /** The same at an address that is a multiple of a power of two above 512. */
  takeAligned(bytes: number, stream: MemoryStream, alignment: number): number {
    this.#attend(stream);
    this.#lastLarge = 0;
    return this.#miss(bytes, Math.max(alignment, UNIT), stream);
  }

  /** Frees a live block. All that freeing into the cache needs is written out here as well. */
  give(block: number): void {
    const { ints, floats } = this.table;
    const at = block << RECORD_SHIFT;
    if (this.observer !== undefined) this.observer.freed(block);
    const kind = (ints[at + SEGMENT]! & 1) as 0 | 1;
    const units = ints[at + UNITS]!;
    const rounded = units * UNIT;
    const owner = ints[at + OWNER]!;
    const values = this.#values;
    const count = values[COUNT + kind]! - 1;
    const allocated = values[ALLOCATED + kind]! - rounded;
    values[COUNT + kind] = count;
    values[ALLOCATED + kind] = allocated;
    values[REQUESTED_NOW + kind]! -= floats[(block << FLOAT_SHIFT) + REQUESTED]!;
    ints[at + TICK] = this.tick;
    ints[at + EPOCH] = this.streams.epochs[owner]!;
    const { heads, counts } = this.cache;
    const list = owner * SIZE_CLASSES + sizeClass(units);
    if (
      kind !== 0 || ints[at + STATE] !== LIVE || counts[list]! >= this.#mostCached ||
      (this.#limitsFree === true && values[HELD_BYTES]! - allocated > this.#mostFreeBytes)
    ) this.#giveUncached(block, kind, owner, rounded);
    else {
      ints[at + STATE] = CACHED_STATE;
      ints[at + LINK] = heads[list]!;
      heads[list] = block;
      counts[list]!++;
      if (count < values[FLOOR]! || allocated < values[FLOOR + 1]!) {
        this.counters.raiseInactivePeaks();
      }
    }
    if (this.#limitsFree === true || this.streams.severalStreams === true) {
      this.#watch(owner, rounded);
    }
    if (count + values[COUNT + 1 - kind]! === 0) this.#onUse(false);
  }

  /** Brings all counters up to date, of which the hot path keeps only what others follow from. */
  refreshCounters(): void {
    this.cache.countHits();
    this.counters.refreshActive();
    // Where a request failed on its way, what it had moved is not counted yet.
    this.counters.recount();
    this.counters.refreshInactive();
  }

  /** Says that another stream uses a live block. */
  use(block: number, stream: MemoryStream): void {
    this.streams.use(block, stream);
    if (this.observer !== undefined) this.observer.used(block, stream);
  }

  /** Whether a number names a live block. */
  isLive(block: number): boolean {
    return this.table.state(block) === LIVE;
  }

  /** Finds a free block for a request, its stream's or anybody's; 0 for none. */
  find(request: BlockRequest): number {
    const { heap, table } = this;
    return findBlock(heap, table, request.slot.index, request) ||
      findBlock(heap, table, request.slot.common, request);
  }

  /** Makes a free block that was found the request's. */
  finish(block: number, request: BlockRequest): number {
    this.table.ints[(block << RECORD_SHIFT) + OWNER] = request.slot.index;
    return this.#finish(block, request.kind, request.bytes, request.stream);
  }

  /** Bytes taken from the device. */
  get reservedBytes(): number {
    return this.counters.current(8 satisfies typeof counter.RESERVED_BYTES);
  }

  /** Told by spaces; see {@linkcode SharedMemory}. */
  onCall(): void {
    this.counters.count("upstreamCalls");
  }

  /** Told by spaces; see {@linkcode SharedMemory}. */
  onReserved(bytes: number, address: number, kind: number, isSegment: boolean): void {
    this.counters.noteReserved(bytes, kind, isSegment);
    if (this.observer !== undefined) this.observer.reserved(bytes, address);
    this.onReservedChange();
  }

  /** Told by streams; see {@linkcode SharedMemory}. */
  onRetired(): void {
    this.#lastStream = undefined;
  }

  /** Told by streams; see {@linkcode SharedMemory}. */
  onMark(): void {
    this.counters.count("marks");
  }

  /** What is rare: another stream, a capture, or that somebody wants memory back. */
  #attend(stream: MemoryStream): void {
    if (this.upstream.signal !== this.#signal) this.#signal = this.#answer.heed();
    const slot = this.streams.slotOf(stream);
    this.#lastSlot = slot.index;
    this.#lastCommon = slot.common;
    // Streams can join a capture at any time while one is running.
    this.#lastStream = this.upstream.capturing ? undefined : stream;
  }

  #miss(bytes: number, alignment: number, stream: MemoryStream): number {
    if (alignment === UNIT) {
      // As `find()` does, without a request.
      const kind = bytes <= LARGEST_SMALL ? 0 : 1;
      const units = unitsFor(bytes);
      const slot = this.#lastSlot;
      let found = this.heap.find(slot, kind, units);
      if (found === 0) found = this.heap.find(this.#lastCommon, kind, units);
      if (found !== 0) {
        const block = this.heap.carve(found, 0, units);
        this.table.ints[(block << RECORD_SHIFT) + OWNER] = slot;
        return this.#finish(block, kind, bytes, stream);
      }
    }
    const request = requestFor(this.streams, bytes, alignment, stream);
    const block = this.onMiss(request);
    return block === 0 ? 0 : this.finish(block, request);
  }

  #finish(block: number, kind: 0 | 1, bytes: number, stream: MemoryStream): number {
    this.table.floats[(block << FLOAT_SHIFT) + REQUESTED] = bytes;
    const rounded = this.table.units(block) * UNIT;
    this.counters.noteMiss(kind, rounded);
    this.#countTaken(kind, rounded, bytes);
    this.counters.recountKind(kind);
    if (this.observer !== undefined) this.observer.allocated(block, stream);
    return block;
  }

  #takeLarge(bytes: number, stream: MemoryStream): number {
    const { large } = this.cache;
    const block = large[this.#lastSlot]!;
    const { ints, floats } = this.table;
    const at = block << RECORD_SHIFT;
    const units = Math.ceil(bytes / UNIT);
    if (block === 0 || ints[at + UNITS] !== units) {
      if (block !== 0) this.#releaseKept(this.#lastSlot);
      this.#lastLarge = this.#miss(bytes, UNIT, stream);
      return this.#lastLarge;
    }
    large[this.#lastSlot] = 0;
    this.#lastLarge = block;
    ints[at + STATE] = LIVE;
    floats[(block << FLOAT_SHIFT) + REQUESTED] = bytes;
    this.#values[HITS + 1]! -= MINUS_ONE;
    this.#countTaken(1, units * UNIT, bytes);
    if (this.observer !== undefined) this.observer.allocated(block, stream);
    return block;
  }

  /**
   * Keeps a large block that was taken last: what is free is then what it was before, so that the
   * next request of its size would have the same place. Others, kept, would stand for a better fit.
   */
  #giveLarge(block: number, owner: number, rounded: number): void {
    if (this.cache.large[owner] !== 0) this.#releaseKept(owner);
    const isKept = block === this.#lastLarge;
    this.#lastLarge = 0;
    if (!isKept || this.#mostCached === 0 || rounded > this.#mostFreeBytes) {
      this.counters.noteUncached(1, rounded);
      return this.#release(block, 1);
    }
    this.table.ints[(block << RECORD_SHIFT) + STATE] = CACHED_STATE;
    this.cache.large[owner] = block;
    this.counters.raiseInactivePeaks();
  }

  #releaseKept(slot: number): void {
    const kept = this.cache.large[slot]!;
    this.cache.large[slot] = 0;
    this.counters.noteDrained(1, 1, this.table.units(kept) * UNIT);
    this.#release(kept, 1);
  }

  #giveUncached(block: number, kind: 0 | 1, owner: number, rounded: number): void {
    if (this.table.ints[(block << RECORD_SHIFT) + STATE] !== LIVE) {
      this.counters.noteUncached(kind, rounded);
      this.streams.freeUsed(block);
      this.counters.recount();
    } else if (kind === 1) this.#giveLarge(block, owner, rounded);
    else {
      this.counters.noteUncached(0, rounded);
      this.#release(block, 0);
    }
  }

  #release(block: number, kind: 0 | 1): void {
    this.streams.release(block);
    this.counters.recountKind(kind);
  }

  #watch(owner: number, rounded: number): void {
    if (this.streams.severalStreams) this.streams.noteFreed(owner, rounded);
    if (!this.#limitsFree) return;
    const excess = this.counters.freeBytes - this.#mostFreeBytes;
    if (excess <= 0) return;
    if (this.#patience-- > 0 && this.counters.freeBytes < this.#leftFree + LEAST_EXCESS) return;
    try {
      this.onExcess(excess);
      this.#leftFree = this.counters.freeBytes;
      // That looked at every free block: where it was in vain, as many frees have to be worth it.
      const [small, large] = this.heap.blocks;
      this.#patience = this.#leftFree > this.#mostFreeBytes ? small + large : 0;
    } catch (error) {
      // The block is free all the same, and who holds on to the pool has to know.
      if (this.#values[COUNT]! + this.#values[COUNT + 1]! === 0) this.#onUse(false);
      throw error;
    }
  }

  #countTaken(kind: 0 | 1, rounded: number, bytes: number): void {
    this.counters.noteTaken(kind, rounded, bytes);
    if (this.streams.pendingCount !== 0) this.counters.refreshActive();
    if (this.#values[COUNT]! + this.#values[COUNT + 1]! === 1) this.#onUse(true);
  }
}
