// The accuracy of sums, means, variances and norms against double precision, in both forms of kernels.

import { assert, assertEquals } from "@std/assert";
import * as tensors from "../../src/device/tensor.ts";
import { fromTypedArray, type Tensor, tensor } from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { forms } from "../support/tensor_forms.ts";

const UNIT = 2 ** -24;

/** Irregular numbers of float32, and equal ones, whose roundings all have one direction. */
const FILLS = [(i: number) => ((i * 7919 % 10007) - 4000) / 10007, () => 0.1];

async function numbersOf(result: Tensor): Promise<number[]> {
  return Array.from(await result.toArray() as ArrayLike<number>, Number);
}

/** The sum in double precision and that of the magnitudes of every `stride`th number. */
function exact(values: Float32Array, begin: number, count: number, stride: number) {
  let [sum, size] = [0, 0];
  for (let i = 0; i < count; i++) {
    const value = values[begin + i * stride]!;
    sum += value;
    size += Math.abs(value);
  }
  return { sum, size };
}

for (const [form, on] of forms) {
  // Rows of a warp, of a block and in parts; columns, also in parts.
  const shapes = [
    [7, 100, 1],
    [3, 1000, 1],
    [3, 20_011, 1],
    [1, 400_009, 1],
    [600, 21, 0],
    [40_009, 20, 0],
  ] as const;
  Deno.test(`sum() and mean() err no more than pairwise summation (${form})`, async () => {
    const checks = FILLS.flatMap((fill) =>
      shapes.map(([rows, columns, axis]) => {
        const values = Float32Array.from({ length: rows * columns }, (_, i) => fill(i));
        const x = fromTypedArray(values, [rows, columns], { device: on });
        const results = [x.sum({ axis }), x.mean({ axis })];
        return async () => {
          const [sums, means] = await Promise.all(results.map(numbersOf));
          const length = axis === 1 ? columns : rows;
          for (let k = 0; k < rows * columns / length; k++) {
            const [begin, stride] = axis === 1 ? [k * columns, 1] : [k, columns];
            const { sum, size } = exact(values, begin, length, stride);
            // NumPy adds up 128 numbers by 8 sums, and such sums in pairs; longer sums are much better.
            const bound = (length <= 512 ? 15 + Math.log2(length) : 4) * UNIT * size;
            const what = `of ${length} in ${rows} × ${columns}`;
            assert(Math.abs(sums![k]! - sum) <= bound, `sum ${what} is ${sums![k]}, not ${sum}`);
            const error = Math.abs(means![k]! * length - sum);
            assert(error <= bound + UNIT * Math.abs(sum), `mean ${what} is ${means![k]}`);
          }
        };
      })
    );
    for (const check of checks) await check();
  });

  Deno.test(`sum() of float16 and float64 keeps their digits in long rows (${form})`, async () => {
    const count = form === "block" ? 300_007 : 20_011;
    using ones = tensors.ones([1], { dtype: "float16", device: on }).broadcastTo([1, count]);
    assertEquals(await numbersOf(tensors.sum(ones, { axis: 1, dtype: "float32" })), [count]);
    assertEquals(await numbersOf(ones.mean({ axis: 1 })), [1]);
    // A tenth has an error of its own in each addition.
    using tenth = tensor([0.1], { dtype: "float64", device: on }).broadcastTo([1, count]);
    const [sum] = await numbersOf(tenth.sum({ axis: 1 }));
    const bound = form === "block" ? 40 : 25 + count / 4096;
    assert(Math.abs(sum! - count / 10) <= bound * 2 ** -53 * count / 10, `${sum}`);
  });

  Deno.test(`variance(), std() and norms have values whose squares float32 lacks (${form})`, async () => {
    const base = [1, 3, -2, 5, 0.25];
    const variance = 5.71;
    for (const scale of [1e20, 1e-25]) {
      const close = async (result: Tensor, wanted: readonly number[], what: string) => {
        (await numbersOf(result)).forEach((value, i) => {
          const error = Math.abs(value / wanted[i % wanted.length]! - 1);
          assert(error < 1e-6, `${what} at ${scale} is ${value}, not ${wanted}`);
        });
      };
      const values = base.map((it) => it * scale);
      using row = tensor([values], { device: on });
      using column = tensor(values.map((it) => new Array(20).fill(it)), { device: on });
      await close(tensors.std(row, { axis: 1 }), [Math.sqrt(variance) * scale], "std of a row");
      await close(tensors.std(column, { axis: 0 }), [Math.sqrt(variance) * scale], "of columns");
      const mean = 1.45;
      const options = { epsilon: 0 };
      const normal = base.map((it) => (it - mean) / Math.sqrt(variance));
      await close(tensors.layerNorm(row, options), normal, "layerNorm");
      const root = Math.sqrt(base.reduce((sum, it) => sum + it * it, 0) / base.length);
      await close(tensors.rmsNorm(row, options), base.map((it) => it / root), "rmsNorm");
    }
  });
}

Deno.test("variance() and std() are NaN where the correction leaves no divisor", async () => {
  // Each correction has kernels of its own.
  for (const [dtype, corrections] of [["float32", [0, 1, 3]], ["float64", [1]]] as const) {
    for (const values of [[], [1], [1, 2], [1, 2, 4]]) {
      using x = tensor(values, { dtype, device });
      for (const correction of corrections) {
        const results = [tensors.variance(x, { correction }), tensors.std(x, { correction })];
        const [variance, std] = await Promise.all(results.map((it) => it.item()));
        const what = `${values} with ${correction}`;
        assertEquals(Number.isNaN(variance), values.length <= correction, what);
        assertEquals(Number.isNaN(std), values.length <= correction, what);
      }
    }
  }
});

Deno.test("sum() adds up rows of more than one part of which many are there", async () => {
  // Rows are not split if there are 256.
  const rows = 256;
  const columns = forms.get("block") === device ? 131_104 : 8_224;
  using x = tensors.ones([columns], { device }).broadcastTo([rows, columns]);
  assertEquals(await numbersOf(x.sum({ axis: 1 })), new Array(rows).fill(columns));
  using last = tensors.arange(columns, undefined, 1, { device }).broadcastTo([rows, columns]);
  assertEquals(await numbersOf(last.max({ axis: 1 })), new Array(rows).fill(columns - 1));
});

Deno.test("device.kernels.moments() has a variance of values whose squares float32 lacks", async () => {
  for (const dtype of ["float32", "bfloat16"] as const) {
    for (const scale of [2 ** 66, 2 ** -83]) {
      const values = Array.from({ length: 1000 }, (_, i) => scale * [1, 3, -2, 5, 0.25][i % 5]!);
      using x = tensor(values, { dtype, device });
      using out = device.allocate("float64", 2);
      device.kernels.moments(x.buffer, out, { correction: 0 });
      const [mean, variance] = await out.toArray();
      assert(Math.abs(mean! / scale - 1.45) < 1e-6, `mean ${mean}`);
      assert(Math.abs(variance! / scale ** 2 - 5.71) < 1e-5, `variance ${variance}`);
    }
  }
});
