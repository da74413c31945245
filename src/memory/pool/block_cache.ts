/**
 * Free blocks that are kept whole for the next request of their size.
 *
 * Small ones are stacked by stream and size class. Of large ones the last that was freed is kept
 * for each stream, until the next large request or freeing: that serves a loop that frees and
 * allocates the same size, and costs no room, as any other request finds it among its neighbours.
 * Cached blocks are free memory: whoever finds none elsewhere has
 * them join the rest.
 *
 * Putting and taking is done where blocks are given and taken, in `pool_engine.ts`.
 *
 * @module
 */

import { type BlockTable, LINK, RECORD_SHIFT, UNIT, UNITS } from "./block_table.ts";
import {
  CACHED,
  CACHED_BYTES,
  DRAINED,
  DRAINED_BYTES,
  type PoolCounters,
} from "./pool_counters.ts";
import { SIZE_CLASSES, unitsOfClass } from "./size_class.ts";

/** The caches of all stream slots. */
export class BlockCache {
  /** The first block of each list; the list of a class is at `slot * SIZE_CLASSES + class`. */
  heads: Int32Array<ArrayBuffer> = new Int32Array(0);
  /** How many blocks each list has. */
  counts: Int32Array<ArrayBuffer> = new Int32Array(0);
  /** The large block of each slot. */
  large: Int32Array<ArrayBuffer> = new Int32Array(0);
  readonly #table: BlockTable;
  readonly #counters: PoolCounters;

  /** Empty caches. */
  constructor(table: BlockTable, counters: PoolCounters) {
    this.#table = table;
    this.#counters = counters;
  }

  /** Bytes in all caches. */
  get bytes(): number {
    return this.#counters.both(CACHED_BYTES);
  }

  /** Makes room for a slot of this number. */
  addSlot(slot: number): void {
    if (slot < this.large.length) return;
    const slots = Math.max(slot + 1, this.large.length * 2, 4);
    this.heads = longer(this.heads, slots * SIZE_CLASSES);
    this.counts = longer(this.counts, slots * SIZE_CLASSES);
    this.large = longer(this.large, slots);
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
    const { values } = this.#counters;
    const before = values[CACHED]!;
    if (before === 0) return false;
    const first = slot * SIZE_CLASSES;
    for (let list = first; list < first + SIZE_CLASSES; list++) {
      if (this.heads[list] !== 0) this.#drainList(list, release);
    }
    return values[CACHED]! < before;
  }

  /** The same with a slot's large block. */
  drainLarge(slot: number, release: (block: number) => void): boolean {
    const large = this.large[slot]!;
    if (large === 0) return false;
    this.large[slot] = 0;
    this.noteDrained(1, 1, this.#table.units(large) * UNIT);
    release(large);
    return true;
  }

  /** Counts blocks that leave a cache otherwise than by a hit. */
  noteDrained(kind: 0 | 1, blocks: number, bytes: number): void {
    const { values } = this.#counters;
    values[CACHED + kind]! -= blocks;
    values[CACHED_BYTES + kind]! -= bytes;
    values[DRAINED + kind]! += blocks;
    values[DRAINED_BYTES + kind]! += bytes;
  }

  #drainList(list: number, release: (block: number) => void): void {
    const bytes = unitsOfClass(list % SIZE_CLASSES) * UNIT;
    let block = this.heads[list]!;
    this.heads[list] = 0;
    this.noteDrained(0, this.counts[list]!, this.counts[list]! * bytes);
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

function longer(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(array);
  return copy;
}
