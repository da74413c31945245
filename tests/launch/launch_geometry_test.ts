import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { capabilityLimits } from "../../src/hardware/capability_limits.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_table.ts";
import {
  launchGeometry,
  reductionGrid,
  type ResidencyLimits,
  residentBlocks,
} from "../../src/launch/launch_geometry.ts";

function deviceOf(capability: string, multiprocessorCount?: number): ResidencyLimits {
  const limits = capabilityLimits(capability);
  return {
    ...limits,
    multiprocessorCount: multiprocessorCount ?? limits.representative.multiprocessorCount,
  };
}

const h100 = deviceOf("9.0", 132);

function kernel(info: ResidencyLimits, changes: Record<string, number> = {}) {
  const attributes = {
    maxThreadsPerBlock: 1024,
    registersPerThread: 32,
    staticSharedMemory: 0,
    ...changes,
  };
  return { context: { info }, attributes };
}

Deno.test("residentBlocks() is bounded by threads, blocks, registers and shared memory", () => {
  // Capability 9.0: 2048 threads, 32 blocks, 65536 registers, 228 KiB of which each block costs 1.
  assertStrictEquals(residentBlocks(h100, 256), 8);
  assertStrictEquals(residentBlocks(h100, 1024), 2);
  assertStrictEquals(residentBlocks(h100, 32), 32);
  assertStrictEquals(residentBlocks(h100, 33), 32); // two warps each: 2048 / 64
  assertStrictEquals(residentBlocks(h100, 97), 16); // four warps each: 2048 / 128
  const at = (registersPerThread: number, sharedMemory: number) =>
    residentBlocks(h100, 256, { registersPerThread, sharedMemory });
  assertStrictEquals(at(32, 0), 8);
  assertStrictEquals(at(33, 0), 6); // 40 × 32 registers to a warp, as they come in units of 256
  assertStrictEquals(at(64, 0), 4);
  assertStrictEquals(at(255, 0), 1);
  assertStrictEquals(at(0, 48 * 1024), 4); // 228 / 49
  assertStrictEquals(at(0, 57 * 1024), 3); // 228 / 58: each block costs 1 KiB more
  assertStrictEquals(at(0, 227 * 1024), 1);
  assertStrictEquals(at(0, 300 * 1024), 1);
});

Deno.test("residentBlocks() fills the multiprocessors of every capability with 256 threads", () => {
  for (const capability of KNOWN_CAPABILITIES) {
    const device = deviceOf(capability);
    assertStrictEquals(
      residentBlocks(device, 256) * 256,
      device.maxThreadsPerMultiprocessor,
      capability,
    );
  }
});

Deno.test("launchGeometry() takes one thread per element until the device is full", () => {
  const full = 132 * 8;
  const grids: [number, number][] = [
    [0, 1],
    [1, 1],
    [255, 1],
    [256, 1],
    [257, 2],
    [65537, 257],
    [full * 256 - 256, full - 1],
    [full * 256 - 255, full],
    [full * 256 + 1, full],
    [2 ** 40 + 7, full],
    [Number.MAX_SAFE_INTEGER, full],
  ];
  for (const [elements, grid] of grids) {
    assertEquals(launchGeometry(kernel(h100), { elements }), { grid, block: 256 }, `${elements}`);
  }
});

Deno.test("launchGeometry() counts several elements per thread as one step", () => {
  const problem = (elements: number) => ({ elements, elementsPerThread: 4 });
  assertEquals(launchGeometry(kernel(h100), problem(1024)), { grid: 1, block: 256 });
  assertEquals(launchGeometry(kernel(h100), problem(1025)), { grid: 2, block: 256 });
});

Deno.test("launchGeometry() gives a thread no more steps than the problem allows", () => {
  const full = 132 * 8;
  const grids: [number, number][] = [
    [1, 1],
    [full * 256, full],
    [2 * full * 256, full],
    [2 * full * 256 + 1, full + 1],
    [5 * full * 256, 2.5 * full],
  ];
  for (const [elements, grid] of grids) {
    const problem = { elements, stepsPerThread: 2 };
    assertEquals(launchGeometry(kernel(h100), problem), { grid, block: 256 }, `${elements}`);
  }
  const packets = { elements: 8 * full * 256 * 4, elementsPerThread: 8, stepsPerThread: 1 };
  assertEquals(launchGeometry(kernel(h100), packets).grid, 4 * full);
  const tiny = { ...h100, maxGridDimensions: { x: 5, y: 5, z: 5 } };
  assertEquals(launchGeometry(kernel(tiny), { elements: 1e9, stepsPerThread: 1 }).grid, 5);
});

Deno.test("launchGeometry() keeps to what the kernel allows", () => {
  const elements = 1 << 30;
  const grid = (changes: Record<string, number>, sharedMemory?: number) =>
    launchGeometry(
      kernel(h100, changes),
      sharedMemory === undefined ? { elements } : { elements, sharedMemory },
    );
  assertEquals(grid({ maxThreadsPerBlock: 128 }), { grid: 132 * 16, block: 128 });
  assertEquals(grid({ maxThreadsPerBlock: 200 }), { grid: 132 * 10, block: 192 });
  assertEquals(grid({ maxThreadsPerBlock: 20 }), { grid: 132 * 32, block: 20 });
  assertEquals(grid({ registersPerThread: 64 }), { grid: 132 * 4, block: 256 });
  assertEquals(grid({ staticSharedMemory: 16384 }, 32768), {
    grid: 132 * 4,
    block: 256,
    sharedMemory: 32768,
  });
});

Deno.test("launchGeometry() never exceeds the grid's limit", () => {
  const tiny = { ...h100, maxGridDimensions: { x: 5, y: 5, z: 5 } };
  assertEquals(launchGeometry(kernel(tiny), { elements: 1e9 }), { grid: 5, block: 256 });
});

Deno.test("reductionGrid() is at least one block and at most what the device holds", () => {
  assertStrictEquals(reductionGrid(h100, 0, 256), 1);
  assertStrictEquals(reductionGrid(h100, 257, 256), 2);
  assertStrictEquals(reductionGrid(h100, 1e12, 256), 132 * 8);
  assertStrictEquals(reductionGrid(h100, 1e12, 1024), 132 * 2);
  assertThrows(() => reductionGrid(h100, 1, 0), RangeError, "threads must be");
});

Deno.test("launchGeometry() refuses what is no size, naming the field and the value", () => {
  const choose = (problem: object) => launchGeometry(kernel(h100), problem as { elements: number });
  for (const value of [-1, 0.5, NaN, Infinity, 2 ** 53, "1", 1n, null]) {
    assertThrows(() => choose({ elements: value }), RangeError, `elements must be`);
    assertThrows(() => choose({ elements: 1, sharedMemory: value }), RangeError, "sharedMemory");
  }
  assertThrows(() => choose({}), RangeError, "it is undefined");
  assertThrows(() => choose({ elements: 1, elementsPerThread: 0 }), RangeError, "it is 0");
  assertThrows(() => choose({ elements: 1, stepsPerThread: 0 }), RangeError, "stepsPerThread must");
});

Deno.test("launchGeometry() leaves no thread without work that the grid has to spare", () => {
  fc.assert(fc.property(
    fc.constantFrom(...KNOWN_CAPABILITIES),
    fc.oneof(fc.nat(100_000), fc.maxSafeNat()),
    fc.integer({ min: 1, max: 1024 }),
    fc.integer({ min: 0, max: 255 }),
    (capability, elements, maxThreadsPerBlock, registersPerThread) => {
      const device = deviceOf(capability);
      const launched = launchGeometry(
        kernel(device, { maxThreadsPerBlock, registersPerThread }),
        { elements },
      );
      const grid = launched.grid as number;
      const block = launched.block as number;
      assert(block >= 1 && block <= maxThreadsPerBlock && Number.isInteger(block));
      assert(grid >= 1 && grid <= device.maxGridDimensions.x && Number.isInteger(grid));
      assert((grid - 1) * block < Math.max(1, elements), "a block without an element");
    },
  ));
});
