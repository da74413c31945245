/**
 * A set that keeps its order, for the models: a sorted array searched by halves.
 *
 * Insertion moves what follows, which for the few thousand free blocks of a trace is one short
 * copy of memory. What orders a value must not change while it is in the set.
 *
 * @module
 */

/** Values in the order of a comparison that is 0 only for a value with itself. */
export class OrderedSet<T> {
  readonly #values: T[] = [];
  readonly #compare: (left: T, right: T) => number;

  /** @param compare Negative, 0 or positive, as for `Array.prototype.sort`. */
  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare;
  }

  /** The value at a position of the order; `undefined` beyond the ends. */
  at(position: number): T | undefined {
    return this.#values[position];
  }

  /** The position of the first value for which a test that never turns back to false holds. */
  firstPosition(holds: (value: T) => boolean): number {
    let low = 0;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(this.#values[middle]!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The position of a value, or where it would be. */
  #positionOf(value: T): number {
    return this.firstPosition((other) => this.#compare(other, value) >= 0);
  }

  /**
   * Adds a value.
   *
   * @throws {TypeError} If it is in the set.
   */
  insert(value: T): void {
    const position = this.#positionOf(value);
    const other = this.#values[position];
    if (other !== undefined && this.#compare(other, value) === 0) {
      throw new TypeError("Cannot insert a value into an ordered set as it is there already");
    }
    this.#values.splice(position, 0, value);
  }

  /** Takes a value out; false when it was not in the set. */
  delete(value: T): boolean {
    const position = this.#positionOf(value);
    const other = this.#values[position];
    if (other === undefined || this.#compare(other, value) !== 0) return false;
    this.#values.splice(position, 1);
    return true;
  }

  /** The values in order. The set must not change while one walks through it. */
  [Symbol.iterator](): IterableIterator<T> {
    return this.#values.values();
  }
}
