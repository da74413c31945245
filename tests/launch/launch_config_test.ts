import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { capabilityLimits } from "../../src/hardware/capability_limits.ts";
import {
  type LaunchConfig,
  type LaunchLimits,
  LaunchShape,
} from "../../src/launch/launch_config.ts";

const ada = capabilityLimits("8.9");
const plain = { maxThreadsPerBlock: 1024, staticSharedMemory: 0 };

function shapeOf(config: unknown, kernel = plain): LaunchShape {
  const shape = new LaunchShape("f", ada, kernel);
  shape.read(config as LaunchConfig);
  return shape;
}

function numbers(shape: LaunchShape): number[] {
  const { gridX, gridY, gridZ, blockX, blockY, blockZ, sharedMemory } = shape;
  return [gridX, gridY, gridZ, blockX, blockY, blockZ, sharedMemory];
}

function refusal(config: unknown, kernel = plain): string {
  return assertThrows(() => shapeOf(config, kernel), Error).message;
}

/** A configuration with one extent set and the others as small as can be. */
function withExtent(field: "grid" | "block", axis: number, value: unknown): unknown {
  return { grid: 1, block: 1, [field]: [1, 1, 1].with(axis, value as number) };
}

const LIMITS = [
  ["grid", 0, 2 ** 31 - 1],
  ["grid", 1, 65535],
  ["grid", 2, 65535],
  ["block", 0, 1024],
  ["block", 1, 1024],
  ["block", 2, 64],
] as const;

Deno.test("read() accepts every extent up to its limit, and refuses others by name", () => {
  for (const [field, axis, limit] of LIMITS) {
    const name = `${field}.${"xyz"[axis]}`;
    shapeOf(withExtent(field, axis, 1));
    shapeOf(withExtent(field, axis, limit));
    for (const value of [0, -1, limit + 1, 0.5, NaN, Infinity]) {
      assertStrictEquals(
        refusal(withExtent(field, axis, value)),
        `Cannot launch f as ${name} must be an integer in 1..${limit}: it is ${value}`,
      );
    }
    for (const value of ["1", 1n, null, undefined]) {
      const config = withExtent(field, axis, value);
      assertThrows(() => shapeOf(config), TypeError, `as ${name} must be an integer in 1..`);
    }
  }
});

Deno.test("read() refuses values that are no list of one to three extents", () => {
  for (const value of [[], [1, 1, 1, 1], "1", null, undefined, {}, { x: 1 }, new Uint8Array(1)]) {
    assertThrows(() => shapeOf({ grid: value, block: 1 }), TypeError, "as grid must be");
    assertThrows(() => shapeOf({ grid: 1, block: value }), TypeError, "as block must be");
  }
  for (const config of [undefined, null, 256, "256"]) {
    assertThrows(() => shapeOf(config), TypeError, "must be an object with grid and block: it is");
  }
});

Deno.test("read() bounds the threads of a block by the device and by the kernel", () => {
  shapeOf({ grid: 1, block: [32, 32] });
  shapeOf({ grid: 1, block: [4, 4, 64] });
  assertStrictEquals(
    refusal({ grid: 1, block: [33, 32] }),
    "Cannot launch f as the threads of block must be in 1..1024: they are 1056 (33 × 32 × 1)",
  );
  const heavy = { maxThreadsPerBlock: 384, staticSharedMemory: 0 };
  assertStrictEquals(shapeOf({ grid: 1, block: 384 }, heavy).threads, 384);
  assert(refusal({ grid: 1, block: 385 }, heavy).includes("in 1..384: they are 385"));
});

Deno.test("read() bounds dynamic and static shared memory together by the opt-in limit", () => {
  const limit = 99 * 1024; // capability 8.9, CUDA C++ Programming Guide
  const at = (sharedMemory: unknown, staticSharedMemory = 0) =>
    shapeOf({ grid: 1, block: 1, sharedMemory }, { maxThreadsPerBlock: 1024, staticSharedMemory });
  assertStrictEquals(at(limit).sharedMemory, limit);
  assertStrictEquals(at(limit - 1024, 1024).sharedMemory, limit - 1024);
  assertThrows(
    () => at(limit + 1),
    RangeError,
    `sharedMemory must be an integer in 0..${limit}: it is`,
  );
  assertThrows(
    () => at(limit - 1023, 1024),
    RangeError,
    `sharedMemory, beside the 1024 bytes the kernel declares, must be an integer in 0..${
      limit - 1024
    }:`,
  );
  for (const value of [-1, 0.5, NaN, Infinity]) assertThrows(() => at(value), RangeError);
  for (const value of ["1", null, 1n, {}]) assertThrows(() => at(value), TypeError);
});

Deno.test("read() accepts a configuration exactly when every limit allows it", () => {
  const extent = (limit: number) => fc.oneof(fc.integer({ min: -1, max: limit + 1 }), fc.nat(64));
  fc.assert(
    fc.property(
      fc.tuple(...LIMITS.map(([, , limit]) => extent(limit))),
      fc.integer({ min: -1, max: 110_000 }),
      (values, sharedMemory) => {
        const [gx, gy, gz, bx, by, bz] = values as [number, number, number, number, number, number];
        const allowed = values.every((value, i) => value >= 1 && value <= LIMITS[i]![2]) &&
          bx * by * bz <= 1024 && sharedMemory >= 0 && sharedMemory <= 99 * 1024;
        const config = { grid: [gx, gy, gz], block: [bx, by, bz], sharedMemory };
        if (allowed) assertEquals(numbers(shapeOf(config)), [...values, sharedMemory]);
        else assertThrows(() => shapeOf(config), RangeError, "Cannot launch f as ");
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("LaunchShape refuses a kernel that declares more shared memory than a block has", () => {
  const declaring = (staticSharedMemory: number) => () =>
    new LaunchShape("f", ada, { maxThreadsPerBlock: 1024, staticSharedMemory });
  declaring(ada.sharedMemoryPerBlock)();
  assertThrows(
    declaring(ada.sharedMemoryPerBlock + 1),
    RangeError,
    "Cannot launch f as its declared shared memory must be at most 49152 bytes: it is 49153",
  );
});

const hopper = capabilityLimits("9.0");

function hopperShape(config: unknown, device: LaunchLimits = hopper): LaunchShape {
  const shape = new LaunchShape("f", device, { maxThreadsPerBlock: 1024, staticSharedMemory: 0 });
  shape.read(config as LaunchConfig);
  return shape;
}

Deno.test("read() refuses clusters that no device can run", () => {
  const refusals = [
    [{ cooperative: 1 }, TypeError, "cooperative must be a boolean: it is 1"],
    [{ cluster: 0 }, RangeError, "cluster.x must be an integer in 1..8: it is 0"],
    [{ cluster: [1, 1, "2"] }, TypeError, 'cluster.z must be an integer in 1..8: it is "2"'],
    [{ cluster: [3, 3] }, RangeError, "the blocks of cluster must be an integer in 1..8: it is 9"],
    [{ cluster: [] }, TypeError, "cluster must be an integer or an array of 1 to 3 integers"],
    [{ cluster: 5 }, RangeError, "must divide those of grid, 12 × 1 × 1: they are 5 × 1 × 1"],
  ] as const;
  for (const [config, ErrorClass, message] of refusals) {
    assertThrows(() => hopperShape({ grid: 12, block: 32, ...config }), ErrorClass, message);
  }
});

Deno.test("read() refuses clusters and cooperative launches that the device cannot run", () => {
  assertThrows(
    () => hopperShape({ grid: 12, block: 32, cluster: 2 }, ada),
    TypeError,
    "Cannot launch f in clusters as its device has none",
  );
  assertThrows(
    () =>
      hopperShape({ grid: 12, block: 32, cooperative: true }, { ...ada, cooperativeLaunch: false }),
    TypeError,
    "Cannot launch f cooperatively",
  );
});
