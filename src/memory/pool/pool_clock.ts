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

/** A tick and when it began. */
interface TickBegin {
  readonly tick: number;
  readonly time: number;
}

/** From so many ticks on, some are forgotten. */
const REMEMBERED = 1024;
/** How exactly the time of a tick stays known: to this share of how long ago it was. */
const EXACTNESS = 1 / 32;

/** The ticks of a pool. */
export class PoolClock {
  readonly #counter: TickCounter;
  #begins: TickBegin[];

  /**
   * A clock whose present tick begins.
   *
   * @param now The time in milliseconds, of any clock that never goes back.
   */
  constructor(counter: TickCounter, now: number) {
    this.#counter = counter;
    this.#begins = [{ tick: counter.tick, time: now }];
  }

  /** Begins a tick. */
  advance(now: number): void {
    this.#begins.push({ tick: ++this.#counter.tick, time: now });
    if (this.#begins.length > REMEMBERED) this.#begins = thinned(this.#begins, now);
  }

  /**
   * How many ticks ago that tick was that is known to have ended last before a time, or at it;
   * `undefined` where none had ended yet.
   */
  ticksSince(time: number): number | undefined {
    const begin = this.#begins.findLast((begin) => begin.time <= time);
    if (begin === undefined || begin === this.#begins[0]) return undefined;
    return this.#counter.tick - begin.tick + 1;
  }
}

/** Leaves ticks out that tell little: those close to their neighbours, as seen from now. */
function thinned(begins: readonly TickBegin[], now: number): TickBegin[] {
  let kept = begins[0]!;
  return begins.filter((begin, index) => {
    const next = begins[index + 1];
    const tellsLittle = index > 0 && next !== undefined &&
      next.time - kept.time < (now - next.time) * EXACTNESS;
    if (!tellsLittle) kept = begin;
    return !tellsLittle;
  });
}
