/**
 * Free blocks by size: two-level segregated fit.
 *
 * Sizes fall into bins, 32 to a doubling, and two levels of bit maps tell which bins hold
 * anything, so finding a bin takes a few instructions however many blocks there are. Within a bin
 * the smallest of the first few that fit is taken, which is nearly best fit. Only where no larger
 * bin has any are more looked at, and never more than so many. Among blocks of the same size the
 * lowest address may be asked for, which keeps what is free together: address-ordered best fit.
 *
 * After M. Masmano, I. Ripoll, A. Crespo and J. Real, "TLSF: a New Dynamic Memory Allocator for
 * Real-Time Systems", ECRTS 2004.
 *
 * @module
 */

import type { BlockTable } from "./block_table.ts";
import type * as table from "./block_table.ts";

// Copies, as in `pool_engine.ts`.
const RECORD_SHIFT: typeof table.RECORD_SHIFT = 4;
const FLOAT_SHIFT: typeof table.FLOAT_SHIFT = 3;
const UNITS: typeof table.UNITS = 0;
const LINK_BACK: typeof table.LINK_BACK = 4;
const LINK: typeof table.LINK = 5;
const ADDRESS: typeof table.ADDRESS = 6;

/** Doublings of a set; the first holds all sizes below 32 units. */
const LEVELS = 32;
/** Bins of a doubling. */
const BINS = 32;
/** How many blocks of a bin are looked at. */
const LOOKS = 8;
/** How many where all that fits is in the bin of the size itself: some microseconds' worth. */
const MOST_LOOKS = 1024;

function binOf(units: number): number {
  if (units < BINS) return units;
  const exponent = 31 - Math.clz32(units);
  return ((exponent - 4) << 5) + ((units >>> (exponent - 5)) & 31);
}

/** Sets of free blocks, each searched on its own. */
export class FreeIndex {
  readonly #table: BlockTable;
  #sets = 0;
  // One bit per level, of each set; one per bin, of each level; the first block of each bin.
  #levels = new Int32Array(0);
  #bins = new Int32Array(0);
  #heads = new Int32Array(0);

  /** An index of a table's blocks without any set. */
  constructor(table: BlockTable) {
    this.#table = table;
  }

  /** Makes sure that sets up to this number exist. */
  ensure(set: number): void {
    if (set < this.#sets) return;
    this.#sets = Math.max(set + 1, this.#sets * 2, 4);
    this.#levels = grown(this.#levels, this.#sets);
    this.#bins = grown(this.#bins, this.#sets * LEVELS);
    this.#heads = grown(this.#heads, this.#sets * LEVELS * BINS);
  }

  /** Adds a block to a set. */
  insert(set: number, block: number): void {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const bin = binOf(ints[at + UNITS]!);
    const place = (set << 10) + bin;
    const head = this.#heads[place]!;
    ints[at + LINK_BACK] = 0;
    ints[at + LINK] = head;
    if (head !== 0) ints[(head << RECORD_SHIFT) + LINK_BACK] = block;
    this.#heads[place] = block;
    this.#bins[place >> 5]! |= 1 << (bin & 31);
    this.#levels[set]! |= 1 << (bin >> 5);
  }

  /** Takes a block out of a set. */
  remove(set: number, block: number): void {
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    const back = ints[at + LINK_BACK]!;
    const link = ints[at + LINK]!;
    if (link !== 0) ints[(link << RECORD_SHIFT) + LINK_BACK] = back;
    if (back !== 0) {
      ints[(back << RECORD_SHIFT) + LINK] = link;
      return;
    }
    const bin = binOf(ints[at + UNITS]!);
    const place = (set << 10) + bin;
    this.#heads[place] = link;
    if (link !== 0) return;
    const level = place >> 5;
    this.#bins[level]! &= ~(1 << (bin & 31));
    if (this.#bins[level] === 0) this.#levels[set]! &= ~(1 << (bin >> 5));
  }

  /**
   * A block of a set of at least this size, nearly the smallest there is; 0 for none.
   *
   * @param isOrdered Whether of blocks of the same size the first by address is wanted; it is the
   *   last that came otherwise, which is found sooner.
   */
  find(set: number, units: number, isOrdered = false): number {
    const bin = binOf(units);
    const level = bin >> 5;
    // The bin of the size itself holds sizes on both sides of it.
    const head = this.#heads[(set << 10) + bin]!;
    const near = this.#smallest(head, units, LOOKS, isOrdered);
    if (near !== 0) return near;
    const inLevel = this.#bins[(set << 5) + level]! & (-2 << (bin & 31));
    if (inLevel !== 0) return this.#firstOf(set, level, inLevel, units, isOrdered);
    const above = this.#levels[set]! & (-2 << level);
    if (above === 0) return this.#smallest(head, units, MOST_LOOKS, isOrdered);
    const next = lowestBit(above);
    return this.#firstOf(set, next, this.#bins[(set << 5) + next]!, units, isOrdered);
  }

  /** The blocks of a set of at least this size, nearly the smallest first. */
  *near(set: number, units: number): Generator<number> {
    const { ints } = this.#table;
    const first = binOf(units);
    for (let level = first >> 5; level < LEVELS; level++) {
      let bins = this.#bins[(set << 5) + level]!;
      if (level === first >> 5) bins &= -1 << (first & 31);
      for (; bins !== 0; bins &= bins - 1) {
        let block = this.#heads[(set << 10) + (level << 5) + lowestBit(bins)]!;
        for (; block !== 0; block = ints[(block << RECORD_SHIFT) + LINK]!) {
          if (ints[(block << RECORD_SHIFT) + UNITS]! >= units) yield block;
        }
      }
    }
  }

  /** The largest block of a set; 0 for none. */
  largest(set: number): number {
    const levels = this.#levels[set]!;
    if (levels === 0) return 0;
    const level = 31 - Math.clz32(levels);
    const bin = 31 - Math.clz32(this.#bins[(set << 5) + level]!);
    let largest = 0;
    const { ints } = this.#table;
    let block = this.#heads[(set << 10) + (level << 5) + bin]!;
    for (; block !== 0; block = ints[(block << RECORD_SHIFT) + LINK]!) {
      if (largest === 0 || this.#table.units(block) > this.#table.units(largest)) largest = block;
    }
    return largest;
  }

  #firstOf(set: number, level: number, bins: number, units: number, isOrdered: boolean): number {
    const head = this.#heads[(set << 10) + (level << 5) + lowestBit(bins)]!;
    return this.#smallest(head, units, LOOKS, isOrdered);
  }

  /** The smallest block that fits among the first few of a bin. */
  #smallest(head: number, units: number, looks: number, isOrdered: boolean): number {
    const { ints } = this.#table;
    let best = 0;
    let least = 0x7fffffff;
    for (let block = head, left = looks; block !== 0 && left > 0; left--) {
      const at = block << RECORD_SHIFT;
      const size = ints[at + UNITS]!;
      if (size >= units && size < least) {
        best = block;
        least = size;
        if (size === units && !isOrdered) break;
      } else if (size === least && isOrdered && this.#isAhead(block, best)) best = block;
      block = ints[at + LINK]!;
    }
    return best;
  }

  #isAhead(block: number, of: number): boolean {
    const { floats } = this.#table;
    return floats[(block << FLOAT_SHIFT) + ADDRESS]! < floats[(of << FLOAT_SHIFT) + ADDRESS]!;
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

function grown(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(length);
  longer.set(array);
  return longer;
}
