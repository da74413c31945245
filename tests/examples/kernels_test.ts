/**
 * The examples of custom kernels against plain TypeScript, on sizes that break things.
 */

import { assert, assertEquals } from "@std/assert";
import { largestError, sampleNumbers } from "../../examples/kernels/comparison.ts";
import { countBytes, expectedCounts } from "../../examples/kernels/histogram.ts";
import { expectedProduct, matmul } from "../../examples/kernels/matmul.ts";
import { expectedSum, sum } from "../../examples/kernels/reduction.ts";
import { expectedScan, scan } from "../../examples/kernels/scan.ts";
import { expectedSpread, spread } from "../../examples/kernels/stencil.ts";
import { expectedTranspose, transpose } from "../../examples/kernels/transpose.ts";
import { device } from "../support/device.ts";

function assertClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number) {
  const error = largestError(actual, expected);
  assert(error <= tolerance, `off by ${error}, allowed is ${tolerance}`);
}

Deno.test("compare() of the examples detects wrong results", () => {
  assertEquals(largestError([1, 2], [1, 4]), 0.5);
  assertEquals(largestError([], []), 0);
  assert(Number.isNaN(largestError([NaN, 1], [1, 1])));
  assertEquals(largestError([0.25], [0]), 0.25);
});

Deno.test("examples/kernels/reduction.ts sums by shuffles", async () => {
  for (const n of [0, 1, 31, 33, 255, 257, 100_003]) {
    const numbers = sampleNumbers(n).map(Math.abs);
    assertClose([await sum(device, numbers)], [expectedSum(numbers)], 1e-5);
  }
});

Deno.test("examples/kernels/transpose.ts handles every edge", async () => {
  for (
    const [rows, columns] of [[1, 1], [1, 100], [100, 1], [31, 33], [32, 64], [65, 37]] as const
  ) {
    const matrix = sampleNumbers(rows * columns);
    const turned = await transpose(device, matrix, rows, columns);
    assertEquals(turned, expectedTranspose(matrix, rows, columns));
  }
});

Deno.test("examples/kernels/stencil.ts handles plates of all shapes", async () => {
  for (const [width, height] of [[1, 1], [1, 50], [50, 1], [32, 8], [33, 9], [101, 67]] as const) {
    const plate = sampleNumbers(width * height);
    assertClose(await spread(device, plate, width, 7), expectedSpread(plate, width, 7), 1e-5);
  }
});

Deno.test("examples/kernels/scan.ts scans one and many parts", async () => {
  for (const n of [0, 1, 255, 256, 257, 65_537, 70_001]) {
    const numbers = sampleNumbers(n).map(Math.abs);
    assertClose(await scan(device, numbers), expectedScan(numbers), 1e-5);
  }
});

Deno.test("examples/kernels/histogram.ts counts every byte once", async () => {
  for (const n of [0, 1, 255, 100_003]) {
    const bytes = Uint8Array.from(sampleNumbers(n), (x) => 255 * x ** 2);
    assertEquals(await countBytes(device, bytes), expectedCounts(bytes));
  }
});

Deno.test("examples/kernels/matmul.ts handles partial tiles", async () => {
  for (
    const [m, n, k] of [[1, 1, 1], [16, 16, 16], [17, 15, 33], [3, 50, 1], [64, 31, 40]] as const
  ) {
    const a = sampleNumbers(m * k);
    const b = sampleNumbers(k * n);
    const extents = { m, n, k };
    assertClose(await matmul(device, a, b, extents), expectedProduct(a, b, extents), 1e-5);
  }
});
