/**
 * Hashes of lines, which say whether a line belongs to a sample.
 *
 * Whatever accesses have in common, a power of two or a stride, must not be seen in the sample. Two
 * multiplications between shifts are enough for that (constants: Wellons, "Prospecting for Hash
 * Functions", 2018, lowbias32); inside 2^32 lines no two have the same hash before it is halved.
 *
 * @module
 */

/** Hashes are below it. */
export const HASHES = 2 ** 31;

const HALF = 2 ** 32;

/** What the upper half of a line's number does to its hash: the same for all lines nearby. */
export function spreadOf(upper: number): number {
  let spread = Math.imul(upper ^ upper >>> 16, 0x9e3779b1);
  spread = Math.imul(spread ^ spread >>> 15, 0x85ebca6b);
  return spread ^ spread >>> 16;
}

/** The hash of a line: of the lower 32 bits of its number, and of what the upper ones do. */
export function hashLine(lower: number, spread: number): number {
  const mixed = Math.imul(lower ^ lower >>> 16, 0x7feb352d) ^ spread;
  const hash = Math.imul(mixed ^ mixed >>> 15, 0x846ca68b);
  return (hash ^ hash >>> 16) >>> 1;
}

/** The upper half of a line's number. */
export function upperOf(line: number): number {
  return Math.floor(line / HALF);
}

/** The lower half, as a signed integer. */
export function lowerOf(line: number): number {
  return line % HALF | 0;
}
