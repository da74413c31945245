/**
 * Work for allocators: blocks of random sizes of which one after the other is freed and replaced.
 * The same in every run and for every allocator.
 *
 * @module
 */

import { SeededRandom } from "../traces/seeded_random.ts";

/** How many replacements are drawn in advance; they come again in another combination. */
const DRAWN = 2 ** 16;

/** Sizes between two, on a logarithmic scale, and which of the live blocks each replaces. */
export class Replacements {
  /** How many blocks are live. */
  readonly live: number;
  readonly #sizes = new Float64Array(DRAWN);
  readonly #order = new Int32Array(DRAWN);
  #at = 0;

  /**
   * Draws them.
   *
   * @param live How many blocks are live.
   * @param least The smallest size in bytes.
   * @param most The largest size in bytes, which is not reached.
   */
  constructor(live: number, least: number, most: number) {
    const random = new SeededRandom(live + most);
    this.live = live;
    for (let index = 0; index < DRAWN; index++) {
      this.#sizes[index] = Math.floor(least * (most / least) ** random.fraction());
      this.#order[index] = Math.floor(random.fraction() * live);
    }
  }

  /** The size of a block that is live at the beginning. */
  firstSize(index: number): number {
    return this.#sizes[index % DRAWN]!;
  }

  /**
   * The next replacements, for the caller to walk through: the arrays' elements belong together.
   *
   * @param count A divisor of 2^16.
   */
  next(count: number): { sizes: Float64Array<ArrayBuffer>; order: Int32Array<ArrayBuffer> } {
    const at = this.#at;
    this.#at += count;
    // In every round the sizes meet other blocks.
    const shifted = (at + Math.floor(at / DRAWN) * 7 * count) % DRAWN;
    return {
      sizes: this.#sizes.subarray(shifted, shifted + count),
      order: this.#order.subarray(at % DRAWN, at % DRAWN + count),
    };
  }
}
