/**
 * A bounded list that keeps its most recent records.
 *
 * @module
 */

/** Keeps the last `capacity` records and counts the dropped ones. */
export class Ring<T> implements Iterable<T> {
  readonly #capacity: number;
  readonly #records: T[] = [];
  #added = 0;

  /** Makes an empty ring of at least one record. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Number of dropped records. */
  get dropped(): number {
    return this.#added - this.#records.length;
  }

  /** Adds a record and drops the oldest if the ring is full. */
  add(record: T): void {
    this.#records[this.#added % this.#capacity] = record;
    this.#added++;
  }

  /** Iterates over the kept records, oldest first. */
  *[Symbol.iterator](): Iterator<T> {
    const { length } = this.#records;
    const first = this.dropped === 0 ? 0 : this.#added % this.#capacity;
    for (let index = 0; index < length; index++) yield this.#records[(first + index) % length]!;
  }
}
