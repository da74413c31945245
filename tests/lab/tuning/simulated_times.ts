/**
 * Times that look random and are the same in every run, for tests of what is made of times.
 *
 * @module
 */

/** Numbers in [0, 1) that are the same for the same seed. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}

/**
 * Times of a launch on a busy machine: some per cent of jitter, a drift that slows everything down,
 * and now and then an interruption that takes many times as long.
 */
export class SimulatedDevice {
  readonly #random: () => number;
  readonly #jitter: number;
  /** How often each was timed. */
  readonly launches: number[] = [];
  #drift = 1;

  /**
   * @param jitter The widest share by which a time is longer than it should be.
   */
  constructor(seed: number, jitter: number) {
    this.#random = generator(seed);
    this.#jitter = jitter;
  }

  /** Times one whose true time is this. */
  time(index: number, truth: number): number {
    this.launches[index] = (this.launches[index] ?? 0) + 1;
    this.#drift *= 1.001;
    const interruption = this.#random() < 0.03 ? 50 : 1;
    return truth * this.#drift * (1 + this.#jitter * this.#random()) * interruption;
  }
}
