// Quantiles and histograms against NumPy, where it is present, and values that NumPy 2 gave.

import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import {
  histogram,
  percentile,
  quantile,
  type Tensor,
  tensor,
  zeros,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { python } from "../support/python.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

const METHODS = ["linear", "lower", "higher", "midpoint", "nearest"] as const;
const QS = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1];

/** numpy.quantile(x, QS, method) of NumPy 2, for six numbers and for five. */
const SIX = [7, 1, 4, 2, 11, 5];
const FIVE = [7, 1, 4, 2, 11];
const VALUES: readonly (readonly [typeof METHODS[number], readonly number[], readonly number[]])[] =
  [
    ["linear", SIX, [1, 1.5, 2.5, 4.5, 6.5, 9, 11]],
    ["lower", SIX, [1, 1, 2, 4, 5, 7, 11]],
    ["higher", SIX, [1, 2, 4, 5, 7, 11, 11]],
    ["midpoint", SIX, [1, 1.5, 3, 4.5, 6, 9, 11]],
    ["nearest", SIX, [1, 1, 2, 4, 7, 7, 11]],
    ["linear", FIVE, [1, 1.4, 2, 4, 7, 9.4, 11]],
    ["midpoint", FIVE, [1, 1.5, 2, 4, 7, 9, 11]],
    ["nearest", FIVE, [1, 1, 2, 4, 7, 11, 11]],
  ];

for (const [form, on] of forms) {
  Deno.test(`quantile() has NumPy's values for each method (${form})`, async () => {
    for (const [method, list, expected] of VALUES) {
      using x = tensor(list as number[], { device: on, dtype: "float64" });
      await expect(quantile(x, QS, { method }), new Grid([7], expected), method);
    }
  });
}

const PROGRAM = `
import json, sys, numpy
x = numpy.array(json.loads(sys.argv[1])).reshape(5, 37, 4)
print(json.dumps([[numpy.quantile(x, q, axis=axis, method=method, keepdims=True).ravel().tolist()
  for axis in (1, -1, (0, 2), None) for q in (0.5, [0, 0.21, 0.7, 1])] for method in sys.argv[2:]]))
`;

Deno.test("quantile() and percentile() equal NumPy's along axes of views", async () => {
  const grid = Grid.mixed([5, 37, 4], 1000);
  const output = await python("NumPy", PROGRAM, JSON.stringify(grid.values), ...METHODS);
  if (output === undefined) return;
  const expected = JSON.parse(output) as number[][][];
  const [, transposed, , gaps] = grid.views("float32", device);
  for (const [m, method] of METHODS.entries()) {
    let k = 0;
    for (const axis of [1, -1, [0, 2], undefined]) {
      for (const q of [0.5, [0, 0.21, 0.7, 1]]) {
        const options = { method, keepDims: true, ...(axis === undefined ? {} : { axis }) };
        const x = m % 2 === 0 ? transposed! : gaps!;
        const percent = Array.isArray(q) ? q.map((it) => it * 100) : 100 * q;
        const result = k % 2 === 0 ? quantile(x, q, options) : percentile(x, percent, options);
        const { shape, values } = await read(result);
        const kept = [5, 37, 4].map((it, at) =>
          axis === undefined || [axis].flat().some((own) => (own + 3) % 3 === at) ? 1 : it
        );
        assertEquals([...shape], Array.isArray(q) ? [4, ...kept] : kept);
        const list = expected[m]![k++]!;
        values.forEach((it, at) => assertAlmostEquals(it, list[at]!, 1e-4, `${method} ${axis}`));
      }
    }
  }
});

Deno.test("quantile() is NaN if an element is, and has infinities", async () => {
  using x = tensor([[1, NaN, 2], [Infinity, -Infinity, 3], [Infinity, Infinity, 1]], { device });
  for (const method of METHODS) {
    const { values } = await read(quantile(x, [0, 0.5, 1], { axis: 1, method }));
    assertEquals(values, [NaN, -Infinity, 1, NaN, 3, Infinity, NaN, Infinity, Infinity], method);
  }
  using ends = tensor([-3e38, 3e38], { device });
  assertEquals(await quantile(ends, 0.5).item(), 0);
  using narrow = tensor([1, 2, 4], { device, dtype: "float16" });
  using middle = quantile(narrow, 0.75);
  assertEquals([middle.dtype, await middle.item()], ["float16", 3]);
  using integers = tensor([2, 1], { device, dtype: "int8" });
  using median = percentile(integers, 50);
  assertEquals([median.dtype, await median.item()], ["float64", 1.5]);
});

Deno.test("quantile() refuses bad arguments", () => {
  using x = zeros([2, 0], { device });
  assertThrows(() => quantile(x, 0.5), RangeError, "the reduced axes must have elements");
  assertThrows(() => quantile(x, 1.5, { axis: 0 }), RangeError, "q must be in 0..1: it is 1.5");
  assertThrows(() => percentile(x, [5, NaN], { axis: 0 }), RangeError, "in 0..100: it is NaN");
  assertThrows(() => quantile(x, 1, { method: "mean" as never }), TypeError, '"mean"');
  assertEquals(quantile(x, [0.5, 1], { axis: 0 }).shape, [2, 0]);
});

for (const [form, on] of forms) {
  Deno.test(`histogram() counts the elements of views and waiting results as NumPy does (${form})`, async () => {
    // numpy.histogram(x, bins, (low, high))[0] of NumPy 2, x = arange(60) % 13 - 3.
    const grid = Grid.of([5, 12], ([i, j]) => (i! * 12 + j!) % 13 - 3);
    const counts = { low: -2, high: 8, bins: 4 } as const;
    for (const x of grid.views("float32", on)) {
      using all = histogram(x as Tensor, counts);
      assertEquals([all.dtype, await all.toNested()], ["int64", [15n, 10n, 14n, 12n]]);
    }
    for (const dtype of ["int16", "float16", "float64"] as const) {
      using x = grid.tensor(dtype, on);
      using sum = x.add(x) as Tensor; // Its kernel still compiles.
      using ten = histogram(sum, { low: -6, high: 18 });
      assertEquals(await ten.toNested(), [10n, 5n, 5n, 5n, 5n, 10n, 4n, 4n, 4n, 8n]);
    }
    using flags = grid.map((it) => Number(it > 0)).tensor("bool", on);
    using two = histogram(flags as Tensor, { bins: 2, low: 0, high: 1 });
    assertEquals(await two.toNested(), [20n, 40n]);
    using none = histogram(grid.tensor("float32", on).slice([{ stop: 0 }]) as Tensor, counts);
    assertEquals(await none.toNested(), [0n, 0n, 0n, 0n]);
  });
}

Deno.test("histogram() refuses bins and edges that are none", () => {
  using x = tensor([1, 2], { device }) as Tensor;
  assertThrows(() => histogram(x, { bins: 0, low: 0, high: 1 }), RangeError, "options.bins");
  assertThrows(() => histogram(x, { low: 1, high: 1 }), RangeError, "low below high");
  assertThrows(() => histogram(x, {} as never), RangeError, "they are undefined and undefined");
});
