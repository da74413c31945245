/**
 * Addresses for an upstream in memory: given out upwards and, like a driver's, given out again.
 *
 * @module
 */

/** Where addresses begin: where CUDA's do on Linux. */
const BASE = 0x7f00_0000_0000;

/** Gives out ranges of addresses of one alignment. */
export class AddressSpace {
  readonly #offset: number;
  readonly #alignment: number;
  readonly #reuse: boolean;
  readonly #returned = new Map<number, number[]>();
  #next: number;

  /**
   * Makes a space.
   *
   * @param alignment What addresses are multiples of after the offset; a power of two.
   * @param offset Added to each address, so that none is aligned to more than is promised.
   * @param reuse Whether a range that was given back is given out again.
   * @param base Where it begins.
   */
  constructor(alignment: number, offset: number, reuse: boolean, base: number = BASE) {
    this.#alignment = alignment;
    this.#offset = offset;
    this.#reuse = reuse;
    this.#next = base;
  }

  /** The last range of this size that was given back, else the next. */
  take(bytes: number): number {
    const returned = this.#returned.get(bytes)?.pop();
    if (returned !== undefined) return returned;
    const address = this.#next + this.#offset;
    // Behind each range one alignment stays free, so that running over an end touches nothing.
    const end = address + bytes + this.#alignment;
    this.#next = Math.ceil(end / this.#alignment) * this.#alignment;
    return address;
  }

  /** Takes a range back. */
  giveBack(address: number, bytes: number): void {
    if (!this.#reuse) return;
    const returned = this.#returned.get(bytes);
    if (returned === undefined) this.#returned.set(bytes, [address]);
    else returned.push(address);
  }
}
