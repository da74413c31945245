/**
 * Random numbers that are the same on every machine and in every run, for the generated traces.
 *
 * @module
 */

/**
 * A small generator of pseudo-random numbers: a Weyl sequence of 32 bits through the finaliser of
 * MurmurHash3 (Appleby, public domain). Its period is 2^32, many times what a trace takes.
 *
 * @example
 * ```ts
 * import { SeededRandom } from "./seeded_random.ts";
 *
 * console.log(new SeededRandom(1).integer(1, 6) === new SeededRandom(1).integer(1, 6)); // true
 * ```
 */
export class SeededRandom {
  #state: number;

  /** Starts a sequence; every seed, an integer of 32 bits, gives another one. */
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

  /** An integer, all in `minimum..maximum` equally likely. */
  integer(minimum: number, maximum: number): number {
    return minimum + Math.floor(this.fraction() * (maximum - minimum + 1));
  }

  /** An integer in `minimum..maximum` whose logarithm is evenly spread: small ones are common. */
  logarithmic(minimum: number, maximum: number): number {
    const value = minimum * ((maximum + 1) / minimum) ** this.fraction();
    return Math.min(maximum, Math.floor(value));
  }

  /** An element of a list that is not empty. */
  choose<T>(list: readonly T[]): T {
    return list[this.integer(0, list.length - 1)]!;
  }

  /** Puts a list into a random order. */
  shuffle<T>(list: T[]): void {
    for (let last = list.length - 1; last > 0; last--) {
      const other = this.integer(0, last);
      [list[last], list[other]] = [list[other]!, list[last]!];
    }
  }
}
