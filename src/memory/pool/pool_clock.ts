/**
 * The clock of a pool: at what time which of its ticks began.
 *
 * Freed blocks are stamped with the number of the tick, since reading the time would cost more than
 * freeing does. How long a block has been free is therefore known to a tick.
 *
 * @module
 */

/** What counts ticks: the engine of a pool. */
export interface TickCounter {
  /** The present tick. */
  tick: number;
}

/** Ticks that are remembered; what was freed before them counts as freed in the first of them. */
const REMEMBERED = 1024;

/** The ticks of a pool. */
export class PoolClock {
  readonly #counter: TickCounter;
  // When the last ticks began, oldest first; the last of them is the present one.
  readonly #begins: number[];

  /**
   * A clock whose present tick begins.
   *
   * @param now The time in milliseconds, of any clock that never goes back.
   */
  constructor(counter: TickCounter, now: number) {
    this.#counter = counter;
    this.#begins = [now];
  }

  /** Begins a tick, unless the present one is younger than `resolution` milliseconds. */
  advance(now: number, resolution = 0): void {
    if (now - this.#begins.at(-1)! < resolution) return;
    this.#counter.tick++;
    this.#begins.push(now);
    if (this.#begins.length > REMEMBERED) this.#begins.shift();
  }

  /**
   * How many ticks ago that tick was that ended last before a time, or at it; `undefined` where
   * none had ended yet.
   */
  ticksSince(time: number): number | undefined {
    const later = this.#begins.findLastIndex((begin) => begin <= time);
    // The first tick that is remembered has no predecessor that could have ended.
    const first = this.#counter.tick - this.#begins.length + 1;
    return later < 0 || first + later === 0 ? undefined : this.#begins.length - later;
  }
}
