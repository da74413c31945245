/**
 * The grid of kernels whose threads go on to the work a grid further along each axis.
 *
 * Any grid is correct. The best one has no more blocks than the device holds at once, so that none
 * waits for another to end, and needs the fewest steps; only the caller may ask for more blocks.
 *
 * @module
 */

import type { Extents } from "../hardware/capability_limits.ts";

/**
 * Steps along an axis that are tried in place of one. Blocks that cover a row of tiles leave up to
 * half of the device idle where the next row does not fit: with s steps to a row it is 1/(s + 1).
 */
const MOST_STEPS = 8;

/** Steps that a thread makes along all axes together. */
export function stepsOf(tiles: Extents, grid: Extents): number {
  return Math.ceil(tiles.x / grid.x) * Math.ceil(tiles.y / grid.y) * Math.ceil(tiles.z / grid.z);
}

/**
 * The grid for some blocks of work.
 *
 * @param tiles Blocks of work along each axis, at least 1.
 * @param held Blocks that the device holds at once, at least 1.
 * @param most Most blocks of a grid along each axis.
 * @param stepsPerThread Most steps of a thread; with more the grid grows past what is held, as far
 * as a grid can.
 */
export function strideGrid(
  tiles: Extents,
  held: number,
  most: Extents,
  stepsPerThread: number,
): Extents {
  const grid = heldGrid(tiles, held, most);
  return stepsOf(tiles, grid) <= stepsPerThread ? grid : grownGrid(tiles, most, stepsPerThread);
}

/** Of the grids that the device holds at once the first with the fewest steps. */
function heldGrid(tiles: Extents, held: number, most: Extents): Extents {
  // Steps along the last axis that has work follow from the blocks that are left for it.
  const tries = tiles.z === 1 ? MOST_STEPS : MOST_STEPS / 2;
  const mostAlongX = tiles.y * tiles.z === 1 ? 1 : Math.min(tries, tiles.x);
  const mostAlongY = tiles.z === 1 ? 1 : Math.min(tries, tiles.y);
  const least = Math.ceil(tiles.x * tiles.y * tiles.z / held);
  let best = tiles;
  let fewest = Infinity;
  for (let alongX = 1; alongX <= mostAlongX && fewest > least; alongX++) {
    const x = Math.min(Math.ceil(tiles.x / alongX), held, most.x);
    for (let alongY = 1; alongY <= mostAlongY && fewest > least; alongY++) {
      const y = Math.min(Math.ceil(tiles.y / alongY), Math.floor(held / x), most.y);
      const z = Math.min(tiles.z, Math.floor(held / (x * y)), most.z);
      const grid = { x, y, z };
      const steps = stepsOf(tiles, grid);
      if (steps >= fewest) continue;
      fewest = steps;
      best = grid;
    }
  }
  return best;
}

/** As few blocks as make no more than so many steps: steps go along the slowest axes first. */
function grownGrid(tiles: Extents, most: Extents, stepsPerThread: number): Extents {
  let left = stepsPerThread;
  const along = (work: number, limit: number) => {
    const blocks = Math.min(Math.ceil(work / left), limit);
    left = Math.max(1, Math.floor(left / Math.ceil(work / blocks)));
    return blocks;
  };
  const z = along(tiles.z, most.z);
  const y = along(tiles.y, most.y);
  return { x: along(tiles.x, most.x), y, z };
}
