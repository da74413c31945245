// The algorithms of examples/science.ts give what their data were made of.

import { assert } from "@std/assert";
import { clouds, clusters, principalComponent, regression } from "../../examples/science.ts";
import { type Tensor, tensor, uniform } from "../../src/device/tensor.ts";
import "../support/device.ts";

async function near(actual: Tensor, expected: readonly number[], error: number) {
  const values = Array.from(await actual.toArray() as Float32Array);
  const isNear = values.every((value, at) => Math.abs(value - expected[at]!) <= error);
  assert(isNear && values.length === expected.length, `${values}, not ${expected}`);
}

Deno.test("examples/science.ts finds centers, weights and the widest direction", async () => {
  using points = clouds();
  using guesses = points.slice([{ stop: 3 }]);
  // Of 100 points with deviation 1 each.
  await near(clusters(points, guesses), [0, 0, 6, 6, -6, 6], 0.3);
  using x = uniform([200, 3], { seed: 2 });
  await near(regression(x, x.matmul(tensor([2, -3.4, 0.5]))), [2, -3.4, 0.5], 1e-3);
  const { direction, variance } = principalComponent(points);
  // The centers vary by 24 along the first axis and by 8 along the second, and do not covary.
  await near(direction.abs(), [1, 0], 0.1);
  await near(variance, [25], 2);
});
