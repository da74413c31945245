/**
 * The lines that are followed: a bounded set, found by number, that gives up those whose hash is
 * greatest.
 *
 * @module
 */

/** What {@linkcode SampledLines.find} returns where a line is not in the set. */
export const ABSENT = -1;

/** Spreads the number of a line over 0 to 2^32 − 1. */
export function hashLine(line: number): number {
  let hash = Math.imul(line | 0, 0x9e3779b1) ^ Math.imul(line / 2 ** 32 | 0, 0x7feb352d);
  hash = Math.imul(hash ^ hash >>> 16, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  return (hash ^ hash >>> 16) >>> 0;
}

/** Lines, each a member with a number below the set's capacity. */
export class SampledLines {
  /** How many there are. */
  size = 0;

  readonly #lines: Float64Array<ArrayBuffer>;
  readonly #hashes: Uint32Array<ArrayBuffer>;
  /** Members + 1 by hash, with linear probing; 0 where there is none. */
  readonly #table: Int32Array<ArrayBuffer>;
  readonly #mask: number;
  /** Members, a heap with the greatest hash first; behind them those that are free. */
  readonly #heap: Int32Array<ArrayBuffer>;

  /** @param capacity How many lines there can be. */
  constructor(capacity: number) {
    this.#lines = new Float64Array(capacity);
    this.#hashes = new Uint32Array(capacity);
    this.#heap = Int32Array.from({ length: capacity }, (_, member) => member);
    const places = 2 ** Math.ceil(Math.log2(2 * capacity + 1));
    this.#table = new Int32Array(places);
    this.#mask = places - 1;
  }

  /** The member that a line is; {@linkcode ABSENT} where it is none. */
  find(line: number, hash: number): number {
    let place = scatter(hash) & this.#mask;
    for (;;) {
      const member = this.#table[place]! - 1;
      if (member === ABSENT || this.#lines[member] === line) return member;
      place = place + 1 & this.#mask;
    }
  }

  /** Adds a line that is not in the set, which is not full, and returns its member. */
  add(line: number, hash: number): number {
    const member = this.#heap[this.size]!;
    this.#lines[member] = line;
    this.#hashes[member] = hash;
    let place = scatter(hash) & this.#mask;
    while (this.#table[place] !== 0) place = place + 1 & this.#mask;
    this.#table[place] = member + 1;
    this.#rise(this.size++, member);
    return member;
  }

  /** The members that are lines, in no order. */
  members(): Int32Array<ArrayBuffer> {
    return this.#heap.subarray(0, this.size);
  }

  /** The greatest hash in the set, which is not empty. */
  get greatestHash(): number {
    return this.#hashes[this.#heap[0]!]!;
  }

  /** Removes the line with the greatest hash and returns the member that it was. */
  removeGreatest(): number {
    const member = this.#heap[0]!;
    this.#removeFromTable(member);
    const last = this.#heap[--this.size]!;
    this.#heap[this.size] = member;
    if (this.size > 0) this.#sink(last);
    return member;
  }

  #removeFromTable(member: number): void {
    const table = this.#table;
    const mask = this.#mask;
    let hole = scatter(this.#hashes[member]!) & mask;
    while (table[hole] !== member + 1) hole = hole + 1 & mask;
    // Those behind it move up, unless that were before the place where one looks for them first.
    for (let place = hole + 1 & mask; table[place] !== 0; place = place + 1 & mask) {
      const home = scatter(this.#hashes[table[place]! - 1]!) & mask;
      if ((place - home & mask) < (place - hole & mask)) continue;
      table[hole] = table[place]!;
      hole = place;
    }
    table[hole] = 0;
  }

  #rise(from: number, member: number): void {
    const heap = this.#heap;
    const hash = this.#hashes[member]!;
    let node = from;
    while (node > 0) {
      const parent = node - 1 >>> 1;
      if (this.#hashes[heap[parent]!]! >= hash) break;
      heap[node] = heap[parent]!;
      node = parent;
    }
    heap[node] = member;
  }

  #sink(member: number): void {
    const heap = this.#heap;
    const hashes = this.#hashes;
    const hash = hashes[member]!;
    let node = 0;
    for (;;) {
      let child = 2 * node + 1;
      if (child >= this.size) break;
      if (child + 1 < this.size && hashes[heap[child + 1]!]! > hashes[heap[child]!]!) child++;
      if (hashes[heap[child]!]! <= hash) break;
      heap[node] = heap[child]!;
      node = child;
    }
    heap[node] = member;
  }
}

/** Lines in the set have low hashes, so the places in the table come from other bits. */
function scatter(hash: number): number {
  const spread = Math.imul(hash, 0x9e3779b1);
  return spread ^ spread >>> 15;
}
