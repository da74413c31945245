/**
 * Returns memory that has been free for long.
 *
 * Freed blocks carry the number of a tick, because reading the time would cost more than freeing.
 * The age of a free block is known to within a tick.
 *
 * @module
 */

import { logger } from "../../ffi/logging.ts";
import type { BlockPool } from "./block_pool.ts";

/** Ticks per interval: memory is returned after one to one and a quarter intervals. */
const TICKS_PER_INTERVAL = 4;
const MIN_TICK = 5;

const MAX_REMEMBERED = 1024; // Ticks remembered before some are dropped
/** Dropped ticks blur the time of others by at most this share of their age. */
const PRECISION = 1 / 32;

export class PoolClock {
  readonly #pool: { tick: number };
  #starts: { readonly tick: number; readonly time: number }[];

  /** Starts the present tick at a time in milliseconds, of any clock that never goes back. */
  constructor(pool: { tick: number }, now: number) {
    this.#pool = pool;
    this.#starts = [{ tick: pool.tick, time: now }];
  }

  advance(now: number): void {
    this.#starts.push({ tick: ++this.#pool.tick, time: now });
    if (this.#starts.length <= MAX_REMEMBERED) return;
    // Drops ticks that are close to their neighbours relative to their age.
    let kept = this.#starts[0]!;
    this.#starts = this.#starts.filter((start, index, all) => {
      const next = all[index + 1];
      const isDropped = index > 0 && next !== undefined &&
        next.time - kept.time < (now - next.time) * PRECISION;
      if (!isDropped) kept = start;
      return !isDropped;
    });
  }

  /**
   * The age in ticks of the last tick that is known to have ended by a time; `undefined` if none
   * had.
   */
  ticksSince(time: number): number | undefined {
    const start = this.#starts.findLast((start) => start.time <= time);
    if (start === undefined || start === this.#starts[0]) return undefined;
    return this.#pool.tick - start.tick + 1;
  }
}

/** The expiry of a pool. Its timer runs while the pool has memory, and keeps no process alive. */
export class PoolExpiry {
  readonly #pool: Pick<BlockPool, "upstream" | "reservedBytes" | "tick" | "lastFreed" | "expire">;
  readonly #interval: number;
  readonly #clock: PoolClock;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * Expiry after this many milliseconds; 0 is never.
   *
   * @param pool The pool; {@linkcode PoolExpiry.update} is called whenever its memory changes.
   */
  constructor(
    pool: Pick<BlockPool, "upstream" | "reservedBytes" | "tick" | "lastFreed" | "expire">,
    interval: number,
  ) {
    this.#pool = pool;
    this.#interval = interval;
    this.#clock = new PoolClock(pool, performance.now());
  }

  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  /** Starts the timer if the pool has memory, and stops it otherwise. */
  update(): void {
    if (this.#interval === 0) return;
    if (this.#pool.reservedBytes === 0) this.stop();
    else if (this.#timer === undefined) {
      const tick = Math.max(this.#interval / TICKS_PER_INTERVAL, MIN_TICK);
      this.#timer = setInterval(() => this.#onTick(), tick);
      Deno.unrefTimer(this.#timer);
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Returns memory that is known to be free for this many milliseconds. The result is its size. */
  expire(age: number): number {
    const now = performance.now();
    this.#clock.advance(now);
    const isIdle = this.#pool.lastFreed <= now - age;
    const ticks = isIdle ? 0 : this.#clock.ticksSince(now - age);
    return ticks === undefined ? 0 : this.#pool.expire(ticks);
  }

  #onTick(): void {
    const { label, lost } = this.#pool.upstream;
    if (lost) return this.stop();
    try {
      this.expire(this.#interval);
    } catch (error) {
      // A timer has no caller; the next user of the device gets the error too.
      logger("memory").error("{label}: cannot give back memory that stayed free: {error}", {
        label,
        error,
      });
    }
  }
}
