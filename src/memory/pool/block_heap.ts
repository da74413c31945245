/**
 * Free blocks: who may have them, how they are found, split and joined.
 *
 * Every free block has an owner, a stream slot. The blocks of slot `s` may be had by the work of
 * its stream at once; those of a space's common slot by anybody, as no stream uses them any more.
 * Neighbours join as soon as both are free and have the same owner.
 *
 * The blocks of an owner are also listed in the order in which they were freed, since streams get
 * through with them in that order.
 *
 * @module
 */

import type { BlockTable } from "./block_table.ts";
import type * as table from "./block_table.ts";
import { FreeIndex } from "./free_index.ts";

// Copies, as in `pool_engine.ts`.
const UNIT: typeof table.UNIT = 512;
const RECORD_SHIFT: typeof table.RECORD_SHIFT = 4;
const UNITS: typeof table.UNITS = 0;
const STATE: typeof table.STATE = 1;
const PREVIOUS: typeof table.PREVIOUS = 2;
const NEXT: typeof table.NEXT = 3;
const OWNER: typeof table.OWNER = 6;
const EPOCH: typeof table.EPOCH = 7;
const SEGMENT: typeof table.SEGMENT = 8;
const TICK: typeof table.TICK = 9;
const AGE_BACK: typeof table.AGE_BACK = 10;
const AGE_LINK: typeof table.AGE_LINK = 11;
const LIVE: typeof table.LIVE = 1;
const FREE: typeof table.FREE = 3;
const UNMAPPED: typeof table.UNMAPPED = 5;

/** The free blocks of a pool. */
export class BlockHeap {
  readonly #table: BlockTable;
  readonly #index: FreeIndex;
  #oldest: number[] = [];
  #newest: number[] = [];
  /** The latest epoch in which each owner freed a block. */
  readonly latestEpoch: number[] = [];
  /** Free units by owner; cached and pending blocks do not count. */
  readonly freeUnits: number[] = [];
  /** Free blocks by kind. */
  readonly blocks: [number, number] = [0, 0];
  /** Those of them that are whole segments. */
  readonly wholeBlocks: [number, number] = [0, 0];
  /** The units of these. */
  readonly wholeUnits: [number, number] = [0, 0];

  /** A heap of a table's blocks, none of them free. */
  constructor(table: BlockTable) {
    this.#table = table;
    this.#index = new FreeIndex(table);
  }

  /** Makes room for an owner of this number. */
  addOwner(owner: number): void {
    this.#index.ensure(owner * 2 + 1);
    this.#oldest[owner] ??= 0;
    this.#newest[owner] ??= 0;
    this.freeUnits[owner] ??= 0;
    this.latestEpoch[owner] = 0;
  }

  /**
   * A free block of an owner with at least this many units, which stays in the heap; 0 for none.
   *
   * It is nearly the smallest. Among large segments it is the first by address where several are
   * of that size, and the block at the end of what is mapped only where no other fits: that one
   * grows with what is mapped behind it, and serves what is longer than anything that is free. It
   * is what D. Lea's `malloc` calls the wilderness.
   *
   * @param kind 0 among small segments, 1 among large ones.
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

  /** The free blocks of an owner with at least this many units, nearly the smallest first. */
  near(owner: number, kind: number, units: number): Iterable<number> {
    return this.#index.near(owner * 2 + kind, units);
  }

  /** The largest free block of an owner, 0 for none. */
  largest(owner: number): number {
    const small = this.#index.largest(owner * 2);
    const large = this.#index.largest(owner * 2 + 1);
    if (small === 0 || large === 0) return small | large;
    return this.#table.units(small) > this.#table.units(large) ? small : large;
  }

  /** The block that an owner freed first; 0 for none. */
  oldest(owner: number): number {
    return this.#oldest[owner]!;
  }

  /** The block that its owner freed next; 0 for none. */
  younger(block: number): number {
    return this.#table.field(block, AGE_LINK);
  }

  /** Takes a free block out of the heap; its state is for the caller to set. */
  take(block: number): void {
    const owner = this.#table.field(block, OWNER);
    this.#unlist(block);
    this.#removeAge(block, owner);
    this.freeUnits[owner]! -= this.#table.units(block);
  }

  /**
   * Makes a block free for an owner, joined with what is free beside it.
   *
   * @param epoch The owner's epoch in which it was freed.
   * @returns The block that it is now part of.
   */
  release(block: number, owner: number, epoch: number, tick: number): number {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const kind = (ints[at + SEGMENT]! & 1) as 0 | 1;
    this.freeUnits[owner]! += ints[at + UNITS]!;
    // Joined blocks were freed when the last of them was. Of epochs only the lower 32 bits are here,
    // of which the later ones are ahead of the others by less than half of all there are.
    let latest = epoch;
    let lastTick = tick;
    const next = ints[at + NEXT]!;
    if (next !== 0 && this.#isFreeFor(next, owner)) {
      const nextAt = next << RECORD_SHIFT;
      if (((ints[nextAt + EPOCH]! - latest) | 0) > 0) latest = ints[nextAt + EPOCH]!;
      lastTick = Math.max(lastTick, ints[nextAt + TICK]!);
      this.#leave(next, owner, kind);
      this.#table.absorbNext(block);
    }
    let merged = block;
    const previous = ints[at + PREVIOUS]!;
    if (previous !== 0 && this.#isFreeFor(previous, owner)) {
      const previousAt = previous << RECORD_SHIFT;
      if (((ints[previousAt + EPOCH]! - latest) | 0) > 0) latest = ints[previousAt + EPOCH]!;
      lastTick = Math.max(lastTick, ints[previousAt + TICK]!);
      this.#leave(previous, owner, kind);
      this.#table.absorbNext(previous);
      merged = previous;
    }
    this.#describeFree(merged, owner, latest, lastTick);
    this.latestEpoch[owner] = Math.max(this.latestEpoch[owner]!, epoch);
    this.#list(merged);
    this.#insertAge(merged, this.#newest[owner]!);
    return merged;
  }

  /**
   * Gives the first units of a free block, which any stream may have, to one.
   *
   * @returns The block that they are now part of.
   */
  adopt(block: number, units: number, owner: number, epoch: number): number {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const tick = ints[at + TICK]!;
    const common = ints[at + OWNER]!;
    this.take(block);
    // Neither free nor anything else meanwhile, or its rest would join it again.
    ints[at + STATE] = LIVE;
    if (units < ints[at + UNITS]!) {
      this.release(this.#table.split(block, units), common, 0, tick);
    }
    return this.release(block, owner, epoch, tick);
  }

  /**
   * Makes a live block of part of a free one, which leaves the heap; what is left over before and
   * behind stays free, for the same owner.
   *
   * @param skip Units left over before it.
   */
  carve(block: number, skip: number, units: number): number {
    if (skip > 0) return this.#carveInside(block, skip, units);
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const owner = ints[at + OWNER]!;
    this.#unlist(block);
    this.freeUnits[owner]! -= units;
    ints[at + STATE] = LIVE;
    if (ints[at + UNITS] === units) this.#removeAge(block, owner);
    else this.#inheritPlace(this.#table.split(block, units), block, owner);
    return block;
  }

  /** The same where something is left over before it. */
  #carveInside(block: number, skip: number, units: number): number {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const owner = ints[at + OWNER]!;
    const epoch = ints[at + EPOCH]!;
    const tick = ints[at + TICK]!;
    this.#unlist(block);
    const carved = this.#table.split(block, skip);
    this.#list(block);
    if (this.#table.units(carved) > units) {
      const rest = this.#table.split(carved, units);
      this.#describeFree(rest, owner, epoch, tick);
      this.#list(rest);
      this.#insertAge(rest, block);
    }
    this.freeUnits[owner]! -= units;
    this.#table.ints[(carved << RECORD_SHIFT) + STATE] = LIVE;
    return carved;
  }

  /** Makes what is left of a block free, in the place that the block had among the freed ones. */
  #inheritPlace(rest: number, block: number, owner: number): void {
    // Splitting may have moved the table.
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const restAt = rest << RECORD_SHIFT;
    const back = ints[at + AGE_BACK]!;
    const link = ints[at + AGE_LINK]!;
    ints[restAt + STATE] = FREE;
    ints[restAt + OWNER] = owner;
    ints[restAt + EPOCH] = ints[at + EPOCH]!;
    ints[restAt + TICK] = ints[at + TICK]!;
    ints[restAt + AGE_BACK] = back;
    ints[restAt + AGE_LINK] = link;
    if (back === 0) this.#oldest[owner] = rest;
    else ints[(back << RECORD_SHIFT) + AGE_LINK] = rest;
    if (link === 0) this.#newest[owner] = rest;
    else ints[(link << RECORD_SHIFT) + AGE_BACK] = rest;
    this.#list(rest);
  }

  /** How many units to leave over at the start of a block so that what follows is aligned. */
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

  /** Whether only addresses without memory are behind a block. */
  #isWilderness(block: number): boolean {
    const { ints } = this.#table;
    const next = ints[(block << RECORD_SHIFT) + NEXT]!;
    if (next === 0) return false;
    const nextAt = next << RECORD_SHIFT;
    return ints[nextAt + STATE] === UNMAPPED && ints[nextAt + NEXT] === 0;
  }

  #isFreeFor(block: number, owner: number): boolean {
    const at = block << RECORD_SHIFT;
    const { ints } = this.#table;
    return ints[at + STATE] === FREE && ints[at + OWNER] === owner;
  }

  /** Takes a free block, which has neighbours, out of the heap, whose units stay counted. */
  #leave(block: number, owner: number, kind: 0 | 1): void {
    this.#index.remove(owner * 2 + kind, block);
    this.blocks[kind]--;
    this.#removeAge(block, owner);
  }

  #setOf(block: number): number {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    return ints[at + OWNER]! * 2 + (ints[at + SEGMENT]! & 1);
  }

  #list(block: number): void {
    this.#index.insert(this.#setOf(block), block);
    this.#count(block, 1);
  }

  #unlist(block: number): void {
    this.#index.remove(this.#setOf(block), block);
    this.#count(block, -1);
  }

  #count(block: number, change: 1 | -1): void {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const kind = (ints[at + SEGMENT]! & 1) as 0 | 1;
    this.blocks[kind] += change;
    if (ints[at + PREVIOUS] !== 0 || ints[at + NEXT] !== 0) return;
    this.wholeBlocks[kind] += change;
    this.wholeUnits[kind] += change * ints[at + UNITS]!;
  }

  /** Lists a block right behind another of its owner; at the start when that is 0. */
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
