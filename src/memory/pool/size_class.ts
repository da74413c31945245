/**
 * Size classes: which requests may have each other's blocks.
 *
 * A small request is rounded up to its class, so that any free block of the class serves it. There
 * are sixteen classes to a doubling; the first 32 are single units. Rounding therefore adds at most
 * a sixteenth, and less than a unit up to 16 KiB. Large requests are rounded to units only.
 *
 * @module
 */

import { UNIT } from "./block_table.ts";

/** The largest request that counts as small, in bytes. PyTorch draws its line there too. */
export const LARGEST_SMALL = 1048576;
/** The same in units. */
export const LARGEST_SMALL_UNITS = 2048;

/** Classes up to here hold one size each, of as many units as their number. */
const SINGLE = 32;

/** The number of classes; their numbers are 1 to one less. */
export const SIZE_CLASSES = 129;

/** The class of a small number of units. */
export function sizeClass(units: number): number {
  const doublings = 27 - Math.clz32(units - 1);
  const shift = doublings & ~(doublings >> 31);
  return (shift << 4) + ((units - 1) >> shift) + 1;
}

/** The units of a class's blocks. */
export function unitsOfClass(sizeClass: number): number {
  if (sizeClass <= SINGLE) return sizeClass;
  const shift = ((sizeClass - 1) >> 4) - 1;
  return (((sizeClass - 1) & 15) + 17) << shift;
}

/** The units of a block for this many bytes. */
export function unitsFor(bytes: number): number {
  const units = Math.ceil(bytes / UNIT);
  return units > LARGEST_SMALL_UNITS ? units : unitsOfClass(sizeClass(units));
}

/** The least multiple of a granule that is not less. */
export function roundUpTo(value: number, granule: number): number {
  return Math.ceil(value / granule) * granule;
}
