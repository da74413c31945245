/**
 * Configurations whose blocks run at once: cooperative launches and clusters.
 */

import { assertEquals, assertThrows } from "@std/assert";
import { capabilityLimits } from "../../src/hardware/capability_limits.ts";
import {
  type LaunchConfig,
  type LaunchLimits,
  LaunchShape,
} from "../../src/launch/launch_config.ts";

const ada = capabilityLimits("8.9");
const hopper = capabilityLimits("9.0");

function shapeOf(config: unknown, device: LaunchLimits = hopper): LaunchShape {
  const shape = new LaunchShape("f", device, { maxThreadsPerBlock: 1024, staticSharedMemory: 0 });
  shape.read(config as LaunchConfig);
  return shape;
}

Deno.test("a configuration is neither cooperative nor in clusters unless it says so", () => {
  const shape = shapeOf({ grid: 4, block: 32, cooperative: true, cluster: [2, 1, 1] });
  assertEquals([shape.cooperative, shape.cluster], [true, 2 + 256 + 65536]);
  shape.read({ grid: 4, block: 32 });
  assertEquals([shape.cooperative, shape.cluster], [false, 0]);
  shape.read({ grid: 4, block: 32, cooperative: true });
  assertEquals([shape.cooperative, shape.cluster], [true, 0]);
  shape.read({ grid: 4, block: 32, cooperative: false });
  assertEquals([shape.cooperative, shape.cluster], [false, 0]);
  shape.read({ grid: 4, block: 32, cluster: 4 });
  shape.read({ grid: 4, block: 32, cluster: 2 });
  assertEquals(shape.cluster, 2 + 256 + 65536);
});

Deno.test("the extents of a cluster are packed, 8 blocks at most in any shape", () => {
  for (const [x, y, z] of [[1, 1, 1], [8, 1, 1], [1, 8, 1], [2, 2, 2], [1, 1, 8], [3, 2, 1]]) {
    const { cluster } = shapeOf({ grid: [48, 48, 48], block: 1, cluster: [x, y, z] });
    assertEquals(cluster, x! + 256 * y! + 65536 * z!);
  }
});

Deno.test("what no device can run together is refused by field and value", () => {
  const refusals = [
    [{ cooperative: 1 }, TypeError, "cooperative must be a boolean: it is 1"],
    [{ cluster: 0 }, RangeError, "cluster.x must be in 1..8: it is 0"],
    [{ cluster: 9 }, RangeError, "cluster.x must be in 1..8: it is 9"],
    [{ cluster: [1, 1.5] }, RangeError, "cluster.y must be an integer in 1..8: it is 1.5"],
    [{ cluster: [1, 1, "2"] }, TypeError, 'cluster.z must be an integer in 1..8: it is "2"'],
    [{ cluster: [3, 3] }, RangeError, "the blocks of cluster must be in 1..8: it is 9"],
    [{ cluster: [] }, TypeError, "cluster must be an integer or an array of 1 to 3 integers"],
    [{ cluster: 5 }, RangeError, "must divide those of grid, 12 × 1 × 1: they are 5 × 1 × 1"],
    [{ cluster: [1, 2] }, RangeError, "must divide those of grid"],
  ] as const;
  for (const [config, ErrorClass, message] of refusals) {
    assertThrows(() => shapeOf({ grid: 12, block: 32, ...config }), ErrorClass, message);
  }
});

Deno.test("clusters are refused by name where the device has none", () => {
  assertThrows(
    () => shapeOf({ grid: 12, block: 32, cluster: 2 }, ada),
    TypeError,
    "Cannot launch f in clusters as its device has none",
  );
  assertThrows(
    () => shapeOf({ grid: 12, block: 32, cooperative: true }, { ...ada, cooperativeLaunch: false }),
    TypeError,
    "Cannot launch f cooperatively",
  );
});
