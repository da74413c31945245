/**
 * Free blocks that are kept whole for the next request of their size.
 *
 * Small ones are stacked by stream and size class; of large ones the last that was freed is kept
 * for each stream, which serves a loop that frees and allocates the same size, while all others
 * join their neighbours at once. Cached blocks are free memory: whoever finds none elsewhere has
 * them join the rest.
 *
 * @module
 */

import { type BlockTable, CACHED, LINK, RECORD_SHIFT, STATE, UNIT, UNITS } from "./block_table.ts";
import { SIZE_CLASSES, sizeClass, unitsOfClass } from "./size_class.ts";

/** The caches of all stream slots. */
export class BlockCache {
  readonly #table: BlockTable;
  readonly #mostBlocks: number;
  readonly #mostBytes: number;
  #heads = new Int32Array(0);
  #counts = new Int32Array(0);
  #large = new Int32Array(0);
  #cached = new Int32Array(0);
  #bytes = 0;

  /**
   * Empty caches.
   *
   * @param mostBlocks Most blocks of a size class that a stream's cache keeps.
   * @param mostBytes Most bytes that all caches keep together.
   */
  constructor(table: BlockTable, mostBlocks: number, mostBytes: number) {
    this.#table = table;
    this.#mostBlocks = mostBlocks;
    this.#mostBytes = mostBytes;
  }

  /** Blocks in all caches, small and large. */
  readonly blocks: [number, number] = [0, 0];

  /** Bytes in all caches. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the largest cached block. */
  largestBytes(): number {
    const { ints } = this.#table;
    let units = 0;
    for (const block of this.#large) {
      units = Math.max(units, ints[(block << RECORD_SHIFT) + UNITS]!);
    }
    // Record 0 is nobody's and its size 0.
    return (units === 0 ? this.#largestSmall() : units) * UNIT;
  }

  #largestSmall(): number {
    let largest = 0;
    for (let list = 0; list < this.#heads.length; list++) {
      if (this.#heads[list] !== 0) largest = Math.max(largest, unitsOfClass(list % SIZE_CLASSES));
    }
    return largest;
  }

  /** How many blocks a slot's cache holds. */
  blocksOf(slot: number): number {
    return this.#cached[slot]!;
  }

  /** Makes room for a slot of this number. */
  addSlot(slot: number): void {
    if (slot < this.#large.length) return;
    const slots = Math.max(slot + 1, this.#large.length * 2, 4);
    this.#heads = longer(this.#heads, slots * SIZE_CLASSES);
    this.#counts = longer(this.#counts, slots * SIZE_CLASSES);
    this.#large = longer(this.#large, slots);
    this.#cached = longer(this.#cached, slots);
  }

  /** A block of a size class; 0 for none. Its state is for the caller to set. */
  takeSmall(slot: number, sizeClass: number): number {
    const list = slot * SIZE_CLASSES + sizeClass;
    const block = this.#heads[list]!;
    if (block === 0) return 0;
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    this.#heads[list] = ints[at + LINK]!;
    this.#counts[list]!--;
    this.#cached[slot]!--;
    this.blocks[0]--;
    this.#bytes -= ints[at + UNITS]! * UNIT;
    return block;
  }

  /** The last large block that was freed, if it has this size; 0 otherwise. */
  takeLarge(slot: number, units: number): number {
    const block = this.#large[slot]!;
    if (block === 0 || this.#table.ints[(block << RECORD_SHIFT) + UNITS] !== units) return 0;
    this.#large[slot] = 0;
    this.#cached[slot]!--;
    this.blocks[1]--;
    this.#bytes -= units * UNIT;
    return block;
  }

  /** Keeps a small block; false where the cache has no room. */
  putSmall(slot: number, block: number, units: number): boolean {
    const list = slot * SIZE_CLASSES + sizeClass(units);
    const bytes = this.#bytes + units * UNIT;
    if (this.#counts[list]! >= this.#mostBlocks || bytes > this.#mostBytes) return false;
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    ints[at + STATE] = CACHED;
    ints[at + LINK] = this.#heads[list]!;
    this.#heads[list] = block;
    this.#counts[list]!++;
    this.#cached[slot]!++;
    this.blocks[0]++;
    this.#bytes = bytes;
    return true;
  }

  /**
   * Keeps a large block in place of the one that was kept.
   *
   * @returns The block that is not kept: the earlier one, or 0, or this one where it is too large.
   */
  putLarge(slot: number, block: number, units: number): number {
    const { ints } = this.#table;
    const earlier = this.#large[slot]!;
    const earlierBytes = earlier === 0 ? 0 : ints[(earlier << RECORD_SHIFT) + UNITS]! * UNIT;
    const bytes = this.#bytes - earlierBytes + units * UNIT;
    if (bytes > this.#mostBytes || this.#mostBlocks === 0) return block;
    ints[(block << RECORD_SHIFT) + STATE] = CACHED;
    this.#large[slot] = block;
    if (earlier === 0) {
      this.#cached[slot]!++;
      this.blocks[1]++;
    }
    this.#bytes = bytes;
    return earlier;
  }

  /** Empties a slot's cache into `release`. */
  drain(slot: number, release: (block: number) => void): void {
    if (this.#cached[slot] === 0) return;
    const { ints } = this.#table;
    const first = slot * SIZE_CLASSES;
    for (let list = first; list < first + SIZE_CLASSES; list++) {
      for (let block = this.#heads[list]!; block !== 0;) {
        const at = block << RECORD_SHIFT;
        const link = ints[at + LINK]!;
        this.#bytes -= ints[at + UNITS]! * UNIT;
        this.blocks[0]--;
        release(block);
        block = link;
      }
      this.#heads[list] = 0;
      this.#counts[list] = 0;
    }
    const large = this.#large[slot]!;
    if (large !== 0) {
      this.#large[slot] = 0;
      this.blocks[1]--;
      this.#bytes -= ints[(large << RECORD_SHIFT) + UNITS]! * UNIT;
      release(large);
    }
    this.#cached[slot] = 0;
  }
}

function longer(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(array);
  return copy;
}
