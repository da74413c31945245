/**
 * Pages of earlier sequences, for later ones that begin with the same tokens.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { PageTable } from "../../tensor/attention/page_table.ts";

/**
 * The pages of texts by their tokens. A page is full, so it is never written again, and sequences may
 * have it together without a copy: what they do not share begins in a page of their own. The cache keeps
 * pages whose sequences have gone until others need them, those first that were used longest ago.
 */
export class PrefixCache {
  readonly #table: PageTable;
  readonly #pageSize: number;
  /**
   * By a digest of all tokens up to the end of the page, in the order of their last use. Of the pages of
   * a text, the first ones come last, because without them the others are not found.
   */
  readonly #pages = new Map<string, number>();
  /** The keys of the full pages of lists of tokens, which only grow: a request asks at many steps. */
  readonly #keys = new WeakMap<readonly number[], string[]>();

  constructor(table: PageTable, pageSize: number) {
    this.#table = table;
    this.#pageSize = pageSize;
  }

  /** Pages that the cache alone has. */
  get evictable(): number {
    return this.#pages.values().filter((page) => this.#table.holdersOf(page) === 1)
      .reduce((count) => count + 1, 0);
  }

  /** The key of a full page of tokens. */
  #keyOf(tokens: readonly number[], index: number): string {
    const keys = this.#keys.get(tokens) ?? [];
    this.#keys.set(tokens, keys);
    while (keys.length <= index) {
      const own = tokens.slice(keys.length * this.#pageSize, (keys.length + 1) * this.#pageSize);
      keys.push(createHash("sha256").update(`${keys.at(-1) ?? ""} ${own}`).digest("base64"));
    }
    return keys[index]!;
  }

  /** Calls f with the key of each full page of the first tokens, until it returns none. */
  #walk(
    tokens: readonly number[],
    length: number,
    f: (key: string, index: number) => number | undefined,
  ): number[] {
    const used: [string, number][] = [];
    for (let index = 0; (index + 1) * this.#pageSize <= length; index++) {
      const key = this.#keyOf(tokens, index);
      const page = f(key, index);
      if (page === undefined) break;
      used.push([key, page]);
    }
    for (const [key, page] of used.toReversed()) {
      this.#pages.delete(key);
      this.#pages.set(key, page);
    }
    return used.map(([, page]) => page);
  }

  /**
   * The pages of the longest known beginning of tokens; at least one token is not among them.
   *
   * @param tokens A list that only grows, also after the call.
   */
  find(tokens: readonly number[]): number[] {
    return this.#walk(tokens, tokens.length - 1, (key) => this.#pages.get(key));
  }

  /**
   * Keeps the full pages of a sequence.
   *
   * @param tokens A list that only grows, also after the call.
   * @param length How many of the tokens the sequence has.
   */
  keep(tokens: readonly number[], length: number, pages: readonly number[]): void {
    this.#walk(tokens, length, (key, index) => {
      const known = this.#pages.get(key);
      if (known === undefined) this.#table.hold(pages[index]!);
      return known ?? pages[index]!;
    });
  }

  /** Frees so many pages, or as many as the cache alone has. */
  evict(count: number): void {
    let left = count;
    for (const [key, page] of this.#pages) {
      if (left <= 0) return;
      if (this.#table.holdersOf(page) > 1) continue;
      this.#pages.delete(key);
      this.#table.release(page);
      left--;
    }
  }
}
