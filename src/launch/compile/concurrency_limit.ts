/**
 * Doing no more at a time than there are processors for.
 *
 * @module
 */

/** Lets a number of tasks run at a time; the others wait in the order in which they came. */
export class ConcurrencyLimit {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  /** @param limit How many tasks may run at a time. */
  constructor(limit: number) {
    this.#free = limit;
  }

  /** Runs a task when its turn has come. */
  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      // The place goes to the next in line, so that none who comes now gets ahead of it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
