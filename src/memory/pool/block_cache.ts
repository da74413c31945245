/**
 * Free blocks that are kept whole for the next request of their size.
 *
 * Small ones are stacked by stream and size class. Of large ones one is kept for each stream that
 * is freed when no other was taken or freed since it was taken, until the next large request or
 * freeing: that serves a loop that allocates and frees the same size, which gets the place that it
 * would get anyway, and any other request finds the block among its neighbours. Cached blocks are
 * free memory: whoever finds none elsewhere has them join the rest.
 *
 * Putting and taking is done where blocks are given and taken, in `pool_engine.ts`.
 *
 * @module
 */

import { type BlockTable, LINK, RECORD_SHIFT, UNIT, UNITS } from "./block_table.ts";
import type { PoolAccounts } from "./pool_accounts.ts";
import { SIZE_CLASSES, unitsOfClass } from "./size_class.ts";

/** The caches of all stream slots. */
export class BlockCache {
  /** The first block of each list; the list of a class is at `slot * SIZE_CLASSES + class`. */
  heads: Int32Array<ArrayBuffer> = new Int32Array(0);
  /** How many blocks each list has. */
  counts: Int32Array<ArrayBuffer> = new Int32Array(0);
  /** How many requests each list has served. */
  hits: Float64Array<ArrayBuffer> = new Float64Array(0);
  /** The large block of each slot. */
  large: Int32Array<ArrayBuffer> = new Int32Array(0);
  readonly #table: BlockTable;
  readonly #counters: PoolAccounts;

  /** Empty caches. */
  constructor(table: BlockTable, counters: PoolAccounts) {
    this.#table = table;
    this.#counters = counters;
  }

  /** Bytes in all caches. */
  get bytes(): number {
    return this.#counters.cachedBytes(0) + this.#counters.cachedBytes(1);
  }

  /** Counts the requests that lists have served. */
  countHits(): void {
    let blocks = 0;
    let bytes = 0;
    for (let list = 0; list < this.hits.length; list++) {
      blocks += this.hits[list]!;
      bytes += this.hits[list]! * unitsOfClass(list % SIZE_CLASSES) * UNIT;
    }
    this.#counters.setSmallHits(blocks, bytes);
  }

  /** Makes room for a slot of this number. */
  addSlot(slot: number): void {
    if (slot < this.large.length) return;
    const slots = Math.max(slot + 1, this.large.length * 2, 4);
    this.heads = extended(this.heads, new Int32Array(slots * SIZE_CLASSES));
    this.counts = extended(this.counts, new Int32Array(slots * SIZE_CLASSES));
    this.hits = extended(this.hits, new Float64Array(slots * SIZE_CLASSES));
    this.large = extended(this.large, new Int32Array(slots));
  }

  /** Bytes of the largest cached block. */
  largestBytes(): number {
    const { ints } = this.#table;
    let units = 0;
    for (const block of this.large) {
      // Record 0 is nobody's and its size 0.
      units = Math.max(units, ints[(block << RECORD_SHIFT) + UNITS]!);
    }
    return (units === 0 ? this.#largestSmall() : units) * UNIT;
  }

  /** Empties a slot's cache of small blocks into `release`; whether there was anything. */
  drainSmall(slot: number, release: (block: number) => void): boolean {
    const before = this.#counters.cachedBlocks(0);
    if (before === 0) return false;
    const first = slot * SIZE_CLASSES;
    for (let list = first; list < first + SIZE_CLASSES; list++) {
      if (this.heads[list] !== 0) this.#drainList(list, release);
    }
    return this.#counters.cachedBlocks(0) < before;
  }

  /** The same with a slot's large block. */
  drainLarge(slot: number, release: (block: number) => void): boolean {
    const large = this.large[slot]!;
    if (large === 0) return false;
    this.large[slot] = 0;
    this.#counters.noteDrained(1, 1, this.#table.units(large) * UNIT);
    release(large);
    return true;
  }

  #drainList(list: number, release: (block: number) => void): void {
    const bytes = unitsOfClass(list % SIZE_CLASSES) * UNIT;
    let block = this.heads[list]!;
    this.heads[list] = 0;
    this.#counters.noteDrained(0, this.counts[list]!, this.counts[list]! * bytes);
    this.counts[list] = 0;
    while (block !== 0) {
      const link = this.#table.field(block, LINK);
      release(block);
      block = link;
    }
  }

  #largestSmall(): number {
    let largest = 0;
    for (let list = 0; list < this.heads.length; list++) {
      if (this.heads[list] !== 0) largest = Math.max(largest, unitsOfClass(list % SIZE_CLASSES));
    }
    return largest;
  }
}

function extended<A extends Int32Array | Float64Array>(array: A, longer: A): A {
  longer.set(array);
  return longer;
}
