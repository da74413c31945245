/**
 * Reproducible pseudo-random numbers for generated traces.
 *
 * @module
 */

/**
 * A Weyl sequence of 32 bits through the finalizer of MurmurHash3 (Appleby, public domain), with a
 * period of 2^32.
 */
export class SeededRandom {
  #state: number;

  /** Starts the sequence of a seed, an integer of 32 bits. */
  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A number in 0 ≤ x < 1, a multiple of 2^-32. */
  fraction(): number {
    // The golden ratio times 2^32, made odd, visits every state once.
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let bits = this.#state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  }

  /** A uniform integer in `minimum..maximum`. */
  integer(minimum: number, maximum: number): number {
    return minimum + Math.floor(this.fraction() * (maximum - minimum + 1));
  }

  /** An integer in `minimum..maximum` with a uniform logarithm. */
  logarithmic(minimum: number, maximum: number): number {
    const value = minimum * ((maximum + 1) / minimum) ** this.fraction();
    return Math.min(maximum, Math.floor(value));
  }

  /** Shuffles a list. */
  shuffle<T>(list: T[]): void {
    for (let last = list.length - 1; last > 0; last--) {
      const other = this.integer(0, last);
      [list[last], list[other]] = [list[other]!, list[last]!];
    }
  }
}
