/**
 * The steps that serve a request when no cached block does:
 *
 * 1. the free blocks of its stream, and those for any stream;
 * 2. the same after emptying the stream's cache;
 * 3. blocks that other streams have finished with;
 * 4. growth within the limit. Before the pool grows beyond its {@linkcode GrowthPolicy}, it returns
 *    memory that is free elsewhere;
 * 5. memory of dropped buffers, and returning all free memory to take it again in one piece;
 * 6. waiting for streams that still use freed memory, one by one, the most promising first;
 * 7. the program's callback, which may free something;
 * 8. returning all free memory, also in the pools of other isolates, and waiting once more.
 *
 * Only steps 6 and 8 wait, which blocks the thread in `allocate()`, and not in `allocateAsync()`.
 *
 * @module
 */

import type { BlockPool } from "./block_pool.ts";
import { UNIT } from "./block_table.ts";
import { MAX_SMALL, roundUpTo, unitsFor } from "./free_index.ts";
import { type MemorySpace, PLAIN_GRANULE } from "./memory_space.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { Mark, StreamSlot } from "./stream_slots.ts";

const MIB = 2 ** 20;

const SLACK = 1 / 34; // Slack of mapped memory, as a share of the peak use
const PLAIN_SLACK = 1 / 4;
const MAX_SLACK = 1;
const STREAM_SLACK = 1 / 4; // Slack for each stream after the first
const REPEATED_SLACK = 1 / 128; // Slack for a repeated request
/** Bytes mapped at a time, as far as the slack allows; PyTorch's segments have 20 MiB. */
const STEP = 32 * MIB;
const STEP_SHARE = 1 / 512; // The same as a share of the pool, if that is more
const SMALL_STEP = 6 * MIB; // Bytes mapped at a time for small blocks
/** The same as a share of the memory of small blocks, if that is more. */
const SMALL_STEP_SHARE = 1 / 8;
const SMALL_REQUEST = 4 * MIB; // Requests of up to two pages gain little from returning memory
const PATIENCE = 32; // Times that memory is returned for small requests before the slack doubles
const SMALL_ADVANCE = 1 / 64; // Memory returned in advance for the next small requests
/** Blocks below this share of the peak use are not returned in advance. */
const MIN_RETURNED = 1 / 1024;
const MAX_REMEMBERED = 4096;

const ALIGNED_LOOKS = 64; // Blocks examined for one with room at an aligned address

/** The memory to return before a request. Sizes are bytes. */
export interface Room {
  /** Returned if that much is free. */
  readonly needed: number;
  /** Returned in addition, for later requests. */
  readonly ahead: number;
  /** Smaller blocks are not returned for later requests. */
  readonly minBlock: number;
  /** Whether the pool then grows by all that it may. */
  readonly fills: boolean;
}

/**
 * Decides how much memory a pool may have, and by how much it grows.
 *
 * A pool needs more than its use, because free blocks do not always fit; the surplus is its slack.
 * Up to the peak use plus slack the pool grows on demand. Beyond, it first returns memory that is
 * free elsewhere, which costs driver calls but no memory.
 *
 * Mapped memory is returned in pieces, and little slack suffices. There is more where returning
 * memory would gain little:
 *
 * - Streams: a stream cannot use the free memory of another until that has finished. Each stream
 *   after the first adds a quarter of the peak use.
 * - Small requests: a pool that often returns memory for them would do so page by page. Its slack
 *   doubles every 32 times, until use has doubled.
 * - Repetition: if the same request follows the same one at the same use, a step of the program
 *   repeats. Each time adds a little, until the step needs no calls.
 *
 * Within the slack the pool maps more than a request needs, to grow rarely: less for small blocks,
 * and nothing for a large request while use does not grow. The slack never exceeds the peak use, and
 * all free memory is returned before a request fails. A plain segment is returned only as a whole,
 * which is hardly ever possible; there the slack is a quarter.
 */
export class GrowthPolicy {
  readonly #isVirtual: boolean;
  #peakUse = 0;
  #grows = false; // Whether the last noted use is the peak
  #repeated = 0; // Slack for repeated requests since the peak grew, in bytes
  /** Times that memory was returned for small requests since the peak was `#countedAt`. */
  #smallReturns = 0;
  #countedAt = 0;
  #previous = 0; // The units of the last request that memory was returned for
  readonly #known = new Set<string>();

  constructor(isVirtual: boolean) {
    this.#isVirtual = isVirtual;
  }

  noteUse(peak: number): void {
    this.#grows = peak > this.#peakUse;
    if (!this.#grows) return;
    this.#peakUse = peak;
    // The behaviour of a much smaller pool says nothing about this one.
    if (peak >= 2 * this.#countedAt) {
      this.#smallReturns = 0;
      this.#countedAt = peak;
    }
    this.#repeated = 0;
    this.#known.clear();
  }

  /** The bytes that a pool of this many streams may have before it returns free memory. */
  allowed(streams: number): number {
    if (!this.#isVirtual) return this.#peakUse * (1 + PLAIN_SLACK);
    const doubled = this.#peakUse * SLACK * 2 ** Math.floor(this.#smallReturns / PATIENCE);
    const others = STREAM_SLACK * Math.max(0, streams - 1) * this.#peakUse;
    const slack = Math.min(doubled + others + this.#repeated, this.#peakUse * MAX_SLACK);
    return this.#peakUse + slack;
  }

  /**
   * The memory to return for a request.
   *
   * @param live The use with the request, in bytes.
   * @param excess The bytes by which the pool would exceed its allowance.
   */
  roomFor({ units, live, excess }: { units: number; live: number; excess: number }): Room {
    if (!this.#isVirtual) return { needed: excess, ahead: 0, minBlock: 0, fills: false };
    this.#noteRepetition(units, live, excess);
    if (units * UNIT <= SMALL_REQUEST) {
      this.#smallReturns++;
      const ahead = this.#peakUse * SMALL_ADVANCE;
      return { needed: excess, ahead, minBlock: 0, fills: false };
    }
    // While use grows, the next requests will not find room either. One long piece saves calls.
    return {
      needed: excess,
      ahead: this.#grows ? this.#peakUse * SLACK : 0,
      minBlock: this.#peakUse * MIN_RETURNED,
      fills: this.#grows,
    };
  }

  /**
   * The bytes to map at a time; no more than the pool has.
   *
   * @param kind 0 for small blocks, 1 for large ones.
   * @param reserved The bytes of the pool.
   * @param ofKind The bytes of these for blocks of the kind.
   */
  step(kind: 0 | 1, reserved: number, ofKind: number): number {
    if (!this.#isVirtual) return 0;
    const step = kind === 0
      ? Math.min(Math.max(SMALL_STEP, ofKind * SMALL_STEP_SHARE), STEP)
      : Math.max(STEP, reserved * STEP_SHARE);
    return Math.min(step, reserved);
  }

  /**
   * Whether a request may map more than it needs beyond the pool's previous peak: while use grows,
   * and for small requests, which come in numbers.
   */
  isAheadOfUse(units: number): boolean {
    return this.#grows || units * UNIT <= SMALL_REQUEST;
  }

  #noteRepetition(units: number, live: number, excess: number): void {
    const key = `${this.#previous} ${units} ${live}`;
    this.#previous = units;
    if (this.#known.has(key)) {
      this.#repeated += Math.min(excess, this.#peakUse * REPEATED_SLACK);
    } else if (this.#known.size < MAX_REMEMBERED) this.#known.add(key);
  }
}

export interface BlockRequest {
  readonly bytes: number;
  readonly alignment: number;
  readonly kind: 0 | 1;
  readonly units: number;
  /** The size of a block that serves wherever it begins. */
  readonly padded: number;
  readonly stream: MemoryStream;
  readonly slot: StreamSlot;
  readonly space: MemorySpace;
}

export class AllocationLadder {
  readonly #pool: BlockPool;
  readonly #isVirtual: boolean;
  readonly #onPressure: (request: BlockRequest) => boolean;
  readonly #policy: GrowthPolicy;
  /** What refused the last growth. */
  refusedBy: "limit" | "pressure" | "device" = "limit";
  // Not the statistics' peak, which can be reset.
  #peakReserved = 0;

  /**
   * A ladder for a pool.
   *
   * @param onPressure Requests the program to free something; whether it did.
   */
  constructor(
    pool: BlockPool,
    isVirtual: boolean,
    onPressure: (request: BlockRequest) => boolean,
  ) {
    this.#pool = pool;
    this.#isVirtual = isVirtual;
    this.#onPressure = onPressure;
    this.#policy = new GrowthPolicy(isVirtual);
  }

  request(bytes: number, alignment: number, stream: MemoryStream): BlockRequest {
    const { streams } = this.#pool;
    const slot = streams.slotOf(stream);
    const units = unitsFor(bytes);
    return {
      bytes,
      alignment,
      kind: bytes <= MAX_SMALL ? 0 : 1,
      units,
      padded: units + (alignment - UNIT) / UNIT,
      stream,
      slot,
      space: streams.spaceOf(slot),
    };
  }

  /** Whether a request fits into the limits of an empty pool; notes which one refuses otherwise. */
  canFit(bytes: number, alignment: number): boolean {
    const { settings: { limitBytes, reclaimShare, refuseShare }, upstream } = this.#pool;
    const padded = unitsFor(bytes) + (alignment - UNIT) / UNIT;
    const granule = this.#isVirtual ? upstream.granularity : PLAIN_GRANULE;
    const grown = roundUpTo(padded * UNIT, granule);
    const isRefused = grown > limitBytes * reclaimShare && bytes > limitBytes * refuseShare;
    this.refusedBy = isRefused && grown <= limitBytes ? "pressure" : "limit";
    return grown <= limitBytes && !isRefused;
  }

  /** Takes the first four steps, which are quick; 0 if they find nothing. */
  find(request: BlockRequest): number {
    return this.#search(request) || (this.#grow(request) ? this.#take(request) : 0);
  }

  /**
   * Takes the other steps. The caller waits for each yielded mark before it goes on.
   *
   * @returns The block; 0 if there is no memory.
   */
  *climb(request: BlockRequest): Generator<Mark, number> {
    const { counters, settings, upstream } = this.#pool;
    counters.count("retries");
    this.#pool.dropped.reclaim();
    const reclaimed = yield* this.#await(request);
    if (reclaimed !== 0) return reclaimed;
    let live: number;
    do {
      live = counters.allocatedBytes;
      if (!this.#onPressure(request)) break;
      const freed = this.find(request);
      if (freed !== 0) return freed;
      // Ends if a callback reports success and frees nothing of this pool.
    } while (counters.allocatedBytes < live);
    // Other pools' memory cannot help above this pool's own limit.
    if (counters.allocatedBytes + request.units * UNIT <= settings.limitBytes) {
      upstream.press();
      // This pool returns its memory right below.
      upstream.wasPressed();
    }
    // The callback may have freed memory that streams use.
    return yield* this.#await(request);
  }

  /** Returns all free memory to take it again, and waits for streams one by one. */
  *#await(request: BlockRequest): Generator<Mark, number> {
    const atOnce = this.#retry(request);
    if (atOnce !== 0) return atOnce;
    let hasWaited = false;
    for (const mark of this.#pool.streams.waits(request.kind, request.padded)) {
      yield mark;
      hasWaited = true;
      const block = this.#retry(request);
      if (block !== 0) return block;
    }
    // Other streams may have finished during the last attempt.
    return hasWaited ? this.#retry(request) : 0;
  }

  #take(request: BlockRequest): number {
    return this.#takeOf(request.slot.index, request) || this.#takeOf(request.slot.common, request);
  }

  #takeOf(owner: number, { kind, units, padded, alignment }: BlockRequest): number {
    const { heap, table } = this.#pool;
    let looks = alignment > UNIT ? ALIGNED_LOOKS : 0;
    if (looks > 0) {
      for (const block of heap.near(owner, kind, units)) {
        const skip = heap.skipFor(block, alignment);
        if (skip + units <= table.units(block)) return heap.carve(block, skip, units);
        if (--looks === 0) break;
      }
    }
    const found = heap.find(owner, kind, padded);
    return found === 0 ? 0 : heap.carve(found, heap.skipFor(found, alignment), units);
  }

  /** Searches the free blocks, after collecting all that can be used. */
  #search(request: BlockRequest): number {
    const { streams } = this.#pool;
    let block = this.#take(request);
    if (block !== 0) return block;
    if (streams.flush(request.slot, this.#flushedKind(request))) {
      block = this.#take(request);
      if (block !== 0) return block;
    }
    if (!streams.severalStreams && streams.pendingCount === 0) return 0;
    streams.settle(request.slot, this.#flushedKind(request));
    return this.#take(request);
  }

  #retry(request: BlockRequest): number {
    const { streams } = this.#pool;
    streams.settle();
    const block = this.#take(request);
    if (block !== 0) return block;
    for (const space of streams.spaces()) space.reclaim(Infinity);
    return this.#grow(request) ? this.#take(request) : 0;
  }

  /** Takes memory from the device; whether a free block serves the request then. */
  #grow(request: BlockRequest): boolean {
    const { counters, settings: { limitBytes }, streams } = this.#pool;
    const { kind, padded, slot, space } = request;
    let growth = space.growthFor(kind, padded, slot);
    const live = this.#noteUse(request);
    const target = this.#target();
    let step = this.#policy.step(kind, counters.reservedBytes, counters.reservedOf(kind));
    if (counters.reservedBytes + growth > target) {
      streams.settle(undefined, this.#flushedKind(request));
      if (this.#isServed(request)) return true;
      growth = space.growthFor(kind, padded, slot);
      const excess = counters.reservedBytes + growth - target;
      if (excess > 0) {
        const room = this.#policy.roomFor({ units: padded, live, excess });
        this.#makeRoom(request, room);
        if (room.fills) step = Infinity;
      }
      growth = space.growthFor(kind, padded, slot);
    }
    if (growth === 0) return true;
    const grown = counters.reservedBytes + growth;
    const isAbove = grown > limitBytes;
    this.refusedBy = isAbove ? "limit" : "pressure";
    if (isAbove || this.#isRefused(request, grown)) return false;
    this.refusedBy = "device";
    const peak = this.#policy.isAheadOfUse(padded) ? target : Math.min(target, this.#peakReserved);
    const most = Math.min(limitBytes, Math.max(peak, grown));
    // Nothing else can use the rest of a capture's space.
    const extra = space.isOfGraph ? 0 : Math.min(step, most - counters.reservedBytes);
    return space.grow(kind, padded, slot, extra);
  }

  /**
   * The kind of cached blocks to release first. Emptying the others would cost hits; but each
   * cached block keeps a plain segment, which is returned only as a whole.
   */
  #flushedKind(request: BlockRequest): 0 | 1 | undefined {
    return this.#isVirtual ? request.kind : undefined;
  }

  #makeRoom(request: BlockRequest, { needed, ahead, minBlock }: Room): void {
    const wanted = this.#pool.reservedBytes - needed;
    if (ahead > 0) this.#reclaim(request, needed + ahead, minBlock);
    const left = this.#pool.reservedBytes - wanted;
    if (left > 0) this.#reclaim(request, left, 0);
  }

  /** Returns free memory of the request's kind, and of the other if that is not enough. */
  #reclaim(request: BlockRequest, bytes: number, minBlock: number): void {
    const left = this.#reclaimFree(request, bytes, minBlock);
    if (left <= 0 || !this.#isVirtual) return;
    this.#pool.streams.settle(undefined, request.kind === 0 ? 1 : 0);
    this.#reclaimFree(request, left, minBlock);
  }

  /** Returns free memory outside caches to the device. The result is the bytes still missing. */
  #reclaimFree(request: BlockRequest, bytes: number, minBlock: number): number {
    let left = bytes - request.space.reclaim(bytes, minBlock);
    for (const space of this.#pool.streams.spaces()) {
      if (left > 0 && space !== request.space) left -= space.reclaim(left, minBlock);
    }
    return left;
  }

  #isServed({ slot, kind, padded }: BlockRequest): boolean {
    const { heap } = this.#pool;
    return heap.find(slot.index, kind, padded) !== 0 || heap.find(slot.common, kind, padded) !== 0;
  }

  #noteUse(request: BlockRequest): number {
    const { counters } = this.#pool;
    const live = counters.allocatedBytes + request.units * UNIT;
    this.#policy.noteUse(Math.max(counters.peakAllocatedBytes, live));
    this.#peakReserved = Math.max(this.#peakReserved, counters.peakReservedBytes);
    return live;
  }

  /** The bytes that the pool may have without returning free memory. */
  #target(): number {
    const { settings: { limitBytes, reclaimShare }, streams } = this.#pool;
    const allowed = this.#policy.allowed(streams.streamCount);
    return Math.min(Math.max(this.#peakReserved, allowed), limitBytes * reclaimShare);
  }

  #isRefused(request: BlockRequest, grown: number): boolean {
    const { limitBytes, reclaimShare, refuseShare } = this.#pool.settings;
    if (grown <= limitBytes * reclaimShare) return false;
    return this.#pool.requestedBytes + request.bytes > limitBytes * refuseShare;
  }
}
