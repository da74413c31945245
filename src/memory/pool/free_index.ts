/**
 * Size classes, and an index of free blocks by size: two-level segregated fit.
 *
 * A small request is rounded up to its size class: any free block of the class serves it. There are
 * sixteen classes to a doubling; the first 32 are single units. Rounding adds at most a sixteenth,
 * and less than a unit up to 16 KiB. Large requests are rounded to units only.
 *
 * In the index, sizes fall into 32 bins to a doubling. Two levels of bit maps name the bins that
 * hold blocks, which makes finding a bin independent of the number of blocks. Within a bin the
 * smallest of the first few fitting blocks is taken: nearly best fit. Only if no larger bin has any
 * block are more of them examined, up to a limit. Among blocks of one size the lowest address can be
 * preferred, which keeps free memory together: address-ordered best fit.
 *
 * After M. Masmano, I. Ripoll, A. Crespo and J. Real, "TLSF: a New Dynamic Memory Allocator for
 * Real-Time Systems", ECRTS 2004.
 *
 * @module
 */

import {
  ADDRESS,
  type BlockTable,
  FLOAT_SHIFT,
  LINK,
  LINK_BACK,
  RECORD_SHIFT,
  UNIT,
  UNITS,
} from "./block_table.ts";

export const MAX_SMALL = 1048576; // The largest small request in bytes; PyTorch draws the same line
const MAX_SMALL_UNITS = MAX_SMALL / UNIT;
/** Classes up to this one hold one size each: as many units as their number. */
const SINGLE_CLASSES = 32;
export const SIZE_CLASSES = 129; // The number of classes; they are numbered from 1

export function sizeClass(units: number): number {
  const shift = Math.max(0, 27 - Math.clz32(units - 1));
  return (shift << 4) + ((units - 1) >> shift) + 1;
}

export function unitsOfClass(sizeClass: number): number {
  if (sizeClass <= SINGLE_CLASSES) return sizeClass;
  const shift = ((sizeClass - 1) >> 4) - 1;
  return (((sizeClass - 1) & 15) + 17) << shift;
}

export function unitsFor(bytes: number): number {
  const units = Math.ceil(bytes / UNIT);
  return units > MAX_SMALL_UNITS ? units : unitsOfClass(sizeClass(units));
}

/** The smallest multiple of a granule that is at least the value. */
export function roundUpTo(value: number, granule: number): number {
  return Math.ceil(value / granule) * granule;
}

const LEVELS = 32; // Doublings of a set; the first holds all sizes below 32 units
const BINS = 32;
const LOOKS = 8;
/** Blocks examined if all that fit are in the bin of the size itself: some microseconds. */
const MAX_LOOKS = 1024;

function binOf(units: number): number {
  if (units < BINS) return units;
  const exponent = 31 - Math.clz32(units);
  return ((exponent - 4) << 5) + ((units >>> (exponent - 5)) & 31);
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

export function extended(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(length);
  longer.set(array);
  return longer;
}

/** Sets of free blocks, each searched on its own. */
export class FreeIndex {
  readonly #table: BlockTable;
  #sets = 0;
  // One bit per level of each set; one per bin of each level; the first block of each bin.
  #levels = new Int32Array(0);
  #bins = new Int32Array(0);
  #heads = new Int32Array(0);

  constructor(table: BlockTable) {
    this.#table = table;
  }

  ensure(set: number): void {
    if (set < this.#sets) return;
    this.#sets = Math.max(set + 1, this.#sets * 2, 4);
    this.#levels = extended(this.#levels, this.#sets);
    this.#bins = extended(this.#bins, this.#sets * LEVELS);
    this.#heads = extended(this.#heads, this.#sets * LEVELS * BINS);
  }

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
   * A block of a set with at least this many units, nearly the smallest; 0 for none.
   *
   * @param isOrdered Prefers the lowest address among blocks of one size. The default is the last
   * inserted, which is found sooner.
   */
  find(set: number, units: number, isOrdered = false): number {
    const bin = binOf(units);
    const level = bin >> 5;
    // The bin of the size itself holds smaller and larger blocks.
    const head = this.#heads[(set << 10) + bin]!;
    const near = this.#smallest(head, units, LOOKS, isOrdered);
    if (near !== 0) return near;
    const inLevel = this.#bins[(set << 5) + level]! & (-2 << (bin & 31));
    if (inLevel !== 0) return this.#firstOf(set, level, inLevel, units, isOrdered);
    const above = this.#levels[set]! & (-2 << level);
    if (above === 0) return this.#smallest(head, units, MAX_LOOKS, isOrdered);
    const next = lowestBit(above);
    return this.#firstOf(set, next, this.#bins[(set << 5) + next]!, units, isOrdered);
  }

  /** The blocks of a set with at least this many units, nearly the smallest first. */
  *near(set: number, units: number): Generator<number> {
    const first = binOf(units);
    for (let level = first >> 5; level < LEVELS; level++) {
      let bins = this.#bins[(set << 5) + level]!;
      if (level === first >> 5) bins &= -1 << (first & 31);
      for (; bins !== 0; bins &= bins - 1) {
        let block = this.#heads[(set << 10) + (level << 5) + lowestBit(bins)]!;
        for (; block !== 0; block = this.#table.field(block, LINK)) {
          if (this.#table.units(block) >= units) yield block;
        }
      }
    }
  }

  largest(set: number): number {
    const levels = this.#levels[set]!;
    if (levels === 0) return 0;
    const level = 31 - Math.clz32(levels);
    const bin = 31 - Math.clz32(this.#bins[(set << 5) + level]!);
    let largest = 0;
    let block = this.#heads[(set << 10) + (level << 5) + bin]!;
    for (; block !== 0; block = this.#table.field(block, LINK)) {
      if (largest === 0 || this.#table.units(block) > this.#table.units(largest)) largest = block;
    }
    return largest;
  }

  #firstOf(set: number, level: number, bins: number, units: number, isOrdered: boolean): number {
    const head = this.#heads[(set << 10) + (level << 5) + lowestBit(bins)]!;
    return this.#smallest(head, units, LOOKS, isOrdered);
  }

  #smallest(head: number, units: number, looks: number, isOrdered: boolean): number {
    const { ints } = this.#table;
    let best = 0;
    let bestSize = 0x7fffffff;
    for (let block = head, left = looks; block !== 0 && left > 0; left--) {
      const at = block << RECORD_SHIFT;
      const size = ints[at + UNITS]!;
      if (size >= units && size < bestSize) {
        best = block;
        bestSize = size;
        if (size === units && !isOrdered) break;
      } else if (size === bestSize && isOrdered && this.#isBefore(block, best)) best = block;
      block = ints[at + LINK]!;
    }
    return best;
  }

  #isBefore(block: number, other: number): boolean {
    const { floats } = this.#table;
    return floats[(block << FLOAT_SHIFT) + ADDRESS]! < floats[(other << FLOAT_SHIFT) + ADDRESS]!;
  }
}
