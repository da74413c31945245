/**
 * The free blocks of a pool: their owners, and how they are found, split, joined and cached.
 *
 * Every free block has an owner, a stream slot. Work on the slot's stream may use the block at once.
 * The blocks of a space's common slot serve any stream, because no stream uses them any more.
 * Neighbours join if both are free and have the same owner. The blocks of an owner are also listed
 * in the order in which they were freed, because streams finish with them in that order.
 *
 * Besides, a cache keeps some free blocks whole for the next request of their size.
 *
 * @module
 */

import {
  AGE_BACK,
  AGE_LINK,
  type BlockTable,
  CACHED,
  EPOCH,
  FREE,
  LINK,
  LIVE,
  NEXT,
  OWNER,
  PREVIOUS,
  RECORD_SHIFT,
  STATE,
  TICK,
  UNIT,
  UNITS,
  UNMAPPED,
} from "./block_table.ts";
import { extended, FreeIndex, SIZE_CLASSES, sizeClass, unitsOfClass } from "./free_index.ts";
import type { PoolCounters } from "./pool_statistics.ts";

/** The free blocks of a pool, except cached ones. */
export class FreeBlocks {
  readonly #table: BlockTable;
  readonly #index: FreeIndex;
  readonly #oldest: number[] = [];
  readonly #newest: number[] = [];
  readonly latestEpoch: number[] = [];
  readonly freeUnits: number[] = [];
  readonly blocks: [number, number] = [0, 0];
  /** The number of free blocks that are whole segments, by kind. */
  readonly wholeBlocks: [number, number] = [0, 0];
  readonly wholeUnits: [number, number] = [0, 0];

  constructor(table: BlockTable) {
    this.#table = table;
    this.#index = new FreeIndex(table);
  }

  addOwner(owner: number): void {
    this.#index.ensure(owner * 2 + 1);
    this.#oldest[owner] ??= 0;
    this.#newest[owner] ??= 0;
    this.freeUnits[owner] ??= 0;
    this.latestEpoch[owner] = 0;
  }

  /**
   * A free block of an owner with at least this many units, which stays free; 0 for none.
   *
   * It is nearly the smallest. Among large blocks of one size it is the first by address. The block
   * at the end of the mapped memory (the wilderness of D. Lea's `malloc`) is the last choice,
   * because it grows with the memory that is mapped behind it.
   */
  find(owner: number, kind: number, units: number): number {
    const set = owner * 2 + kind;
    if (kind === 0) return this.#index.find(set, units);
    const found = this.#index.find(set, units, true);
    if (found === 0 || !this.#isWilderness(found)) return found;
    this.#index.remove(set, found);
    const other = this.#index.find(set, units, true);
    this.#index.insert(set, found);
    return other === 0 ? found : other;
  }

  near(owner: number, kind: number, units: number): Iterable<number> {
    return this.#index.near(owner * 2 + kind, units);
  }

  largest(owner: number): number {
    const small = this.#index.largest(owner * 2);
    const large = this.#index.largest(owner * 2 + 1);
    if (small === 0 || large === 0) return small | large;
    return this.#table.units(small) > this.#table.units(large) ? small : large;
  }

  oldest(owner: number): number {
    return this.#oldest[owner]!;
  }

  /** The block that its owner freed next; 0 for none. */
  younger(block: number): number {
    return this.#table.field(block, AGE_LINK);
  }

  /** Removes a free block; the caller sets its state. */
  take(block: number): void {
    const owner = this.#table.owner(block);
    this.#remove(block);
    this.#removeAge(block, owner);
    this.freeUnits[owner]! -= this.#table.units(block);
  }

  /**
   * Frees a block for an owner and joins it with free neighbours.
   *
   * @param epoch The owner's epoch in which it was freed.
   * @returns The block that it is now part of.
   */
  release(block: number, owner: number, epoch: number, tick: number): number {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    this.freeUnits[owner]! += ints[at + UNITS]!;
    // A joined block counts as freed when its last part was. Epochs are compared modulo 2^32.
    let lastEpoch = epoch;
    let lastTick = tick;
    const join = (neighbour: number, first: number) => {
      const neighbourAt = neighbour << RECORD_SHIFT;
      if (((ints[neighbourAt + EPOCH]! - lastEpoch) | 0) > 0) {
        lastEpoch = ints[neighbourAt + EPOCH]!;
      }
      lastTick = Math.max(lastTick, ints[neighbourAt + TICK]!);
      this.#remove(neighbour);
      this.#removeAge(neighbour, owner);
      this.#table.absorbNext(first);
    };
    const next = ints[at + NEXT]!;
    if (next !== 0 && this.#isFreeFor(next, owner)) join(next, block);
    let merged = block;
    const previous = ints[at + PREVIOUS]!;
    if (previous !== 0 && this.#isFreeFor(previous, owner)) {
      join(previous, previous);
      merged = previous;
    }
    this.#describeFree(merged, owner, lastEpoch, lastTick);
    this.latestEpoch[owner] = Math.max(this.latestEpoch[owner]!, epoch);
    this.#add(merged);
    this.#insertAge(merged, this.#newest[owner]!);
    return merged;
  }

  /**
   * Hands the first units of a free block that any stream may use to one stream.
   *
   * @returns The block that they are now part of.
   */
  adopt(block: number, units: number, owner: number, epoch: number): number {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const tick = ints[at + TICK]!;
    const common = ints[at + OWNER]!;
    this.take(block);
    // In no free state meanwhile, or the rest would join it again.
    ints[at + STATE] = LIVE;
    if (units < ints[at + UNITS]!) {
      this.release(this.#table.split(block, units), common, 0, tick);
    }
    return this.release(block, owner, epoch, tick);
  }

  /**
   * Makes part of a free block live; the rest stays free for the same owner.
   *
   * @param skip Units that stay free before it.
   */
  carve(block: number, skip: number, units: number): number {
    const table = this.#table;
    const owner = table.owner(block);
    const epoch = table.field(block, EPOCH);
    const tick = table.field(block, TICK);
    this.#remove(block);
    this.freeUnits[owner]! -= units;
    const carved = skip > 0 ? table.split(block, skip) : block;
    if (skip > 0) this.#add(block);
    if (table.units(carved) > units) {
      const rest = table.split(carved, units);
      this.#describeFree(rest, owner, epoch, tick);
      this.#add(rest);
      // The rest keeps the block's place in the order of freeing.
      this.#insertAge(rest, block);
    }
    if (skip === 0) this.#removeAge(block, owner);
    table.setState(carved, LIVE);
    return carved;
  }

  skipFor(block: number, alignment: number): number {
    const over = this.#table.address(block) % alignment;
    return over === 0 ? 0 : (alignment - over) / UNIT;
  }

  #describeFree(block: number, owner: number, epoch: number, tick: number): void {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    ints[at + STATE] = FREE;
    ints[at + OWNER] = owner;
    ints[at + EPOCH] = epoch;
    ints[at + TICK] = tick;
  }

  /** Whether only addresses without memory follow a block. */
  #isWilderness(block: number): boolean {
    const next = this.#table.field(block, NEXT);
    return next !== 0 && this.#table.field(next, STATE) === UNMAPPED &&
      this.#table.field(next, NEXT) === 0;
  }

  #isFreeFor(block: number, owner: number): boolean {
    return this.#table.field(block, STATE) === FREE && this.#table.owner(block) === owner;
  }

  #setOf(block: number): number {
    return this.#table.owner(block) * 2 + this.#table.kind(block);
  }

  #add(block: number): void {
    this.#index.insert(this.#setOf(block), block);
    this.#count(block, 1);
  }

  #remove(block: number): void {
    this.#index.remove(this.#setOf(block), block);
    this.#count(block, -1);
  }

  #count(block: number, change: 1 | -1): void {
    const table = this.#table;
    const kind = table.kind(block);
    this.blocks[kind] += change;
    if (table.field(block, PREVIOUS) !== 0 || table.field(block, NEXT) !== 0) return;
    this.wholeBlocks[kind] += change;
    this.wholeUnits[kind] += change * table.units(block);
  }

  /** Lists a block right behind another of its owner; at the start if that is 0. */
  #insertAge(block: number, behind: number): void {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const owner = ints[at + OWNER]!;
    const next = behind === 0 ? this.#oldest[owner]! : ints[(behind << RECORD_SHIFT) + AGE_LINK]!;
    ints[at + AGE_BACK] = behind;
    ints[at + AGE_LINK] = next;
    if (behind === 0) this.#oldest[owner] = block;
    else ints[(behind << RECORD_SHIFT) + AGE_LINK] = block;
    if (next === 0) this.#newest[owner] = block;
    else ints[(next << RECORD_SHIFT) + AGE_BACK] = block;
  }

  #removeAge(block: number, owner: number): void {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const back = ints[at + AGE_BACK]!;
    const link = ints[at + AGE_LINK]!;
    if (back === 0) this.#oldest[owner] = link;
    else ints[(back << RECORD_SHIFT) + AGE_LINK] = link;
    if (link === 0) this.#newest[owner] = back;
    else ints[(link << RECORD_SHIFT) + AGE_BACK] = back;
  }
}

/**
 * Free blocks that are kept whole: for each stream slot a stack per size class of small blocks, and
 * one large block. Neighbours do not join them. A search that finds nothing else empties the cache.
 */
export class BlockCache {
  readonly #table: BlockTable;
  readonly #counters: PoolCounters;
  /** The first block of each list; the list of a class is at `slot * SIZE_CLASSES + class`. */
  #heads = new Int32Array(0);
  #counts = new Int32Array(0);
  #large = new Int32Array(0);

  constructor(table: BlockTable, counters: PoolCounters) {
    this.#table = table;
    this.#counters = counters;
  }

  addSlot(slot: number): void {
    if (slot < this.#large.length) return;
    const slots = Math.max(slot + 1, this.#large.length * 2, 4);
    this.#heads = extended(this.#heads, slots * SIZE_CLASSES);
    this.#counts = extended(this.#counts, slots * SIZE_CLASSES);
    this.#large = extended(this.#large, slots);
  }

  takeSmall(slot: number, units: number): number {
    const list = slot * SIZE_CLASSES + sizeClass(units);
    const block = this.#heads[list]!;
    if (block === 0) return 0;
    this.#heads[list] = this.#table.field(block, LINK);
    this.#counts[list]!--;
    return block;
  }

  /** Keeps a small block unless its list has this many already; whether it did. */
  putSmall(slot: number, block: number, maxBlocks: number): boolean {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const list = slot * SIZE_CLASSES + sizeClass(ints[at + UNITS]!);
    if (this.#counts[list]! >= maxBlocks) return false;
    ints[at + STATE] = CACHED;
    ints[at + LINK] = this.#heads[list]!;
    this.#heads[list] = block;
    this.#counts[list]!++;
    return true;
  }

  large(slot: number): number {
    return this.#large[slot]!;
  }

  setLarge(slot: number, block: number): void {
    this.#large[slot] = block;
    if (block !== 0) this.#table.setState(block, CACHED);
  }

  largestBytes(): number {
    let units = 0;
    // The size of block 0 is 0.
    for (const block of this.#large) units = Math.max(units, this.#table.units(block));
    for (let list = 0; list < this.#heads.length; list++) {
      if (this.#heads[list] !== 0) units = Math.max(units, unitsOfClass(list % SIZE_CLASSES));
    }
    return units * UNIT;
  }

  drainSmall(slot: number, release: (block: number) => void): boolean {
    const before = this.#counters.cachedBlocks(0);
    if (before === 0) return false;
    const first = slot * SIZE_CLASSES;
    for (let list = first; list < first + SIZE_CLASSES; list++) {
      let block = this.#heads[list]!;
      if (block === 0) continue;
      const count = this.#counts[list]!;
      this.#counters.noteUncached(0, count, count * this.#table.bytes(block));
      this.#heads[list] = 0;
      this.#counts[list] = 0;
      while (block !== 0) {
        const link = this.#table.field(block, LINK);
        release(block);
        block = link;
      }
    }
    return this.#counters.cachedBlocks(0) < before;
  }

  drainLarge(slot: number, release: (block: number) => void): boolean {
    const large = this.#large[slot]!;
    if (large === 0) return false;
    this.#large[slot] = 0;
    this.#counters.noteUncached(1, 1, this.#table.bytes(large));
    release(large);
    return true;
  }
}
