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
import {
  BlockTable,
  EPOCH,
  FLOAT_SHIFT,
  LIVE,
  OWNER,
  RECORD_SHIFT,
  REQUESTED,
  SEGMENT,
  STATE,
  TICK,
  UNIT,
  UNITS,
} from "./block_table.ts";
import type { MemorySpace, SharedMemory } from "./memory_space.ts";
import type { MemoryStream, MemoryUpstream } from "./memory_upstream.ts";
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
  PoolCounters,
  REQUESTED_BYTES,
  RESERVED_BYTES,
  SEGMENT_COUNT,
  TOTAL,
} from "./pool_counters.ts";
import { PoolStreams } from "./pool_streams.ts";
import type { Segment } from "./segment.ts";
import { LARGEST_SMALL, sizeClass, unitsFor } from "./size_class.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** Told of what happens, where somebody wants to know. */
export interface PoolObserver {
  /** A block became live. */
  allocated(block: number, stream: MemoryStream): void;
  /** A live block was freed; it still has its size and address. */
  freed(block: number): void;
  /** A live block is used on another stream as well. */
  used(block: number, stream: MemoryStream): void;
  /** Memory was taken from the device or, below zero, given back. */
  reserved(bytes: number, address: number): void;
  /** Somebody waited for a stream so that memory becomes available. */
  waited(): void;
  /** A request failed. */
  failed(bytes: number): void;
}

/** What an engine is made with. */
export interface EngineOptions {
  /** Where memory comes from. */
  readonly upstream: MemoryUpstream;
  /** Whether to map memory behind reserved addresses. */
  readonly virtualMemory: boolean;
  /** Most blocks of a size class that a stream's cache keeps. */
  readonly maxCachedBuffers: number;
  /** Most free bytes that are kept. */
  readonly maxCachedBytes: number;
  /** Called with true when the first block becomes live, and false when the last is freed. */
  readonly onUse: (isInUse: boolean) => void;
}

/** A request that no cached block served. */
export interface BlockRequest {
  /** What was asked for. */
  readonly bytes: number;
  /** What addresses are multiples of. */
  readonly alignment: number;
  /** 0 small, 1 large. */
  readonly kind: 0 | 1;
  /** The block's size. */
  readonly units: number;
  /** What a block must have so that it serves wherever it begins. */
  readonly padded: number;
  /** The stream. */
  readonly stream: MemoryStream;
  /** Its slot. */
  readonly slot: StreamSlot;
  /** Where its slot's memory comes from. */
  readonly space: MemorySpace;
}

/** Serves what no cached block serves; 0 where there is no memory. */
export type MissHandler = (request: BlockRequest) => number;

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
  readonly counters: PoolCounters = new PoolCounters();
  /** The tick of the pool's clock. */
  tick = 0;
  /** Told of what happens. */
  observer: PoolObserver | undefined;
  /** Serves what the cache does not. */
  onMiss: MissHandler = () => 0;
  /** Called when the pool holds more free memory than it may, or somebody asked for it. */
  onExcess: () => void = () => {};
  readonly #values: Float64Array<ArrayBuffer>;
  readonly #mostFreeBytes: number;
  readonly #onUse: (isInUse: boolean) => void;
  #lastStream: MemoryStream | undefined;
  #lastSlot = 0;
  #pressure: number;

  /** An engine without memory. */
  constructor(options: EngineOptions) {
    this.upstream = options.upstream;
    this.#values = this.counters.values;
    this.#mostFreeBytes = options.maxCachedBytes;
    this.#onUse = options.onUse;
    this.#pressure = options.upstream.pressure;
    this.cache = new BlockCache(this.table, options.maxCachedBuffers, options.maxCachedBytes);
    const isVirtual = options.virtualMemory && options.upstream.granularity > 0;
    this.streams = new PoolStreams(
      this,
      this.cache,
      isVirtual,
      (kind, bytes) => this.#notePending(kind, bytes),
    );
  }

  /**
   * A block of at least this many bytes; 0 where there is no memory.
   *
   * @param bytes More than 0; an integer.
   */
  take(bytes: number, stream: MemoryStream): number {
    if (
      stream !== this.#lastStream || stream.captureToken !== undefined ||
      this.upstream.pressure !== this.#pressure
    ) this.#attend(stream);
    const slot = this.#lastSlot;
    let block: number;
    let kind: 0 | 1;
    if (bytes <= LARGEST_SMALL) {
      kind = 0;
      block = this.cache.takeSmall(slot, sizeClass((bytes + UNIT - 1) >>> 9));
    } else {
      kind = 1;
      block = this.cache.takeLarge(slot, Math.ceil(bytes / UNIT));
    }
    if (block === 0) return this.#miss(bytes, UNIT, stream);
    const { ints } = this.table;
    const at = block << RECORD_SHIFT;
    const rounded = ints[at + UNITS]! * UNIT;
    ints[at + STATE] = LIVE;
    this.#values[HITS]! += 1;
    this.#values[(INACTIVE_SPLIT << 3) + kind]! -= 1;
    this.#values[(INACTIVE_SPLIT_BYTES << 3) + kind]! -= rounded;
    this.#countTaken(block, kind, rounded, bytes);
    if (this.observer !== undefined) this.observer.allocated(block, stream);
    return block;
  }

  /** The same at an address that is a multiple of a power of two above 512. */
  takeAligned(bytes: number, stream: MemoryStream, alignment: number): number {
    this.#attend(stream);
    return this.#miss(bytes, Math.max(alignment, UNIT), stream);
  }

  /** Frees a live block. */
  give(block: number): void {
    const { ints } = this.table;
    const at = block << RECORD_SHIFT;
    if (this.observer !== undefined) this.observer.freed(block);
    const kind = (ints[at + SEGMENT]! & 1) as 0 | 1;
    const units = ints[at + UNITS]!;
    const rounded = units * UNIT;
    const owner = ints[at + OWNER]!;
    const isPlain = ints[at + STATE] === LIVE;
    this.#countGiven(kind, rounded, this.table.floats[(block << FLOAT_SHIFT) + REQUESTED]!);
    ints[at + TICK] = this.tick;
    ints[at + EPOCH] = this.streams.epochs[owner]!;
    if (!isPlain) {
      this.streams.freeUsed(block);
      this.recount();
    } else if (kind === 0) {
      if (this.cache.putSmall(owner, block, units)) this.#countCached(kind, rounded);
      else this.#release(block);
    } else {
      const earlier = this.cache.putLarge(owner, block, units);
      if (earlier !== 0) this.#release(earlier);
      else this.#countCached(kind, rounded);
    }
    if (this.streams.severalStreams) this.streams.noteFreed(owner, rounded);
    if (this.freeBytes > this.#mostFreeBytes) this.onExcess();
    if (this.#values[(ALLOCATION << 3) + CURRENT]! + this.#values[1]! === 0) this.#onUse(false);
  }

  /** Says that another stream uses a live block. */
  use(block: number, stream: MemoryStream): void {
    this.streams.use(block, stream);
    if (this.observer !== undefined) this.observer.used(block, stream);
  }

  /** Bytes that are free, in whatever way. */
  get freeBytes(): number {
    const values = this.#values;
    return values[RESERVED_BYTES << 3]! + values[(RESERVED_BYTES << 3) + 1]! -
      values[ALLOCATED_BYTES << 3]! - values[(ALLOCATED_BYTES << 3) + 1]!;
  }

  /** Whether a number names a live block. */
  isLive(block: number): boolean {
    return this.table.state(block) === LIVE;
  }

  /** A request that no cached block serves. */
  request(bytes: number, alignment: number, stream: MemoryStream): BlockRequest {
    const slot = this.streams.slotOf(stream);
    const units = unitsFor(bytes);
    return {
      bytes,
      alignment,
      kind: bytes <= LARGEST_SMALL ? 0 : 1,
      units,
      padded: units + (alignment - UNIT) / UNIT,
      stream,
      slot,
      space: this.streams.spaceOf(slot),
    };
  }

  /** Finds a free block for a request, its stream's or anybody's; 0 for none. */
  find(request: BlockRequest): number {
    return this.#findOf(request.slot.index, request) ||
      this.#findOf(request.slot.common, request);
  }

  /** Makes a free block that was found the request's. */
  finish(block: number, request: BlockRequest): number {
    this.table.ints[(block << RECORD_SHIFT) + OWNER] = request.slot.index;
    const rounded = this.table.units(block) * UNIT;
    this.#values[MISSES]! += 1;
    this.#countTaken(block, request.kind, rounded, request.bytes);
    this.recount();
    if (this.observer !== undefined) this.observer.allocated(block, request.stream);
    return block;
  }

  /** Counts anew what only slow operations change. */
  recount(): void {
    const { heap, cache, counters } = this;
    for (const kind of [0, 1] as const) {
      const count = heap.blocks[kind] - heap.wholeBlocks[kind] + cache.blocks[kind];
      counters.set(INACTIVE_SPLIT, kind, count);
      const reserved = this.#values[(RESERVED_BYTES << 3) + kind]!;
      const bytes = reserved - this.#active(kind) - heap.wholeUnits[kind] * UNIT;
      counters.set(INACTIVE_SPLIT_BYTES, kind, bytes);
    }
  }

  /** Told by spaces; see {@linkcode SharedMemory}. */
  onCall(): void {
    this.counters.count("upstreamCalls");
  }

  /** Told by spaces; see {@linkcode SharedMemory}. */
  onReserved(bytes: number, address: number, kind: number, isSegment: boolean): void {
    if (bytes > 0) this.counters.raise(RESERVED_BYTES, kind, bytes);
    else this.counters.lower(RESERVED_BYTES, kind, -bytes);
    if (isSegment && bytes > 0) this.counters.raise(SEGMENT_COUNT, kind, 1);
    if (isSegment && bytes < 0) this.counters.lower(SEGMENT_COUNT, kind, 1);
    if (this.observer !== undefined) this.observer.reserved(bytes, address);
  }

  /** Told by streams; see {@linkcode SharedMemory}. */
  onMark(): void {
    this.counters.count("marks");
  }

  /** Brings the measures of active memory, which follow others, up to date. */
  refreshActive(): void {
    for (const kind of [0, 1] as const) {
      for (const [active, allocated] of [[ACTIVE, ALLOCATION], [ACTIVE_BYTES, ALLOCATED_BYTES]]) {
        const pending = this.#pendingOf(active!)[kind]!;
        this.counters.set(active!, kind, this.#values[(allocated! << 3) + kind]! + pending);
        // What somebody has is active, so there never was less of it.
        for (const place of [PEAK + kind, PEAK_ALL]) {
          const least = this.#values[(allocated! << 3) + place]!;
          const at = (active! << 3) + place;
          this.#values[at] = Math.max(this.#values[at]!, least);
        }
        this.#values[(active! << 3) + TOTAL + kind] = this
          .#values[(allocated! << 3) + TOTAL + kind]!;
      }
    }
  }

  readonly #pendingCounts = [0, 0];
  readonly #pendingBytes = [0, 0];

  #pendingOf(measure: number): number[] {
    return measure === ACTIVE ? this.#pendingCounts : this.#pendingBytes;
  }

  #active(kind: number): number {
    return this.#values[(ALLOCATED_BYTES << 3) + kind]! + this.#pendingBytes[kind]!;
  }

  #notePending(kind: number, bytes: number): void {
    this.#pendingCounts[kind]! += Math.sign(bytes);
    this.#pendingBytes[kind]! += bytes;
    this.refreshActive();
  }

  /** What is rare: another stream, a capture, or that somebody wants memory back. */
  #attend(stream: MemoryStream): void {
    if (this.upstream.pressure !== this.#pressure) {
      this.#pressure = this.upstream.pressure;
      this.onExcess();
    }
    this.#lastSlot = this.streams.slotOf(stream).index;
    this.#lastStream = stream;
  }

  #miss(bytes: number, alignment: number, stream: MemoryStream): number {
    const request = this.request(bytes, alignment, stream);
    const block = this.onMiss(request);
    return block === 0 ? 0 : this.finish(block, request);
  }

  #findOf(owner: number, request: BlockRequest): number {
    const { heap, table } = this;
    const { kind, units, padded, alignment } = request;
    let found = heap.find(owner, kind, units);
    if (found === 0) return 0;
    let skip = alignment > UNIT ? heap.skipFor(found, alignment) : 0;
    if (skip + units > table.units(found)) {
      found = heap.find(owner, kind, padded);
      if (found === 0) return 0;
      skip = heap.skipFor(found, alignment);
    }
    return heap.carve(found, skip, units);
  }

  #release(block: number): void {
    this.streams.release(block);
    this.recount();
  }

  #countTaken(block: number, kind: 0 | 1, rounded: number, bytes: number): void {
    const values = this.#values;
    this.table.floats[(block << FLOAT_SHIFT) + REQUESTED] = bytes;
    values[(ALLOCATION << 3) + TOTAL + kind]! += 1;
    values[(ALLOCATED_BYTES << 3) + TOTAL + kind]! += rounded;
    values[(REQUESTED_BYTES << 3) + TOTAL + kind]! += bytes;
    this.#raise(ALLOCATION << 3, kind, 1);
    this.#raise(ALLOCATED_BYTES << 3, kind, rounded);
    this.#raise(REQUESTED_BYTES << 3, kind, bytes);
    if (this.streams.pendingCount !== 0) this.refreshActive();
    if (values[0]! + values[1]! === 1) this.#onUse(true);
  }

  #raise(at: number, kind: 0 | 1, amount: number): void {
    const values = this.#values;
    const now = values[at + kind]! + amount;
    values[at + kind] = now;
    if (now > values[at + PEAK + kind]!) values[at + PEAK + kind] = now;
    const all = now + values[at + 1 - kind]!;
    if (all > values[at + PEAK_ALL]!) values[at + PEAK_ALL] = all;
  }

  #countGiven(kind: 0 | 1, rounded: number, bytes: number): void {
    const values = this.#values;
    values[(ALLOCATION << 3) + kind]! -= 1;
    values[(ALLOCATED_BYTES << 3) + kind]! -= rounded;
    values[(REQUESTED_BYTES << 3) + kind]! -= bytes;
  }

  #countCached(kind: 0 | 1, rounded: number): void {
    this.#raise(INACTIVE_SPLIT << 3, kind, 1);
    this.#raise(INACTIVE_SPLIT_BYTES << 3, kind, rounded);
  }
}
