// Grids of kernels that stride: within the limits, full where there is work, and of few steps.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Extents } from "../../src/hardware/capability_limits.ts";
import { stepsOf, strideGrid } from "../../src/launch/stride_grid.ts";

const MOST = { x: 2 ** 31 - 1, y: 65535, z: 65535 };

function blocksOf({ x, y, z }: Extents): number {
  return x * y * z;
}

Deno.test("work that the device holds at once has a block for each piece", () => {
  for (const tiles of [{ x: 1, y: 1, z: 1 }, { x: 33, y: 32, z: 1 }, { x: 2, y: 3, z: 176 }]) {
    assertEquals(strideGrid(tiles, 1056, MOST, Infinity), tiles);
  }
});

Deno.test("rows that leave half of the device idle are shared by several steps", () => {
  // 529 of 1056: a second row of blocks does not fit beside the first.
  for (const x of [529, 600, 800, 1057, 1200]) {
    const tiles = { x, y: 1000, z: 1 };
    const grid = strideGrid(tiles, 1056, MOST, Infinity);
    const least = Math.ceil(blocksOf(tiles) / 1056);
    assert(stepsOf(tiles, grid) <= 1.15 * least, `${x}: ${Object.values(grid)}`);
  }
});

const sizes = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 1, max: 3000 }),
  fc.constantFrom(1, 65535, 65536, 2 ** 31, 2 ** 45),
);

Deno.test("a grid never exceeds what is held or a limit, unless fewer steps are asked for", () => {
  fc.assert(fc.property(
    fc.record({ x: sizes, y: sizes, z: sizes }),
    fc.integer({ min: 1, max: 5000 }),
    fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 50 })),
    (tiles, held, stepsPerThread) => {
      const grid = strideGrid(tiles, held, MOST, stepsPerThread);
      for (const axis of ["x", "y", "z"] as const) {
        assert(Number.isInteger(grid[axis]) && grid[axis] >= 1);
        assert(grid[axis] <= Math.min(MOST[axis], tiles[axis]), `${Object.values(grid)}`);
      }
      const steps = stepsOf(tiles, grid);
      const isLimited = tiles.x > MOST.x || tiles.y > MOST.y || tiles.z > MOST.z;
      assert(isLimited || steps <= stepsPerThread, `${steps} steps of ${stepsPerThread}`);
      if (stepsPerThread === Infinity) assert(blocksOf(grid) <= held);
      // More than is held only as far as the steps take it.
      if (blocksOf(grid) > held) {
        assert(stepsOf(tiles, strideGrid(tiles, held, MOST, Infinity)) > stepsPerThread);
      }
    },
  ));
});
