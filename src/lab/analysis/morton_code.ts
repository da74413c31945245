/**
 * Morton codes: the bits of a row and a column in turn, the column's lowest first.
 *
 * @module
 */

const HALF = 2 ** 16;

/**
 * The side of the square that the curve goes through: the least power of two that is no less than the
 * extents. A logarithm would be rounded to a smaller one beyond 2^48.
 */
export function squareSide(rows: number, columns: number): number {
  let side = 1;
  while (side < rows || side < columns) side *= 2;
  return side;
}

/** The code of a row and a column, each below 2^26. */
export function mortonCode(row: number, column: number): number {
  const low = (spread(row % HALF) << 1 | spread(column % HALF)) >>> 0;
  if (row < HALF && column < HALF) return low;
  const high = (spread(Math.floor(row / HALF)) << 1 | spread(Math.floor(column / HALF))) >>> 0;
  return high * 2 ** 32 + low;
}

/** The column of a code below 2^52. */
export function mortonColumn(code: number): number {
  return gather(code >>> 0) + gather(Math.floor(code / 2 ** 32)) * HALF;
}

/** The row of a code below 2^52. */
export function mortonRow(code: number): number {
  return gather((code >>> 0) >>> 1) + gather(Math.floor(code / 2 ** 32) >>> 1) * HALF;
}

/** Moves bit `i` to bit `2 i`. */
function spread(value: number): number {
  let bits = value;
  bits = (bits | bits << 8) & 0x00ff00ff;
  bits = (bits | bits << 4) & 0x0f0f0f0f;
  bits = (bits | bits << 2) & 0x33333333;
  return (bits | bits << 1) & 0x55555555;
}

/** Moves bit `2 i` to bit `i`, and drops the others. */
function gather(value: number): number {
  let bits = value & 0x55555555;
  bits = (bits | bits >>> 1) & 0x33333333;
  bits = (bits | bits >>> 2) & 0x0f0f0f0f;
  bits = (bits | bits >>> 4) & 0x00ff00ff;
  return (bits | bits >>> 8) & 0x0000ffff;
}
