/**
 * What is tried, in this order, when no cached block serves a request:
 *
 * 1. the free blocks of its stream, and those that anybody may have;
 * 2. the same after the stream's cache has joined them;
 * 3. what other streams are found to be through with;
 * 4. more memory from the device, within the limit. Before the pool grows beyond what
 *    `growth_policy.ts` allows, what is free elsewhere is given back first;
 * 5. the program, by the callback, which may free something;
 * 6. giving everything free back, to get it anew in one piece, and asking the pools of other
 *    isolates to do so;
 * 7. waiting for streams that still use freed memory, one after the other, the most promising
 *    first, and looking again after each.
 *
 * Only the last rung waits: it blocks the thread in `allocate()` and not in `allocateAsync()`.
 *
 * @module
 */

import { UNIT } from "./block_table.ts";
import { ALLOCATED_BYTES, REQUESTED_BYTES, RESERVED_BYTES } from "./pool_counters.ts";
import { GrowthPolicy, type Room } from "./growth_policy.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { BlockRequest } from "./block_request.ts";

/** What an event tells of that somebody waits for. */
export interface Awaited {
  /** The event. */
  readonly event: number;
}

/** What the ladder is made with. */
export interface LadderOptions {
  /** Whether memory is mapped; it comes in plain segments otherwise. */
  readonly virtualMemory: boolean;
  /** Most bytes the pool takes from the device. */
  readonly limitBytes: number;
  /** Share of the limit above which free memory goes back first. */
  readonly reclaimShare: number;
  /** Share of the limit above which requests are refused then. */
  readonly refuseShare: number;
  /** Asks the program to free something; whether it did. */
  readonly onPressure: (request: BlockRequest) => boolean;
}

/** The rungs. */
export class AllocationLadder {
  readonly #engine: PoolEngine;
  readonly #options: LadderOptions;
  readonly #policy: GrowthPolicy;
  // Of its own, as the statistics' peaks begin anew when they are reset.
  #mostReserved = 0;

  /** A ladder for an engine. */
  constructor(engine: PoolEngine, options: LadderOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#policy = new GrowthPolicy(options.virtualMemory);
  }

  /** The first four rungs, which are quick; 0 where they lead nowhere. */
  find(request: BlockRequest): number {
    const engine = this.#engine;
    return this.#search(request) || this.#grow(request) && engine.find(request);
  }

  /**
   * The other rungs. What is yielded is to be waited for before going on.
   *
   * @returns The block; 0 where there is no memory.
   */
  *climb(request: BlockRequest): Generator<Awaited, number> {
    const engine = this.#engine;
    const { upstream } = engine;
    engine.counters.count("retries");
    let live: number;
    do {
      live = engine.counters.current(ALLOCATED_BYTES);
      if (!this.#options.onPressure(request)) break;
      const freed = this.find(request);
      if (freed !== 0) return freed;
      // A program that says so and frees nothing here would be asked for ever.
    } while (engine.counters.current(ALLOCATED_BYTES) < live);
    // What others have free is of no use above this pool's own limit.
    if (this.#leastGrowth(request) <= this.#options.limitBytes) {
      upstream.press();
      // This pool gives back all that it can right here.
      upstream.wasPressed();
    }
    const trimmed = this.#retry(request);
    if (trimmed !== 0) return trimmed;
    let hasWaited = false;
    for (const mark of engine.streams.waits(request.kind, request.padded)) {
      yield mark;
      hasWaited = true;
      const block = this.#retry(request);
      if (block !== 0) return block;
    }
    // Other streams may have become ready while the last attempt was under way.
    return hasWaited ? this.#retry(request) : 0;
  }

  /** Looks among what is free, after making all of it that can be had free. */
  #search(request: BlockRequest): number {
    const engine = this.#engine;
    const { streams } = engine;
    let block = engine.find(request);
    if (block !== 0) return block;
    if (streams.flush(request.slot, this.#kindOf(request))) {
      block = engine.find(request);
      if (block !== 0) return block;
    }
    if (!streams.severalStreams && streams.pendingCount === 0) return 0;
    streams.settle(request.slot, this.#kindOf(request));
    return engine.find(request);
  }

  /** Gives everything free back, takes what is needed. */
  #retry(request: BlockRequest): number {
    const engine = this.#engine;
    engine.streams.settle();
    const block = engine.find(request);
    if (block !== 0) return block;
    for (const space of engine.streams.spaces()) space.reclaim(Infinity);
    return this.#grow(request) ? engine.find(request) : 0;
  }

  /** Takes memory from the device; 1 where that was possible. */
  #grow(request: BlockRequest): 0 | 1 {
    const engine = this.#engine;
    const { kind, padded, slot, space } = request;
    let growth = space.growthFor(kind, padded, slot);
    const live = this.#noteUse(request);
    const target = this.#target();
    let step = this.#policy.step(kind, this.#reserved, this.#reservedOf(kind));
    if (this.#reserved + growth > target) {
      engine.streams.settle(undefined, this.#kindOf(request));
      if (this.#isThere(request)) return 1;
      growth = space.growthFor(kind, padded, slot);
      const excess = this.#reserved + growth - target;
      if (excess > 0) {
        const room = this.#policy.roomFor({ units: padded, live, excess });
        this.#makeRoom(request, room);
        if (room.fills) step = Infinity;
      }
      growth = space.growthFor(kind, padded, slot);
    }
    if (growth === 0) return 1;
    if (this.#reserved + growth > this.#options.limitBytes) return 0;
    if (this.#isRefused(request, growth)) return 0;
    const peak = this.#policy.isAheadOfUse(padded) ? target : Math.min(target, this.#mostReserved);
    const most = Math.min(this.#options.limitBytes, Math.max(peak, this.#reserved + growth));
    // What a capture does not use nobody else can.
    const extra = space === engine.streams.space ? Math.min(step, most - this.#reserved) : 0;
    return space.grow(kind, padded, slot, extra) ? 1 : 0;
  }

  /**
   * Of which blocks the caches are emptied first for a request: of its own kind, as the others would
   * lose their hits for nothing; of all where segments go back only whole, since every block that
   * stays in a cache then keeps a segment.
   */
  #kindOf(request: BlockRequest): 0 | 1 | undefined {
    return this.#options.virtualMemory ? request.kind : undefined;
  }

  /** Gives back what is free: what pays first, then whatever is needed all the same. */
  #makeRoom(request: BlockRequest, { needed, ahead, worth }: Room): void {
    const wanted = this.#reserved - needed;
    if (ahead > 0) this.#reclaim(request, needed + ahead, worth);
    const left = this.#reserved - wanted;
    if (left > 0) this.#reclaim(request, left, 0);
  }

  /** Gives back what is free: of the request's kind, and of the other if that is not enough. */
  #reclaim(request: BlockRequest, bytes: number, worth: number): void {
    const left = this.#reclaimFree(request, bytes, worth);
    if (left <= 0 || !this.#options.virtualMemory) return;
    this.#engine.streams.settle(undefined, request.kind === 0 ? 1 : 0);
    this.#reclaimFree(request, left, worth);
  }

  /** Gives back what is in no cache; how much less than wanted it was. */
  #reclaimFree(request: BlockRequest, bytes: number, worth: number): number {
    let left = bytes - request.space.reclaim(bytes, worth);
    for (const space of this.#engine.streams.spaces()) {
      if (left > 0 && space !== request.space) left -= space.reclaim(left, worth);
    }
    return left;
  }

  /** Whether what settled has left a block that serves. */
  #isThere(request: BlockRequest): boolean {
    const { heap } = this.#engine;
    return heap.find(request.slot.index, request.kind, request.padded) !== 0 ||
      heap.find(request.slot.common, request.kind, request.padded) !== 0;
  }

  /** Notes what is in use with a request; how many bytes that is. */
  #noteUse(request: BlockRequest): number {
    const { counters } = this.#engine;
    const live = counters.current(ALLOCATED_BYTES) + request.units * UNIT;
    this.#policy.noteUse(Math.max(counters.peak(ALLOCATED_BYTES), live));
    this.#mostReserved = Math.max(this.#mostReserved, counters.peak(RESERVED_BYTES));
    return live;
  }

  /** What the pool may have without giving back what is free elsewhere. */
  #target(): number {
    const { limitBytes, reclaimShare } = this.#options;
    let streams = 0;
    for (const slot of this.#engine.streams.slots()) {
      if (slot.stream !== undefined && !slot.captured && !slot.retired) streams++;
    }
    const allowed = this.#policy.allowed(streams);
    return Math.min(Math.max(this.#mostReserved, allowed), limitBytes * reclaimShare);
  }

  #isRefused(request: BlockRequest, growth: number): boolean {
    const { limitBytes, reclaimShare, refuseShare } = this.#options;
    if (this.#reserved + growth <= limitBytes * reclaimShare) return false;
    const live = this.#engine.counters.current(REQUESTED_BYTES) + request.bytes;
    return live > limitBytes * refuseShare;
  }

  /** What the pool has at least when it serves a request, whatever it gives back before. */
  #leastGrowth(request: BlockRequest): number {
    return this.#engine.counters.current(ALLOCATED_BYTES) + request.units * UNIT;
  }

  #reservedOf(kind: 0 | 1): number {
    return this.#engine.counters.values[(RESERVED_BYTES << 3) + kind]!;
  }

  get #reserved(): number {
    return this.#engine.counters.current(RESERVED_BYTES);
  }
}
