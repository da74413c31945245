/**
 * Giving back memory that has been free for long.
 *
 * @module
 */

import type { MemoryUpstream } from "./memory_upstream.ts";
import { logger } from "../../ffi/logging.ts";
import { PoolClock, type TickCounter } from "./pool_clock.ts";
import { RESERVED_BYTES } from "./pool_counters.ts";

/** A pool, as far as expiry is concerned. */
export interface ExpiringPool {
  /** What counts its ticks, its reserved bytes, and where its memory comes from. */
  readonly engine: TickCounter & {
    readonly counters: { current(measure: number): number };
    readonly upstream: Pick<MemoryUpstream, "label" | "lost">;
  };
  /** Gives back what was freed this many ticks ago or earlier; how many bytes it was. */
  expire(ticks: number): number;
}

/** Ticks to an interval: memory goes back when it was free for one to one and a quarter of them. */
const TICKS_PER_INTERVAL = 4;
/** The shortest tick of the timer in milliseconds: a shorter one would only cost time. */
const SHORTEST_TICK = 5;

/** The expiry of a pool. Its timer runs while the pool has memory, and keeps no process alive. */
export class PoolExpiry {
  readonly #pool: ExpiringPool;
  readonly #interval: number;
  readonly #clock: PoolClock;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * Expiry after so many milliseconds; 0 is never.
   *
   * @param pool The pool; {@linkcode PoolExpiry.update} is to be called when its memory changes.
   */
  constructor(pool: ExpiringPool, interval: number) {
    this.#pool = pool;
    this.#interval = interval;
    this.#clock = new PoolClock(pool.engine, performance.now());
  }

  /** Whether the timer runs. */
  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  /** Starts the timer where there is something that may go back one day, stops it otherwise. */
  update(): void {
    if (this.#interval === 0) return;
    if (this.#pool.engine.counters.current(RESERVED_BYTES) === 0) this.stop();
    else if (this.#timer === undefined) this.#start();
  }

  /** Stops the timer. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Gives back now what is known to have been free for so many milliseconds.
   *
   * @returns How many bytes it was.
   */
  expire(age: number): number {
    const now = performance.now();
    this.#clock.advance(now);
    const ticks = this.#clock.ticksSince(now - age);
    return ticks === undefined ? 0 : this.#pool.expire(ticks);
  }

  #start(): void {
    const tick = Math.max(this.#interval / TICKS_PER_INTERVAL, SHORTEST_TICK);
    const timer = setInterval(() => this.#onTick(), tick);
    Deno.unrefTimer(timer);
    this.#timer = timer;
  }

  #onTick(): void {
    const { label, lost } = this.#pool.engine.upstream;
    // A lost device has taken the memory with it.
    if (lost) return this.stop();
    try {
      this.expire(this.#interval);
    } catch (error) {
      // Nobody called this who could be told; whoever uses the device next is.
      logger("memory").error("{label}: cannot give back memory that stayed free: {error}", {
        label,
        error,
      });
    }
  }
}
