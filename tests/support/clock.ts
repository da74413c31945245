/** A clock that only a test moves, in the place of `performance.now()`, until it is disposed. */
export class Clock implements Disposable {
  readonly #real = performance.now;
  #now = Math.ceil(performance.now());

  constructor() {
    performance.now = () => this.#now;
  }

  /** Lets time pass, after what the program does when its task has ended. */
  async advance(milliseconds: number): Promise<void> {
    await Promise.resolve();
    this.#now += milliseconds;
  }

  [Symbol.dispose](): void {
    performance.now = this.#real;
  }
}
