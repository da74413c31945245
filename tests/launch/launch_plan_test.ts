import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { Extents } from "../../src/hardware/capability_limits.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import { type LaunchPlan, stepsOf } from "../../src/launch/launch_plan.ts";
import { lineLaunch, planLaunch, strideGrid } from "../../src/launch/launch_planner.ts";
import type { LaunchProblem } from "../../src/launch/launch_problem.ts";
import { devicePart, plannedKernel, threeExtents } from "./planned_kernel.ts";

const h100 = devicePart("9.0", { multiprocessorCount: 132 });
const kernel = plannedKernel(h100);
const strider = { ...kernel, gridStride: true };

function isWithin(plan: LaunchPlan, info = h100): boolean {
  const [grid, block] = [threeExtents(plan.grid), threeExtents(plan.block)];
  const mostGrid = Object.values(info.maxGridDimensions);
  const mostBlock = Object.values(info.maxBlockDimensions);
  return grid.every((extent, axis) => extent >= 1 && extent <= mostGrid[axis]!) &&
    block.every((extent, axis) => extent >= 1 && extent <= mostBlock[axis]!) &&
    block[0]! * block[1]! * block[2]! <= info.maxThreadsPerBlock;
}

Deno.test("planLaunch() covers every m, n and k or refuses it by name", () => {
  const extents = fc.oneof(
    fc.nat(100),
    fc.constantFrom(0, 1, 65535, 65536, 1048559, 1048561, 2 ** 31, 2 ** 40, 2 ** 53 - 1),
    fc.nat(2 ** 31),
  );
  fc.assert(fc.property(
    extents,
    extents,
    extents,
    fc.constantFrom(undefined, { m: 16, n: 16 }, { m: 32, n: 8, k: 16 }, { m: 1, n: 1 }),
    fc.constantFrom("exact", "stride", "linear"),
    fc.boolean(),
    (m, n, k, tile, coverage, splitK) => {
      const problem = {
        m,
        n,
        k,
        coverage,
        splitK,
        ...(tile && { tile }),
      } as unknown as LaunchProblem;
      let plan: LaunchPlan;
      try {
        plan = planLaunch(kernel, problem);
      } catch (error) {
        assert(error instanceof RangeError);
        assert(coverage !== "stride", error.message);
        assert(/must be in 1\.\.\d+/.test(error.message), error.message);
        return;
      }
      assert(isWithin(plan));
      const { x, y, z } = plan.tiles;
      const block = threeExtents(plan.block);
      assert(x * (tile?.n ?? block[0]!) >= n && y * (tile?.m ?? block[1]!) >= m);
      assert(z >= 1 && (splitK || z === 1) && z <= Math.max(1, k));
      if (coverage === "exact") assertEquals(threeExtents(plan.grid), [x, y, z]);
      if (coverage === "linear") assertEquals(threeExtents(plan.grid), [x * y * z, 1, 1]);
    },
  ));
});

Deno.test("planLaunch() makes taller blocks for more than 65535 along y, or explains the alternatives", () => {
  const taller = planLaunch(kernel, { rows: 65535 * 8 + 1, columns: 64 });
  assertEquals(threeExtents(taller.block), [32, 16, 1]);
  const deeper = planLaunch(kernel, { rows: 100, columns: 100, planes: 2 * 65535 });
  assertEquals([deeper.block, deeper.grid], [[32, 4, 2], [4, 25, 65535]]);
  const rows = 65535 * 128 + 1;
  const refused = assertThrows(
    () => planLaunch(kernel, { rows, columns: 64 }),
    RangeError,
    `blocks of the grid along y must be in 1..65535: ${rows} rows take 1048561`,
  );
  assert(refused.message.includes('"stride"') && refused.message.includes('"linear"'));
  const linear = planLaunch(kernel, { rows, columns: 64, coverage: "linear" });
  assertEquals([linear.grid, linear.tiles], [2 * 1048561, { x: 2, y: 1048561, z: 1 }]);
  assert(isWithin(planLaunch(kernel, { rows, columns: 64, coverage: "stride" })));
  assert(isWithin(planLaunch(kernel, { rows, columns: 64, x: "rows" })));
});

Deno.test("planLaunch() strides with the resident blocks, and no more", () => {
  const full = 132 * 8;
  for (const [elements, grid] of [[257, 5], [full * 256, full], [2 ** 53 - 1, full]] as const) {
    assertEquals(planLaunch(strider, { elements }).grid, grid, `${elements}`);
  }
  const steps = planLaunch(strider, { elements: 5 * full * 256, stepsPerThread: 2 });
  assertEquals([steps.grid, steps.steps], [2.5 * full, 2]);
  const wide = planLaunch(kernel, { rows: 1e6, columns: 1e6, coverage: "stride" });
  assert(wide.blocks <= full && wide.blocks > 0.9 * full);
});

Deno.test("planLaunch() splits a short product along k until the device is full", () => {
  const problem = { m: 64, n: 64, k: 65536, tile: { m: 32, n: 32, k: 32 }, splitK: true };
  const plan = planLaunch(kernel, problem);
  // 66 would fill the device, but then as 64 of 2048 steps the longest part has 32.
  assertEquals(plan.tiles, { x: 2, y: 2, z: 64 });
  assert(plan.explain().includes("64 to share the products of each"), plan.explain());
  assertEquals(planLaunch(kernel, { ...problem, k: 100 * 32 }).tiles, { x: 2, y: 2, z: 50 });
  assertEquals(planLaunch(kernel, { ...problem, k: 64 }).tiles, { x: 2, y: 2, z: 2 });
  assertEquals(planLaunch(kernel, { ...problem, k: 0 }).tiles, { x: 2, y: 2, z: 1 });
  assertEquals(planLaunch(kernel, { ...problem, m: 1e5, n: 1e4 }).tiles, { x: 313, y: 3125, z: 1 });
});

Deno.test("planLaunch() chooses the block by its shared memory, too", () => {
  const tiles = ({ x, y }: { x: number; y: number }) => 2 * x * y;
  const plan = planLaunch(kernel, { rows: 4096, columns: 4096, sharedMemory: tiles });
  const [x, y] = threeExtents(plan.block);
  assertStrictEquals(plan.sharedMemory, 2 * x! * y!);
  // A kilobyte for each thread: with 256 threads not even one block would fit.
  const heavy = planLaunch(kernel, { elements: 1e6, sharedMemory: ({ x }) => x * 1024 });
  assertEquals([heavy.block, heavy.sharedMemory], [64, 65536]);
  assertStrictEquals(heavy.occupancy.limiter, "sharedMemory");
  const tooMuch = { elements: 1, sharedMemory: 228 * 1024 };
  assertThrows(() => planLaunch(kernel, tooMuch), RangeError, "no block of it fits");
});

Deno.test("planLaunch() chooses the block with the most resident warps", () => {
  const greedy = plannedKernel(h100, { registersPerThread: 72 });
  assertEquals(planLaunch(greedy, { elements: 1e7 }).block, 128);
  const bounded = plannedKernel(h100, { maxThreadsPerBlock: 100 });
  assertEquals(planLaunch(bounded, { elements: 1e7 }).block, 64);
  const few = plannedKernel(h100, { maxThreadsPerBlock: 20 });
  assertEquals(planLaunch(few, { elements: 1e7 }).block, 20);
});

Deno.test("LaunchPlan has the waves and the tail effect of the grid", () => {
  const plan = planLaunch(kernel, { elements: 256 * 1056 * 2.5 });
  assertEquals([plan.blocks, plan.residentBlocks, plan.waves], [2640, 1056, 2.5]);
  assertStrictEquals(plan.tailEffect, 1 - 2.5 / 3);
  assertStrictEquals(planLaunch(kernel, { elements: 256 * 1056 }).tailEffect, 0);
  // A striding grid of one full wave, which has one block's work left for the second step.
  const strides = planLaunch(strider, { elements: 256 * 1056 + 1 });
  assertEquals([strides.waves, strides.steps], [1, 2]);
  assertStrictEquals(strides.tailEffect, 1 - 1057 / 1056 / 2);
  assertStrictEquals(planLaunch(strider, { elements: 256 * 1056 * 7 }).tailEffect, 0);
});

Deno.test("explain() has the figures of the plan", () => {
  const plan = planLaunch(kernel, { rows: 1000, columns: 3000 });
  assertEquals([plan.grid, plan.block], [[94, 125], [32, 8]]);
  const text = plan.explain();
  const empty = planLaunch(kernel, { rows: 0, columns: 7 }).explain();
  assert(empty.includes("1 block with nothing to do in "), empty);
  for (const part of ["32 × 8 threads", "11,750 blocks", "3,000 columns × 1,000 rows", "1,056"]) {
    assert(text.includes(part), `${part}: ${text}`);
  }
});

Deno.test("planLaunch() stays within the limits of every capability for every kernel", () => {
  fc.assert(fc.property(
    fc.constantFrom(...KNOWN_CAPABILITIES),
    fc.integer({ min: 1, max: 255 }),
    fc.constantFrom(1024, 1000, 768, 512, 100, 33, 32, 31, 1),
    fc.nat(48 * 1024),
    fc.nat(5000),
    fc.nat(5000),
    (capability, registersPerThread, maxThreadsPerBlock, staticSharedMemory, rows, columns) => {
      const info = devicePart(capability);
      // A compiler never promises more threads than the registers allow.
      const most = Math.min(maxThreadsPerBlock, Math.floor(65536 / (registersPerThread + 7)));
      const changes = { registersPerThread, maxThreadsPerBlock: most, staticSharedMemory };
      const plan = planLaunch(plannedKernel(info, changes), { rows, columns });
      assert(isWithin(plan, info));
      const [x, y] = threeExtents(plan.block);
      assert(x! * y! <= most);
      assert(plan.occupancy.activeBlocks >= 1);
    },
  ));
});

Deno.test("planLaunch() refuses wrong problems by field and value", () => {
  const choose = (problem: object) => planLaunch(kernel, problem as LaunchProblem);
  for (const value of [-1, 0.5, NaN, Infinity, 2 ** 53, "1", 1n, null, undefined]) {
    const Kind = typeof value === "number" ? RangeError : TypeError;
    assertThrows(() => choose({ elements: value }), Kind, "elements must be an integer");
    assertThrows(() => choose({ rows: value, columns: 1 }), Kind, "rows must be");
    assertThrows(() => choose({ rows: 1, columns: value }), Kind, "columns must be");
    assertThrows(() => choose({ m: 1, n: 1, k: value }), Kind, "k must be");
    if (value === undefined) continue;
    assertThrows(() => choose({ elements: 1, sharedMemory: value }), Kind, "sharedMemory");
    assertThrows(() => choose({ elements: 1, stepsPerThread: value }), Kind, "stepsPer");
  }
  assertThrows(() => choose({}), TypeError, "it has none");
  assertThrows(() => choose({ elements: 1, rows: 1, columns: 1 }), TypeError, "elements, rows");
  assertThrows(() => choose({ elements: 1, coverage: "half" }), TypeError, 'it is "half"');
  assertThrows(() => choose({ rows: 1, columns: 1, x: "y" }), TypeError, '"columns" or "rows"');
  assertThrows(() => choose({ elements: 1, block: 1025 }), RangeError, "1..1024: they are 1025");
  assertThrows(() => choose({ elements: 1, block: [1, 1, 65] }), RangeError, "block.z must be");
  assertThrows(() => choose({ elements: 1, block: [] }), TypeError, "array of 1 to 3");
  const tiled = { m: 1, n: 1, k: 1, tile: { m: 64, n: 64 } };
  assertThrows(() => choose(tiled), RangeError, "give block");
  assertThrows(() => choose({ ...tiled, tile: { m: 0, n: 1 } }), RangeError, "tile.m");
  assertThrows(() => choose({ rows: 9, columns: 9, block: [8, 8, 2] }), RangeError, "it is 2");
  for (const several of [{ rows: 10, columns: 10 }, { m: 10, n: 10, k: 10 }]) {
    assertThrows(() => planLaunch(strider, several), TypeError, "problem must have elements");
  }
  for (const problem of [null, 5, "elements"]) {
    assertThrows(() => choose(problem as unknown as object), TypeError, "problem must be");
  }
});

Deno.test("lineLaunch() agrees with planLaunch() for a striding kernel", () => {
  fc.assert(fc.property(
    fc.constantFrom(...KNOWN_CAPABILITIES),
    fc.oneof(fc.nat(100_000), fc.maxSafeNat()),
    fc.integer({ min: 1, max: 16 }),
    fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 9 })),
    fc.constantFrom(32, 128, 256, 1024),
    (capability, elements, elementsPerThread, stepsPerThread, block) => {
      const of = { ...plannedKernel(devicePart(capability)), gridStride: true };
      const options = {
        elementsPerThread,
        block,
        ...(stepsPerThread === undefined ? {} : { stepsPerThread }),
      };
      const { grid, block: threads } = planLaunch(of, { elements, ...options });
      assertEquals(lineLaunch(of, elements, options), { grid, block: threads } as never);
    },
  ));
});

const MAX = { x: 2 ** 31 - 1, y: 65535, z: 65535 };

function blocksOf({ x, y, z }: Extents): number {
  return x * y * z;
}

const sizes = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 1, max: 3000 }),
  fc.constantFrom(1, 65535, 65536, 2 ** 31, 2 ** 45),
);

Deno.test("strideGrid() exceeds the resident blocks only for fewer steps, and no limit", () => {
  fc.assert(fc.property(
    fc.record({ x: sizes, y: sizes, z: sizes }),
    fc.integer({ min: 1, max: 5000 }),
    fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 50 })),
    (tiles, held, stepsPerThread) => {
      const grid = strideGrid(tiles, held, MAX, stepsPerThread);
      for (const axis of ["x", "y", "z"] as const) {
        assert(Number.isInteger(grid[axis]) && grid[axis] >= 1);
        assert(grid[axis] <= Math.min(MAX[axis], tiles[axis]), `${Object.values(grid)}`);
      }
      const steps = stepsOf(tiles, grid);
      const isLimited = tiles.x > MAX.x || tiles.y > MAX.y || tiles.z > MAX.z;
      assert(isLimited || steps <= stepsPerThread, `${steps} steps of ${stepsPerThread}`);
      if (stepsPerThread === Infinity) assert(blocksOf(grid) <= held);
      if (blocksOf(grid) > held) {
        assert(stepsOf(tiles, strideGrid(tiles, held, MAX, Infinity)) > stepsPerThread);
      }
    },
  ));
});
