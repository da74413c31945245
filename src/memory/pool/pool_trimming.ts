/**
 * Giving free memory back to the device.
 *
 * @module
 */

import type { GraphMemory } from "./graph_memory.ts";
import type { GuardedBlocks } from "./guarded_blocks.ts";
import type { PoolEngine } from "./pool_engine.ts";
import { LARGE, SMALL } from "./segment.ts";

/** What is trimmed. */
export interface TrimmedPool {
  /** Whose memory it is. */
  readonly engine: PoolEngine;
  /** Who keeps memory for graphs. */
  readonly graphs: GraphMemory;
  /** Who keeps freed blocks for a while, in debug mode. */
  readonly guarded: GuardedBlocks | undefined;
  /** Called before a wait that blocks. */
  readonly onWait: () => void;
}

/** The ways in which a pool gives memory back. */
export class PoolTrimming {
  readonly #pool: TrimmedPool;
  readonly #engine: PoolEngine;
  #sheds = false;

  /** Gives nothing back yet. */
  constructor(pool: TrimmedPool) {
    this.#pool = pool;
    this.#engine = pool.engine;
  }

  /**
   * Gives all free memory back that no stream uses, without waiting.
   *
   * @returns How many bytes it was.
   */
  trim(): number {
    this.#pool.guarded?.release("empty the cache");
    this.#engine.streams.settle();
    const bytes = this.#reclaim(Infinity);
    this.#engine.counters.recount();
    return bytes;
  }

  /** The same after waiting, without blocking the event loop, for what streams still use. */
  async trimAsync(): Promise<number> {
    const { streams, upstream } = this.#engine;
    let bytes = this.trim();
    // Twice, as what one stream waited for may be another's. What is freed meanwhile can wait.
    for (let round = 0; round < 2; round++) {
      for (const mark of streams.marks()) {
        await upstream.wait(mark.event);
        bytes += this.trim();
      }
    }
    return bytes;
  }

  /**
   * Gives back what is more than the pool may keep, or all that is free where others asked for it.
   * Small cached blocks join the rest only if that is not enough, as they are hits to come.
   *
   * @param bytes How much it is; `Infinity` for all.
   */
  shed(bytes: number): void {
    const { streams, upstream, counters } = this.#engine;
    if (this.#sheds || upstream.capturing || upstream.lost) return;
    this.#sheds = true;
    try {
      let left = bytes;
      for (const kind of bytes === Infinity ? [undefined] : [LARGE, SMALL] as const) {
        streams.settle(undefined, kind);
        left -= this.#reclaim(left);
        if (left <= 0) break;
      }
      counters.recount();
    } finally {
      this.#sheds = false;
    }
  }

  /**
   * Gives back what was freed this many ticks of the clock ago or earlier.
   *
   * @returns How many bytes it was.
   */
  expire(ticks: number): number {
    const { streams, counters, tick } = this.#engine;
    streams.settle();
    const bytes = streams.space.reclaimOld(tick - ticks);
    counters.count("expired", bytes);
    counters.recount();
    return bytes;
  }

  /** Waits, blocking this thread, until no stream uses freed memory any more. */
  settleSync(): void {
    const { streams, upstream, counters } = this.#engine;
    streams.settle();
    // What one stream waited for may be another's, which then has to be waited for as well.
    for (let marks = [...streams.marks()]; marks.length > 0; marks = [...streams.marks()]) {
      for (const mark of marks) {
        this.#pool.onWait();
        upstream.waitSync(mark.event);
      }
      streams.settle();
    }
    counters.recount();
  }

  /** Gives back this much, or what there is, of the free memory that is in no cache. */
  #reclaim(bytes: number): number {
    let returned = 0;
    for (const space of this.#engine.streams.spaces()) {
      if (returned < bytes && !this.#pool.graphs.owns(space)) {
        returned += space.reclaim(bytes - returned);
      }
    }
    return returned;
  }
}
