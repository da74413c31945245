/**
 * A small set of integers that is emptied in constant time.
 *
 * @module
 */

/** Slots: many more than members, as lookups should end at the first. */
const SLOTS = 512;
const SHIFT = 23;
const LAST_STAMP = 2 ** 31 - 1;

/** A set of at most 128 integers below 2^53. */
export class StampedSet {
  readonly #keys = new Float64Array(SLOTS);
  /** The stamp under which each key was added; keys with an older stamp are not in the set. */
  readonly #stamps = new Int32Array(SLOTS);
  #stamp = 1;

  /** Removes all members. */
  clear(): void {
    if (this.#stamp === LAST_STAMP) {
      this.#stamps.fill(0);
      this.#stamp = 0;
    }
    this.#stamp++;
  }

  /** Adds a member; false if it is one already. */
  add(key: number): boolean {
    const stamp = this.#stamp;
    let slot = Math.imul(key | 0, 0x9e3779b1) >>> SHIFT;
    while (this.#stamps[slot] === stamp) {
      if (this.#keys[slot] === key) return false;
      slot = slot + 1 & SLOTS - 1;
    }
    this.#stamps[slot] = stamp;
    this.#keys[slot] = key;
    return true;
  }
}
