/**
 * The lines that are followed: a set, found by number, that gives up those whose hash is greatest.
 *
 * @module
 */

import { hashLine, lowerOf, spreadOf, upperOf } from "./line_hash.ts";

/** Stands for no member. */
const NONE = 0;

/** Lines, each a member with a number from 1 to the set's capacity. */
export class SampledLines {
  /** How many there are. */
  size = 0;

  readonly #lines: Float64Array<ArrayBuffer>;
  readonly #hashes: Int32Array<ArrayBuffer>;
  /** The first member whose hash ends alike, and after each the next one. */
  readonly #heads: Int32Array<ArrayBuffer>;
  readonly #next: Int32Array<ArrayBuffer>;
  readonly #mask: number;
  /** Members that were lines. */
  readonly #free: Int32Array<ArrayBuffer>;
  #freed = 0;
  /** Members that are lines or were. */
  #used = 0;

  /** @param capacity How many lines there can be. */
  constructor(capacity: number) {
    this.#lines = new Float64Array(capacity + 1);
    this.#hashes = new Int32Array(capacity + 1);
    this.#next = new Int32Array(capacity + 1);
    this.#free = new Int32Array(capacity);
    const heads = 2 ** Math.ceil(Math.log2(capacity));
    this.#heads = new Int32Array(heads);
    this.#mask = heads - 1;
  }

  /**
   * Finds members, and adds lines that are none.
   *
   * @param members Where they go.
   * @param lines The lines.
   * @param from The first.
   * @param to Behind the last.
   * @param base What was taken off the number of each, which changes nothing in its upper half.
   */
  findAll(
    members: Int32Array<ArrayBuffer>,
    lines: Int32Array<ArrayBuffer>,
    from: number,
    to: number,
    base: number,
  ): void {
    const known = this.#lines;
    const next = this.#next;
    const heads = this.#heads;
    const mask = this.#mask;
    const lower = lowerOf(base);
    const spread = spreadOf(upperOf(base));
    for (let i = from; i < to; i++) {
      const line = base + lines[i]!;
      const hash = hashLine(lower + lines[i]! | 0, spread);
      let member = heads[hash & mask]!;
      while (member !== NONE && known[member] !== line) member = next[member]!;
      members[i - from] = member !== NONE ? member : this.#add(line, hash);
    }
  }

  #add(line: number, hash: number): number {
    const member = this.#freed > 0 ? this.#free[--this.#freed]! : ++this.#used;
    const place = hash & this.#mask;
    this.#lines[member] = line;
    this.#hashes[member] = hash;
    this.#next[member] = this.#heads[place]!;
    this.#heads[place] = member;
    this.size++;
    return member;
  }

  /**
   * Removes the lines whose hash is not below a threshold.
   *
   * @param removed Where the members go that they were.
   * @returns How many they are.
   */
  removeFrom(threshold: number, removed: Int32Array<ArrayBuffer>): number {
    const hashes = this.#hashes;
    let count = 0;
    for (let member = 1; member <= this.#used; member++) {
      if (hashes[member]! < threshold) continue;
      this.#unlink(member);
      // It is not found a second time.
      hashes[member] = -1;
      this.#free[this.#freed++] = member;
      removed[count++] = member;
    }
    this.size -= count;
    return count;
  }

  #unlink(member: number): void {
    const next = this.#next;
    const place = this.#hashes[member]! & this.#mask;
    let before = this.#heads[place]!;
    if (before === member) {
      this.#heads[place] = next[member]!;
      return;
    }
    while (next[before] !== member) before = next[before]!;
    next[before] = next[member]!;
  }
}
