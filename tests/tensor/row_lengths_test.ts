// Reductions and row programs at the lengths where the division of a row among threads changes, in both
// forms of kernels. Elements are small integers, so sums are exact in every order.

import { assert, assertEquals } from "@std/assert";
import type { DType } from "../../mod.ts";
import * as tensors from "../../src/device/tensor.ts";
import {
  fromTypedArray,
  layerNorm,
  softmax,
  type Tensor,
  tensor,
} from "../../src/device/tensor.ts";
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

  Deno.test(`Reductions of columns are exact at every number of rows and columns (${form})`, async () => {
    const shapes = [[0, 20], [1, 16], [7, 33], [8, 1024], [65, 129], [1025, 20], [
      9000,
      36,
    ]] as const;
    await Promise.all(shapes.map(async ([rows, columns]) => {
      const values = pattern(rows * columns);
      using x = fromTypedArray(Float32Array.from(values), [rows, columns], { device: on });
      using wide = fromTypedArray(
        Float32Array.from(
          { length: rows * (columns + 1) },
          (_, i) => i % (columns + 1) === 0 ? 99 : values[i - 1 - Math.floor(i / (columns + 1))]!,
        ),
        [rows, columns + 1],
        { device: on },
      );
      using view = wide.slice([{}, { start: 1 }]);
      const grid = Array.from(
        { length: columns },
        (_, c) => Array.from({ length: rows }, (_, r) => values[r * columns + c]!),
      );
      const what = `${rows} rows of ${columns}`;
      assertEquals(await numbersOf(tensors.sum(x, { axis: 0 }) as Tensor), grid.map(total), what);
      assertEquals(
        await numbersOf(tensors.sum(view, { axis: 0 }) as Tensor),
        grid.map(total),
        what,
      );
      if (rows === 0) return;
      const largest = grid.map((column) => column.reduce((a, b) => Math.max(a, b)));
      assertEquals(await numbersOf(x.max({ axis: 0 })), largest, what);
    }));
  });

  Deno.test(`softmax() and layerNorm() are right for rows of one and of several parts (${form})`, async () => {
    const relative = (actual: number[], wanted: number[], what: string) =>
      actual.forEach((value, i) => {
        const error = Math.abs(value / wanted[i]! - 1);
        assert(error < 1e-6, `element ${i} of ${what} is ${value}, not ${wanted[i]}`);
      });
    const check = async (length: number, dtype: "float32" | "float64" = "float32") => {
      const row = pattern(length).map((x) => x / 4);
      const rows = [row, row.toReversed(), row.with(length - 1, 5)];
      using x = tensor(rows, { device: on, dtype });
      const [powers, units] = await Promise.all([numbersOf(softmax(x)), numbersOf(layerNorm(x))]);
      rows.forEach((row, at) => {
        const what = `row ${at} of ${length}`;
        const own = row.map((x) => Math.exp(x - 5));
        const sum = total(own);
        const part = (all: number[]) => all.slice(at * length, (at + 1) * length);
        relative(part(powers), own.map((power) => power / sum), what);
        const centre = total(row) / length;
        const variance = total(row.map((x) => (x - centre) ** 2)) / length;
        relative(part(units), row.map((x) => (x - centre) / Math.sqrt(variance + 1e-5)), what);
      });
    };
    // Where the parts of float32 are 1, 2 and 4, and those of float64 are 8.
    await Promise.all([2048, 8192, 8193, 10_001, 16_385].map((length) => check(length)));
    await check(20_002, "float64");
  });

  Deno.test(`Rows that share a warp do not see each other (${form})`, async () => {
    for (const length of [1, 31, 127, 128, 129, 256]) {
      // The squares of every second row are out of the range of float32.
      const rows = Array.from(
        { length: 259 },
        (_, at) => pattern(length, at).map((x) => at % 2 === 0 ? x : x * 1e-30),
      );
      using x = fromTypedArray(Float32Array.from(rows.flat()), [259, length], { device: on });
      using alone = x.slice([{ start: 252, step: 2 }]);
      const [all, own, sums] = await Promise.all([
        numbersOf(layerNorm(x, { epsilon: 1e-70 })),
        numbersOf(layerNorm(alone, { epsilon: 1e-70 })),
        numbersOf(tensors.sum(x, { axis: 1 }) as Tensor),
      ]);
      const last = all.filter((_, i) => i >= 252 * length && Math.floor(i / length) % 2 === 0);
      assertEquals(last, own, `${length} columns`);
      assertEquals(
        sums.filter((_, at) => at % 2 === 0),
        rows.filter((_, at) => at % 2 === 0).map(total),
        `${length} columns`,
      );
    }
  });
}
