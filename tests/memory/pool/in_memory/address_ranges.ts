/**
 * Ranges of addresses that do not overlap, each with something that is known of it.
 *
 * @module
 */

/** Ranges by address. Finding takes logarithmic time; adding at the end is cheap. */
export class AddressRanges<Value> {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #values: Value[] = [];

  /** How many there are. */
  get size(): number {
    return this.#starts.length;
  }

  /** The index of the first range that ends behind an address. */
  #firstEndingAfter(address: number): number {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ends[middle]! <= address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Adds a range; false where it overlaps one that is there. */
  add(start: number, bytes: number, value: Value): boolean {
    const index = this.#firstEndingAfter(start);
    const end = start + bytes;
    if (index < this.#starts.length && this.#starts[index]! < end) return false;
    this.#starts.splice(index, 0, start);
    this.#ends.splice(index, 0, end);
    this.#values.splice(index, 0, value);
    return true;
  }

  /** Removes the range that begins at an address and returns its end; undefined if none does. */
  remove(start: number): number | undefined {
    const index = this.#firstEndingAfter(start);
    if (this.#starts[index] !== start) return undefined;
    this.#starts.splice(index, 1);
    this.#values.splice(index, 1);
    return this.#ends.splice(index, 1)[0];
  }

  /** Removes all ranges that overlap one. */
  removeWithin(start: number, bytes: number): void {
    const first = this.#firstEndingAfter(start);
    let last = first;
    while (last < this.#starts.length && this.#starts[last]! < start + bytes) last++;
    this.#starts.splice(first, last - first);
    this.#ends.splice(first, last - first);
    this.#values.splice(first, last - first);
  }

  /** The range that an address lies in. */
  at(address: number): { start: number; end: number; value: Value } | undefined {
    const index = this.#firstEndingAfter(address);
    const start = this.#starts[index];
    if (start === undefined || !(start <= address)) return undefined; // also for NaN
    return { start, end: this.#ends[index]!, value: this.#values[index]! };
  }

  /** Everything that is known of the ranges, by address. */
  values(): readonly Value[] {
    return this.#values;
  }
}
