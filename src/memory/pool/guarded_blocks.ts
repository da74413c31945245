/**
 * Debug mode: buffers between guards, filled with patterns when they are allocated and when they
 * are freed, and kept for a while after that, so that writes where none may be are found.
 *
 * Checks read memory, and so wait for the streams that used it. What is found is thrown once, by
 * whatever call looked: freeing, emptying the cache, `checkMemory()`, or disposing of the pool. Such
 * a call has done its work all the same.
 *
 * What is allocated for a stream that is captured is left alone, since its work has not run, and
 * while any stream is captured nothing is read.
 *
 * @module
 */

import type { AllocationSites, CapturedSite } from "./allocation_sites.ts";
import { BlockGuards, GUARD_BYTES, type GuardedRange } from "./block_guards.ts";
import { FLOAT_SHIFT, REQUESTED, SEGMENT, UNIT } from "./block_table.ts";
import type { BlockTracker } from "./block_tracker.ts";
import { BlockQuarantine } from "./block_quarantine.ts";
import { MemoryCorruptionError, type MemoryViolation } from "./memory_corruption.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import { PEAK, PEAK_ALL, REQUESTED_BYTES, TOTAL } from "./pool_counters.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { PoolObserver } from "./pool_observer.ts";
import { StreamBarrier } from "./stream_barrier.ts";
import { violationsOf } from "./violation_record.ts";

/** Freed blocks whose sites are remembered after they have left the quarantine. */
const REMEMBERED = 1024;

/** A live block. */
interface GuardedBlock {
  readonly range: GuardedRange;
  readonly stream: MemoryStream;
  readonly site: CapturedSite;
  /** Whether there are guards; not where its stream was captured. */
  readonly isGuarded: boolean;
  /** Other streams that have used it. */
  readonly usedOn: Set<MemoryStream>;
  /** Whether its stream may still be filling it. */
  isFresh: boolean;
}

/** A block that was freed. */
interface FreedBlock {
  readonly range: GuardedRange;
  readonly site: CapturedSite;
  readonly freedAt: CapturedSite;
}

/** What debug mode adds to an engine. Goes between the pool and the engine. */
export class GuardedBlocks implements PoolObserver {
  readonly #engine: PoolEngine;
  readonly #tracker: BlockTracker;
  readonly #sites: AllocationSites;
  readonly #guards: BlockGuards;
  readonly #barrier: StreamBarrier;
  readonly #quarantine: BlockQuarantine;
  readonly #live = new Map<number, GuardedBlock>();
  readonly #freed = new Map<number, FreedBlock>();
  readonly #found: MemoryViolation[] = [];
  /** Peaks of what was asked for, small, large and of both, without guards. */
  readonly #peaks: [number, number, number] = [0, 0, 0];
  /** Bytes before the buffer that is being allocated. */
  #front = GUARD_BYTES;

  /**
   * Guards the blocks of an engine.
   *
   * @param mostHeld Most bytes that the quarantine holds.
   */
  constructor(
    engine: PoolEngine,
    tracker: BlockTracker,
    sites: AllocationSites,
    mostHeld: number,
  ) {
    this.#engine = engine;
    this.#tracker = tracker;
    this.#sites = sites;
    this.#guards = new BlockGuards(engine.upstream);
    this.#barrier = new StreamBarrier(engine);
    this.#quarantine = new BlockQuarantine(engine, this.#guards, this.#barrier, mostHeld);
  }

  /** Bytes of a live block before its buffer. */
  frontOf(block: number): number {
    const live = this.#live.get(block);
    return live === undefined ? 0 : live.range.address - live.range.begin;
  }

  /**
   * Allocates a block with guards.
   *
   * @param attempt Takes a block of this many bytes from the engine; 0 for none.
   * @returns The block; 0 for none.
   */
  take(
    bytes: number,
    alignment: number,
    attempt: (bytes: number) => number,
  ): number {
    const before = this.#front;
    // As many as keep the buffer as aligned as the block.
    this.#front = Math.max(alignment, GUARD_BYTES);
    let block: number;
    try {
      block = attempt(this.#front + bytes + GUARD_BYTES);
    } finally {
      this.#front = before;
    }
    if (block !== 0) this.#dress(block);
    return block;
  }

  /** A block became live: what it was asked for is without guards. */
  allocated(block: number, stream: MemoryStream): void {
    const { table } = this.#engine;
    const begin = table.address(block);
    const bytes = table.requested(block) - this.#front - GUARD_BYTES;
    this.#countRequested(block, this.#front + GUARD_BYTES);
    const range = {
      begin,
      end: begin + table.units(block) * UNIT,
      address: begin + this.#front,
      bytes,
    };
    const isGuarded = stream.captureToken === undefined;
    if (isGuarded) this.#barrier.note(stream);
    this.#freed.delete(block);
    this.#live.set(block, {
      range,
      stream,
      site: this.#tracker.siteOf(block),
      isGuarded,
      usedOn: new Set(),
      isFresh: isGuarded,
    });
  }

  /** Another stream is going to use a block: it must not come before the filling of it. */
  used(block: number, stream: MemoryStream): void {
    const live = this.#live.get(block);
    if (live === undefined || !live.isGuarded) return;
    if (live.isFresh && !this.#barrier.isForbidden) {
      this.#barrier.wait(live.stream);
      live.isFresh = false;
    }
    if (stream.captureToken === undefined) live.usedOn.add(stream);
  }

  /**
   * Frees a block, after a look at its guards.
   *
   * @throws {MemoryCorruptionError} If it was freed already, which changes nothing, or memory was
   * written that must not be.
   */
  give(block: number): void {
    const live = this.#live.get(block);
    if (live === undefined) throw this.#doubleFree(block);
    const freedAt = this.#sites.capture();
    this.#live.delete(block);
    this.#remember(block, live, freedAt);
    try {
      if (live.isGuarded) this.#retire(block, live, freedAt);
    } finally {
      this.#engine.give(block);
    }
    if (!this.#barrier.isForbidden) this.#quarantine.shrink(this.#found);
    this.#throwFound("free a buffer");
  }

  /**
   * Lets everything out of quarantine, after a look at it; whether there was anything.
   *
   * @param action What is being done, for the message.
   * @throws {MemoryCorruptionError} If memory was written that must not be.
   */
  release(action: string): boolean {
    const had = this.#quarantine.size > 0;
    if (!this.#barrier.isForbidden) this.#quarantine.empty(this.#found);
    this.#throwFound(action);
    return had && this.#quarantine.size === 0;
  }

  /**
   * Looks at all blocks, live and freed. Nothing may be captured.
   *
   * @returns How many there were.
   * @throws {MemoryCorruptionError} If memory was written that must not be.
   */
  check(action: string): number {
    this.#quarantine.check(this.#found);
    let count = this.#quarantine.size;
    for (const live of this.#live.values()) {
      if (this.#checkLive(live)) count++;
    }
    this.#throwFound(action);
    return count;
  }

  /** The pool ends: looks at all blocks for the last time, where that is possible. */
  end(action: string): void {
    try {
      if (this.#barrier.isForbidden) return;
      this.#quarantine.empty(this.#found);
      this.check(action);
    } finally {
      this.#quarantine.drop();
    }
  }

  /** The peaks of the counters have been reset. */
  notePeaks(): void {
    const { values } = this.#engine.counters;
    const at = REQUESTED_BYTES << 3;
    this.#peaks[0] = values[at + PEAK]!;
    this.#peaks[1] = values[at + PEAK + 1]!;
    this.#peaks[2] = values[at + PEAK_ALL]!;
  }

  #dress(block: number): void {
    const { range, stream, isGuarded } = this.#live.get(block)!;
    if (!isGuarded) return;
    try {
      this.#guards.dress(range, stream);
    } catch (error) {
      this.#live.delete(block);
      this.#engine.give(block);
      throw error;
    }
  }

  /** Looks at the guards of a block that is being freed, and holds it. */
  #retire(block: number, live: GuardedBlock, freedAt: CapturedSite): void {
    const { upstream } = this.#engine;
    const { range } = live;
    const stream = this.#barrier.usableFor(live.stream);
    if (upstream.lost || stream === undefined) {
      return upstream.declare(range.address, range.bytes, false);
    }
    if (this.#barrier.isForbidden) return this.#hold(block, live, freedAt, false);
    try {
      this.#waitForUsers(live);
    } catch (error) {
      // The next owner's block begins where this one ends.
      upstream.declare(range.address, range.bytes, false);
      throw error;
    }
    const damage = this.#guards.checkLive(range, stream, true);
    this.#found.push(...violationsOf("overrun", damage, live, freedAt));
    // The next owner's stream knows nothing of another one.
    if (stream !== live.stream) this.#barrier.wait(stream);
    if (this.#quarantine.fits(range)) this.#hold(block, live, freedAt, true);
  }

  #hold(block: number, live: GuardedBlock, freedAt: CapturedSite, isPoisoned: boolean): void {
    const { range, stream, site, usedOn } = live;
    this.#quarantine.hold(block, { range, stream, site, usedOn, freedAt, isPoisoned });
  }

  /** Looks at the guards of a live block, if there are any that can be read. */
  #checkLive(live: GuardedBlock): boolean {
    const stream = live.isGuarded ? this.#barrier.usableFor(live.stream) : undefined;
    if (stream === undefined) return false;
    this.#waitForUsers(live);
    const damage = this.#guards.checkLive(live.range, stream, false);
    this.#found.push(...violationsOf("overrun", damage, live, undefined));
    return true;
  }

  #waitForUsers({ stream, usedOn }: GuardedBlock): void {
    this.#barrier.wait(stream);
    for (const other of usedOn) this.#barrier.wait(other);
  }

  #throwFound(action: string): void {
    if (this.#found.length === 0) return;
    throw new MemoryCorruptionError(action, this.#engine.upstream.label, this.#found.splice(0));
  }

  #remember(block: number, { range, site }: GuardedBlock, freedAt: CapturedSite): void {
    this.#freed.set(block, { range, site, freedAt });
    if (this.#freed.size <= REMEMBERED) return;
    const [oldest] = this.#freed.keys();
    this.#freed.delete(oldest!);
  }

  #doubleFree(block: number): Error {
    const { label } = this.#engine.upstream;
    const freed = this.#freed.get(block);
    if (freed === undefined) {
      return new TypeError(`Cannot free block ${block} of the pool of ${label} as it is not live`);
    }
    const again = [{ offset: null, damaged: 0, found: "" }];
    const violations = violationsOf("double free", again, freed, freed.freedAt);
    return new MemoryCorruptionError("free a buffer", label, violations);
  }

  /** Takes guards out of the books of what was asked for. */
  #countRequested(block: number, guards: number): void {
    const { table, counters: { values } } = this.#engine;
    const kind = (table.field(block, SEGMENT) & 1) as 0 | 1;
    const at = REQUESTED_BYTES << 3;
    const [now, all] = [values[at + kind]!, values[at]! + values[at + 1]!];
    table.floats[(block << FLOAT_SHIFT) + REQUESTED]! -= guards;
    values[at + TOTAL + kind]! -= guards;
    values[at + kind]! -= guards;
    this.#lowerPeak(at + PEAK + kind, kind, now, guards);
    this.#lowerPeak(at + PEAK_ALL, 2, all, guards);
    this.#engine.counters.raisePeaks();
  }

  /** Where this allocation has set the peak, it was with guards. */
  #lowerPeak(place: number, which: 0 | 1 | 2, now: number, guards: number): void {
    const { values } = this.#engine.counters;
    if (values[place] === now) values[place] = Math.max(this.#peaks[which], now - guards);
    this.#peaks[which] = values[place]!;
  }
}
