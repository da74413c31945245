/**
 * Freed blocks that nobody gets for a while, so that who still writes to them is found.
 *
 * To the engine they are pending: freed, but in use by a stream that does not exist.
 *
 * @module
 */

import type { CapturedSite } from "./allocation_sites.ts";
import type { BlockGuards, GuardedRange } from "./block_guards.ts";
import type { MemoryViolation } from "./memory_corruption.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { StreamBarrier } from "./stream_barrier.ts";
import type { StreamSlot } from "./stream_slots.ts";
import { violationsOf } from "./violation_record.ts";

/** Most blocks that are held. */
const MOST_BLOCKS = 256;

/** A block in quarantine. */
export interface HeldBlock {
  /** Where it is. */
  readonly range: GuardedRange;
  /** Its stream. */
  readonly stream: MemoryStream;
  /** Other streams that had used it. */
  readonly usedOn: ReadonlySet<MemoryStream>;
  /** Who allocated it. */
  readonly site: CapturedSite;
  /** Who freed it. */
  readonly freedAt: CapturedSite;
  /** Whether it is filled with a pattern, and not declared; else it is as its owner left it. */
  readonly isPoisoned: boolean;
}

interface Entry {
  held: HeldBlock;
  /** Keeps it pending. */
  readonly hold: StreamSlot;
}

/** The quarantine of a pool. */
export class BlockQuarantine {
  readonly #engine: PoolEngine;
  readonly #guards: BlockGuards;
  readonly #barrier: StreamBarrier;
  readonly #mostBytes: number;
  readonly #entries: Entry[] = [];
  #bytes = 0;

  /**
   * An empty one.
   *
   * @param mostBytes Most bytes that it holds.
   */
  constructor(
    engine: PoolEngine,
    guards: BlockGuards,
    barrier: StreamBarrier,
    mostBytes: number,
  ) {
    this.#engine = engine;
    this.#guards = guards;
    this.#barrier = barrier;
    this.#mostBytes = mostBytes;
  }

  /** How many blocks are in it. */
  get size(): number {
    return this.#entries.length;
  }

  /** Whether a block is not larger than all that may be held. */
  fits(range: GuardedRange): boolean {
    return sizeOf(range) <= this.#mostBytes;
  }

  /** Holds a block that is about to be given to the engine. */
  hold(block: number, held: HeldBlock): void {
    this.#entries.push({ held, hold: this.#engine.streams.hold(block) });
    this.#bytes += sizeOf(held.range);
  }

  /** Lets the oldest go until no more is held than may be. What is found in them is added. */
  shrink(found: MemoryViolation[]): void {
    this.#letGo(found, () => this.#bytes > this.#mostBytes || this.size > MOST_BLOCKS);
  }

  /** Lets all go. */
  empty(found: MemoryViolation[]): void {
    this.#letGo(found, () => true);
  }

  /** Lets all go without a look: their memory goes, or is gone. */
  drop(): void {
    for (const { hold } of this.#entries.splice(0)) hold.completed = hold.epoch;
    this.#bytes = 0;
  }

  /** Looks at all, which stay. */
  check(found: MemoryViolation[]): void {
    for (const entry of this.#entries) {
      const isPoisoned = this.#look(entry.held, found) || entry.held.isPoisoned;
      entry.held = { ...entry.held, isPoisoned };
    }
  }

  #letGo(found: MemoryViolation[], mustGo: () => boolean): void {
    let went = false;
    try {
      while (this.#entries.length > 0 && mustGo()) {
        const { held, hold } = this.#entries.shift()!;
        this.#bytes -= sizeOf(held.range);
        // Whatever comes of looking at it, it must not be held for ever.
        hold.completed = hold.epoch;
        went = true;
        const wasSeen = this.#look(held, found);
        if (wasSeen || held.isPoisoned) continue;
        this.#engine.upstream.declare(held.range.address, held.range.bytes, false);
      }
    } finally {
      if (went) this.#settle();
    }
  }

  #settle(): void {
    this.#engine.streams.settle();
    this.#engine.counters.recount();
  }

  /** Looks at a block, which is filled with the pattern then; false where no stream is left for it. */
  #look(held: HeldBlock, found: MemoryViolation[]): boolean {
    const { range, isPoisoned, freedAt } = held;
    const stream = this.#barrier.usableFor(held.stream);
    if (stream === undefined) return false;
    this.#barrier.wait(held.stream);
    if (isPoisoned) {
      const { buffer, guards } = this.#guards.checkFreed(range, stream);
      found.push(...violationsOf("use after free", buffer, held, freedAt));
      found.push(...violationsOf("overrun", guards, held, freedAt));
    } else {
      for (const other of held.usedOn) this.#barrier.wait(other);
      const damage = this.#guards.checkLive(range, stream, true);
      found.push(...violationsOf("overrun", damage, held, freedAt));
    }
    // The next owner's stream knows nothing of this one.
    this.#barrier.wait(stream);
    return true;
  }
}

function sizeOf({ begin, end }: GuardedRange): number {
  return end - begin;
}
