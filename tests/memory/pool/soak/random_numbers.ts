/**
 * Random numbers for soaks: quick, and the same for the same seed.
 *
 * @module
 */

/** Xorshift with 32 bits; after G. Marsaglia, "Xorshift RNGs", 2003. */
export class RandomNumbers {
  #state: number;

  /** Begins at a seed. */
  constructor(seed: number) {
    // Neighbouring seeds give unlike numbers, and none gives the state 0, which gives only zeros.
    this.#state = (Math.imul(seed | 0, 0x9e3779b1) ^ 0x5bd1e995) || 1;
  }

  /** The next, from 0 to 2^32 − 1. */
  next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return state >>> 0;
  }

  /** An integer from 0 to one less than a limit, which is at most 2^32. */
  below(limit: number): number {
    return Math.floor(this.next() / 2 ** 32 * limit);
  }

  /** A size between two, each power of two as likely as the next. */
  size(least: number, most: number): number {
    return Math.floor(least * (most / least) ** (this.next() / 2 ** 32));
  }
}
