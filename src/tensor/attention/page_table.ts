/**
 * The pages of growing sequences.
 *
 * @module
 */

import { cannot } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

interface Sequence {
  length: number;
  pages: readonly number[];
}

/** The lengths and the pages of sequences, a row of `width` numbers for each. */
export interface PageRows {
  readonly table: Int32Array<ArrayBuffer>;
  readonly width: number;
  /** The largest length. */
  readonly longest: number;
}

/** Refuses anything but different numbers. */
export function requireSequences(sequences: unknown, action: string): readonly number[] {
  if (Array.isArray(sequences) && new Set(sequences).size === sequences.length) return sequences;
  throw new TypeError(
    `${cannot(action)} as sequences must be an array of different numbers: it is ${
      describeValue(sequences)
    }`,
  );
}

/**
 * Which pages of a pool each sequence has: they take them as they grow and give them back when they
 * are removed. Several pools may share a table.
 */
export class PageTable {
  readonly #pageSize: number;
  readonly #sequences = new Map<number, Sequence>();
  readonly #free: number[];
  #next = 0;

  constructor(pages: number, pageSize: number) {
    this.#pageSize = pageSize;
    this.#free = Array.from({ length: pages }, (_, page) => pages - 1 - page);
  }

  #sequence(number: number, action: string): Sequence {
    const sequence = this.#sequences.get(number);
    if (sequence !== undefined) return sequence;
    throw new RangeError(
      `${cannot(action)} as sequences must be numbers that add() returned: one is ${
        describeValue(number)
      }`,
    );
  }

  /** The number of pages that no sequence has. */
  get freePages(): number {
    return this.#free.length;
  }

  /** Adds an empty sequence, and returns its number. */
  add(): number {
    this.#sequences.set(this.#next, { length: 0, pages: [] });
    return this.#next++;
  }

  /** Whether there is such a sequence. */
  has(sequence: number): boolean {
    return this.#sequences.has(sequence);
  }

  /** The number of positions of a sequence. */
  lengthOf(sequence: number, action: string): number {
    return this.#sequence(sequence, action).length;
  }

  /** Removes a sequence and frees its pages. */
  remove(sequence: number, action: string): void {
    this.#free.push(...this.#sequence(sequence, action).pages.toReversed());
    this.#sequences.delete(sequence);
  }

  /**
   * Positions after the ends of different sequences, which `commit()` adds to them.
   *
   * @param tokens The number of new positions of each sequence.
   * @returns `slots`: the places of the positions in the pool, those of one sequence after another.
   * @throws {RangeError} If there is no such sequence, or too few pages are free.
   */
  grow(
    sequences: readonly number[],
    tokens: readonly number[],
    action: string,
  ): { readonly slots: Int32Array<ArrayBuffer>; readonly commit: () => void } {
    const all = sequences.map((it) => this.#sequence(it, action));
    const pageSize = this.#pageSize;
    const lengths = all.map(({ length }, row) => length + tokens[row]!);
    const grown = lengths.map((length) => Math.ceil(length / pageSize));
    const needed = all.reduce((sum, { pages }, row) => sum + grown[row]! - pages.length, 0);
    if (needed > this.freePages) {
      throw new RangeError(
        `${cannot(action)} as enough pages must be free: it needs ${needed} of ${this.freePages}`,
      );
    }
    const taken = this.#free.slice(this.freePages - needed);
    const pagesOf = all.map(({ pages }, row) => [
      ...pages,
      ...Array.from({ length: grown[row]! - pages.length }, () => taken.pop()!),
    ]);
    const slots = new Int32Array(tokens.reduce((sum, count) => sum + count, 0));
    let next = 0;
    all.forEach(({ length }, row) => {
      for (let at = length; at < lengths[row]!; at++) {
        const page = pagesOf[row]![Math.floor(at / pageSize)]!;
        slots[next++] = page * pageSize + at % pageSize;
      }
    });
    const commit = () => {
      this.#free.length -= needed;
      all.forEach((sequence, row) => {
        sequence.length = lengths[row]!;
        sequence.pages = pagesOf[row]!;
      });
    };
    return { slots, commit };
  }

  /** The lengths and the pages of sequences. */
  rowsOf(sequences: readonly number[], action: string): PageRows {
    const all = sequences.map((number) => this.#sequence(number, action));
    const width = 1 + Math.max(0, ...all.map(({ pages }) => pages.length));
    const table = new Int32Array(all.length * width);
    all.forEach(({ length, pages }, row) => table.set([length, ...pages], row * width));
    return { table, width, longest: Math.max(0, ...all.map(({ length }) => length)) };
  }
}
