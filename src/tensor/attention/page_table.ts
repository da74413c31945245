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
  /** How many sequences and others have each page. */
  readonly #holders: Uint32Array;
  #next = 0;

  constructor(pages: number, pageSize: number) {
    this.#pageSize = pageSize;
    this.#holders = new Uint32Array(pages);
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

  /**
   * Adds a sequence, and returns its number.
   *
   * @param pages Full pages that it begins with. Others may have them too, as nothing is written to a
   * full page.
   */
  add(pages: readonly number[] = []): number {
    pages.forEach((page) => this.hold(page));
    this.#sequences.set(this.#next, { length: pages.length * this.#pageSize, pages });
    return this.#next++;
  }

  /** The pages of a sequence, the last of which need not be full. */
  pagesOf(sequence: number, action: string): readonly number[] {
    return this.#sequence(sequence, action).pages;
  }

  /** Keeps a page that a sequence has, also without the sequence. */
  hold(page: number): void {
    this.#holders[page]!++;
  }

  /** Ends a `hold()`. */
  release(page: number): void {
    if (--this.#holders[page]! === 0) this.#free.push(page);
  }

  /** How many sequences and others have a page. */
  holdersOf(page: number): number {
    return this.#holders[page]!;
  }

  /** Whether there is such a sequence. */
  has(sequence: number): boolean {
    return this.#sequences.has(sequence);
  }

  /** The number of positions of a sequence. */
  lengthOf(sequence: number, action: string): number {
    return this.#sequence(sequence, action).length;
  }

  /** Removes a sequence. Its pages are free if no other has them. */
  remove(sequence: number, action: string): void {
    for (const page of this.#sequence(sequence, action).pages.toReversed()) this.release(page);
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
        pagesOf[row]!.slice(sequence.pages.length).forEach((page) => this.hold(page));
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
