/**
 * The last of many records.
 *
 * @module
 */

/** Keeps so many records and counts those that it drops, the earliest first. */
export class Ring<T> implements Iterable<T> {
  readonly #capacity: number;
  readonly #records: T[] = [];
  #added = 0;

  /**
   * An empty ring.
   *
   * @param capacity How many are kept; at least 1.
   */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** How many were dropped. */
  get dropped(): number {
    return this.#added - this.#records.length;
  }

  /** Adds a record. */
  add(record: T): void {
    this.#records[this.#added % this.#capacity] = record;
    this.#added++;
  }

  /** Those that are kept, earliest first. */
  *[Symbol.iterator](): Iterator<T> {
    const { length } = this.#records;
    const first = this.dropped === 0 ? 0 : this.#added % this.#capacity;
    for (let index = 0; index < length; index++) yield this.#records[(first + index) % length]!;
  }
}
