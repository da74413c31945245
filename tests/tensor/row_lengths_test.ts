// Reductions and row programs at the lengths where the division of a row among threads changes, in both
// forms of kernels. Elements are small integers, so sums are exact in every order.

import { assert, assertEquals } from "@std/assert";
import type { DType } from "../../mod.ts";
import * as tensors from "../../src/device/tensor.ts";
import { fromTypedArray, softmax, type Tensor, tensor } from "../../src/device/tensor.ts";
import { forms } from "../support/tensor_forms.ts";

const LENGTHS = [
  ...[0, 1, 31, 32, 33, 1023, 1024, 1025, 8191, 8192, 8193, 65_535, 65_536, 65_537],
  99_991,
];

const pattern = (length: number, seed = 0): number[] =>
  Array.from({ length }, (_, i) => (i + seed) * 7919 % 19 - 9);

const total = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0);

async function numbersOf(result: Tensor): Promise<number[]> {
  using own = result;
  return [await own.toNested()].flat(Infinity as 1).map(Number);
}

for (const [form, on] of forms) {
  Deno.test(`sum() of rows is exact at every length (${form})`, async () => {
    await Promise.all(LENGTHS.map(async (length) => {
      const rows = [pattern(length), pattern(length, 5)];
      using x = fromTypedArray(Float32Array.from(rows.flat()), [2, length], { device: on });
      const sums = await numbersOf(tensors.sum(x, { axis: 1 }) as Tensor);
      assertEquals(sums, rows.map(total), `${length} columns`);
    }));
  });

  Deno.test(`argmax() finds the first of equal elements in every packet (${form})`, async () => {
    await Promise.all([33, 1024, 65_540].map(async (length) => {
      // The places of the largest element: in the first and the last packet, and between.
      const places = [0, 1, length >> 1, length - 2, length - 1];
      const rows = places.map((place) => pattern(length).map((x, i) => i >= place ? 9 : x - 1));
      using x = tensor(rows, { device: on });
      assertEquals(await numbersOf(x.argmax({ axis: 1 }) as Tensor), places, `${length} columns`);
    }));
  });

  Deno.test(`max() and sum() pass NaN and infinities on from every packet (${form})`, async () => {
    const length = 1024;
    const rows = [3, 500, 1023].flatMap((place) =>
      [NaN, Infinity, -Infinity].map((value) => pattern(length).with(place, value))
    ).concat([new Array(length).fill(-Infinity)]);
    using x = tensor(rows, { device: on });
    const largest = (row: readonly number[]) => row.reduce((a, b) => Math.max(a, b));
    assertEquals(await numbersOf(x.max({ axis: 1 })), rows.map(largest));
    assertEquals(await numbersOf(x.sum({ axis: 1 }) as Tensor), rows.map(total));
  });

  Deno.test(`Reductions of rows take all element types in packets (${form})`, async () => {
    const length = 1040;
    const rows = [pattern(length), pattern(length, 3)];
    const check = async (dtype: DType, run: (x: Tensor) => Tensor, wanted: number[]) => {
      using x = tensor(rows, { dtype, device: on }) as Tensor;
      assertEquals(await numbersOf(run(x)), wanted, dtype);
    };
    const along = { axis: 1 };
    await Promise.all([
      check("int8", (x) => tensors.sum(x, along), rows.map(total)),
      check("int64", (x) => tensors.max(x, along) as Tensor, [9, 9]),
      check("float16", (x) => tensors.min(x, along) as Tensor, [-9, -9]),
      check("bfloat16", (x) => tensors.sum(x, { ...along, dtype: "float32" }), rows.map(total)),
      check("float64", (x) => tensors.sum(x, along), rows.map(total)),
    ]);
  });

  Deno.test(`Row programs have the bits of copies on misaligned views (${form})`, async () => {
    const [rows, columns] = [3, 1024];
    const values = Float32Array.from(
      { length: rows * (columns + 3) },
      (_, i) => Math.sin(i) * 2 ** (i % 7),
    );
    using x = fromTypedArray(values, [rows, columns + 3], { device: on });
    using view = x.slice([{}, { start: 1, stop: columns + 1 }]);
    using copy = tensor(await view.toNested(), { device: on });
    using flipped = view.flip(1);
    using flippedCopy = tensor(await flipped.toNested(), { device: on });
    for (const [a, b] of [[view, copy], [flipped, flippedCopy]] as const) {
      for (const run of [(it: typeof x) => it.sum({ axis: 1 }), (it: typeof x) => softmax(it)]) {
        assertEquals(await numbersOf(run(a) as Tensor), await numbersOf(run(b) as Tensor));
      }
    }
  });

  Deno.test(`softmax() is right where rows no longer fit into registers (${form})`, async () => {
    await Promise.all([2048, 8192, 8193].map(async (length) => {
      const row = pattern(length).map((x) => x / 4);
      const powers = row.map((x) => Math.exp(x - 9 / 4));
      const sum = total(powers);
      using x = tensor([row, row.toReversed()], { device: on });
      const actual = await numbersOf(softmax(x) as Tensor);
      const wanted = [...powers, ...powers.toReversed()].map((power) => power / sum);
      actual.forEach((value, i) => {
        const error = Math.abs(value / wanted[i]! - 1);
        assert(error < 1e-6, `element ${i} of ${length} is ${value}, not ${wanted[i]}`);
      });
    }));
  });
}
