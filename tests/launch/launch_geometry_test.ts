import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import { launchGeometry, reductionGrid } from "../../src/launch/launch_geometry.ts";
import { devicePart, plannedKernel } from "./planned_kernel.ts";

const h100 = devicePart("9.0", { multiprocessorCount: 132 });
const kernel = plannedKernel;

Deno.test("launchGeometry() fills the multiprocessors of every capability with 256 threads", () => {
  for (const capability of KNOWN_CAPABILITIES) {
    const device = devicePart(capability, { multiprocessorCount: 3 });
    const { grid, block } = launchGeometry(kernel(device), { elements: 1e9 });
    assertStrictEquals(grid * block, 3 * device.maxThreadsPerMultiprocessor, capability);
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
  const launched = (changes: Record<string, number>) =>
    launchGeometry(kernel(h100, changes), { elements: 1 << 30 });
  assertEquals(launched({ maxThreadsPerBlock: 128 }), { grid: 132 * 16, block: 128 });
  assertEquals(launched({ maxThreadsPerBlock: 200 }), { grid: 132 * 10, block: 192 });
  assertEquals(launched({ maxThreadsPerBlock: 20 }), { grid: 132 * 32, block: 20 });
  assertEquals(launched({ registersPerThread: 64 }), { grid: 132 * 4, block: 256 });
  assertEquals(launched({ staticSharedMemory: 48 * 1024 }), { grid: 132 * 4, block: 256 });
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
      const device = devicePart(capability);
      const launched = launchGeometry(
        kernel(device, { maxThreadsPerBlock, registersPerThread }),
        { elements },
      );
      const { grid, block } = launched;
      assert(block >= 1 && block <= maxThreadsPerBlock && Number.isInteger(block));
      assert(grid >= 1 && grid <= device.maxGridDimensions.x && Number.isInteger(grid));
      assert((grid - 1) * block < Math.max(1, elements), "a block without an element");
    },
  ));
});
