// Integers, orders, choices and dropout: the same for a seed in both forms of kernels, and as likely
// as they should be.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  choice,
  dropout,
  ones,
  permutation,
  randint,
  setSeed,
  type Tensor,
  tensor,
  uniform,
  zeros,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { forms, Grid, read } from "../support/tensor_forms.ts";

/** What a call gives: the same in each form of kernels. A GPU has one form. */
async function inForms(call: (on: typeof device) => Tensor): Promise<Grid> {
  const [own, ...others] = await Promise.all([...forms.values()].map((on) => read(call(on))));
  for (const other of others) assertEquals(other, own);
  return own!;
}

Deno.test("randint() gives the integers of the generator's bits in every form", async () => {
  // The words of "Random123" for a counter and a key of 0: 0xe169c58d6627e8d5.
  for (const [low, high] of [[0, 10], [-7, 8], [5, 6], [-(2n ** 63n), 2n ** 63n]] as const) {
    const bits = 0xe169c58d6627e8d5n;
    const count = BigInt(high) - BigInt(low);
    const first = BigInt(low) + (bits * count >> 64n);
    for (const on of forms.values()) {
      using x = randint(low, high, [3], { device: on, seed: 0 });
      assertEquals((await x.toArray())[0], first);
    }
  }
});

Deno.test("randint() gives all integers of a range alike, and no other", async () => {
  const own = await inForms((on) => randint(-3, 4, [70_001], { device: on, seed: 9 }));
  const counts = new Map<number, number>();
  for (const it of own.values) counts.set(it, (counts.get(it) ?? 0) + 1);
  assertEquals([...counts.keys()].toSorted((a, b) => a - b), [-3, -2, -1, 0, 1, 2, 3]);
  // Five standard deviations of a binomial distribution.
  for (const count of counts.values()) assert(Math.abs(count - 10_000) < 500, `${count}`);
  for (const dtype of ["int8", "uint64"] as const) {
    using narrow = randint(0, 100, [9], { device, dtype, seed: 9 });
    assertEquals(narrow.dtype, dtype);
    assert((await read(narrow)).values.every((it) => it >= 0 && it < 100));
  }
  assertThrows(() => randint(3, 3, [2], { device }), RangeError, "high must be above low");
  assertThrows(() => randint(0, 129, [2], { device, dtype: "int8" }), RangeError, "-127..128");
  assertThrows(() => randint(0.5, 2, [2], { device }), RangeError, "it is 0.5");
  assertThrows(() => randint(0, 2, [2], { device, dtype: "float32" }), TypeError, "float32");
});

Deno.test("permutation() orders numbers and rows, each once", async () => {
  for (const n of [0, 1, 17, 5000]) {
    const own = await inForms((on) => permutation(n, { device: on, seed: 4 }) as Tensor);
    assertEquals(own.values.toSorted((a, b) => a - b), Array.from({ length: n }, (_, at) => at));
  }
  const grid = Grid.mixed([5, 8], 1000);
  const [x] = grid.views("float32", device);
  const order = (await read(permutation(8, { device, seed: 2 }))).values;
  const columns = await read(permutation(x!, { axis: 1, seed: 2 }));
  assertEquals(columns, Grid.of([5, 8], ([row, column]) => grid.at([row!, order[column!]!])));
  // All orders of three occur, about as often.
  setSeed(1);
  const counts = new Map<string, number>();
  const orders = await Promise.all(
    Array.from({ length: 600 }, () => read(permutation(3, { device }))),
  );
  for (const { values } of orders) counts.set(`${values}`, (counts.get(`${values}`) ?? 0) + 1);
  assertEquals(counts.size, 6);
  for (const count of counts.values()) assert(Math.abs(count - 100) < 50, `${count}`);
  assertThrows(() => permutation(-1, { device }), RangeError, "x must be");
  assertThrows(() => permutation(x!, { axis: 2 }), RangeError, "axis");
});

Deno.test("choice() draws with and without replacement, and by probabilities", async () => {
  const own = await inForms((on) =>
    choice(50, [5, 10], { device: on, seed: 3, replace: false }) as Tensor
  );
  assertEquals(new Set(own.values).size, 50);
  using x = tensor([[10, 1], [20, 2], [30, 3]], { device });
  const rows = await read(choice(x, [400], { seed: 5 }));
  assertEquals(rows.shape, [400, 2]);
  assert(rows.values.every((it, at) => at % 2 === 0 || it * 10 === rows.values[at - 1]));
  assertEquals(new Set(rows.values).size, 6);
  const probabilities = [1, 0, 3];
  const drawn = await inForms((on) =>
    choice(3, [20_000], { device: on, probabilities, seed: 8 }) as Tensor
  );
  const counts = [0, 1, 2].map((it) => drawn.values.filter((own) => own === it).length);
  assert(Math.abs(counts[0]! - 5000) < 310 && counts[1] === 0, `${counts}`);
  assertEquals((await read(choice(4, undefined, { device }))).shape, []);
  assertEquals((await read(choice(0, [0], { device }))).shape, [0]);
  const place = { device };
  assertThrows(() => choice(0, [1], place), RangeError, "at most 0");
  assertThrows(() => choice(3, [4], { ...place, replace: false }), RangeError, "at most 3");
  for (const wrong of [[1], [1, -1, 2], [0, 0, 0], [1, NaN, 2]]) {
    assertThrows(() => choice(3, [1], { ...place, probabilities: wrong }), RangeError, "3 numbers");
  }
  assertThrows(
    () => choice(3, [1], { ...place, probabilities, replace: false }),
    TypeError,
    "options.replace must be true",
  );
});

Deno.test("dropout() drops by the generator's numbers, and scales the others", async () => {
  const grid = Grid.mixed([37, 301], 90).map((it) => it + 1);
  const numbers = await read(uniform([37, 301], { device, seed: 6 }));
  for (const dtype of ["float32", "float16"] as const) {
    const own = await inForms((on) => {
      const [, x] = grid.views(dtype, on);
      return dropout(x!, 0.75, { seed: 6 }) as Tensor;
    });
    const kept = new Grid(
      grid.shape,
      grid.values.map((it, at) => numbers.values[at]! >= 0.75 ? 4 * it : 0),
    );
    assertEquals(own, kept);
  }
  using special = tensor([NaN, Infinity, 1], { device });
  assertEquals((await read(dropout(special, 1))).values, [0, 0, 0]);
  assertEquals((await read(dropout(special, 0))).values, [NaN, Infinity, 1]);
  using many = ones([100_000], { device });
  const dropped = (await read(dropout(many))).values.filter((it) => it === 0).length;
  assert(Math.abs(dropped - 50_000) < 1000, `${dropped}`);
  using integers = zeros([2], { device, dtype: "int32" });
  assertThrows(() => dropout(integers), TypeError, "it is int32");
  assertThrows(() => dropout(many, 1.5), RangeError, "p must be in 0..1: it is 1.5");
});
