// Matrix products: shapes, strides, batches, element types, epilogues, variants and refusals.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import {
  explainMatmul,
  fromTypedArray,
  matmul,
  matmulBatch,
  type MatmulOptions,
  type Tensor,
  tensor,
  zeros,
} from "../../src/device/tensor.ts";
import { storageOf } from "../../src/tensor/tensor.ts";
import type { DType } from "../../mod.ts";
import { device } from "../support/device.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

/** The product in double precision. */
function product(a: Grid, b: Grid): Grid {
  const [m, k] = a.shape.slice(-2) as [number, number];
  const n = b.shape.at(-1)!;
  return Grid.of([m, n], ([i, j]) => {
    let sum = 0;
    for (let l = 0; l < k; l++) sum += a.values[i! * k + l]! * b.values[l * n + j!]!;
    return sum;
  });
}

/** Fractions whose products are not exact. */
const fractions = (shape: readonly number[]) =>
  Grid.mixed(shape, 1009).map((it) => Math.fround((it - 504) / 300));

/**
 * A check of results against double precision: the error of a sum of k products grows as √k in most
 * cases, relative to the sum of their sizes.
 */
function near(a: Grid, b: Grid, epsilon: number) {
  const [wanted, sizes] = [product(a, b), product(a.map(Math.abs), b.map(Math.abs))];
  const steps = 2 + 2 * Math.sqrt(a.shape.at(-1)!);
  return async (result: Tensor) => {
    const actual = await read(result);
    assertEquals([...actual.shape], [...wanted.shape]);
    const wrong = wanted.values.findIndex((it, at) =>
      !(Math.abs(actual.values[at]! - it) <= epsilon * steps * sizes.values[at]!)
    );
    assert(wrong < 0, `(${a.shape}) · (${b.shape}) element ${wrong} is ${actual.values[wrong]}`);
  };
}

const EPSILON = { float32: 2 ** -24, float64: 2 ** -53 };

Deno.test("matmul() equals double precision within its bound for all shapes and strides", async () => {
  const small = [[1, 1, 1], [13, 17, 15], [65, 63, 33], [1, 67, 31], [66, 1, 5], [3, 5, 0]];
  const large = [[337, 257, 257], [29, 33, 1031], [1, 2100, 70], [700, 1, 4200]];
  for (const [form, on] of forms) {
    const pending: Promise<void>[] = [];
    for (const [m, n, k] of form === "block" ? [...small, ...large] : small) {
      const [a, b] = [fractions([m!, k!]), fractions([k!, n!])];
      const isLarge = m! * n! * k! > 10000 || k === 0;
      const views = isLarge
        ? [[a.tensor("float32", on), b.tensor("float32", on)]] as const
        : [...a.views("float32", on)].flatMap((x) =>
          [...b.views("float32", on)].map((y) => [x, y] as const)
        );
      const check = near(a, b, EPSILON.float32);
      for (const [x, y] of views) pending.push(check(matmul(x, y)));
    }
    await Promise.all(pending);
  }
});

Deno.test("matmul() accumulates float64 as such, 16-bit floats as float32, and wraps integers", async () => {
  const [a, b] = [fractions([15, 40]), fractions([40, 9])];
  const integers = Grid.mixed([15, 40], 200).map((it) => it - 100);
  const wide = product(integers, new Grid([40, 15], integers.values));
  for (const on of forms.values()) {
    const [x, y] = [integers.tensor("int8", on), integers.tensor("int8", on).reshape([40, 15])];
    const results = [
      near(a, b, EPSILON.float64)(matmul(a.tensor("float64", on), b.tensor("float64", on))),
      expect(matmul(x, y, { dtype: "int32" }), wide, "int8 to int32"),
      // 2^11 + 1 is no float16.
      expect(
        matmul(
          Grid.of([2, 2049], () => 1).tensor("float16", on),
          Grid.of([2049, 3], () => 1)
            .tensor("float16", on),
          { dtype: "float32" },
        ),
        Grid.of([2, 3], () => 2049),
        "float16",
      ),
    ];
    await Promise.all(results);
  }
  const long = tensor([[2n ** 63n - 1n, 3n]], { dtype: "uint64", device });
  const square = await matmul(long, long.transpose()).toArray();
  assertEquals([...square], [BigInt.asUintN(64, (2n ** 63n - 1n) ** 2n + 9n)]);
  const eighths = tensor([[1.5, 2], [3, 400]], { device }).astype("float8_e4m3");
  const wide8 = await matmul(eighths, eighths, { dtype: "float32" }).toNested();
  assertEquals(wide8, [[8.25, 771], [1156.5, 147462]]);
  const bytes = integers.tensor("int8", device);
  await expect(matmul(bytes, bytes.reshape([40, 15])), wide.map((it) => it << 24 >> 24), "int8");
});

Deno.test("matmul() finishes in one pass: scale, bias, activation, residual, dtype and out", async () => {
  const [a, b] = [Grid.mixed([5, 6]), Grid.mixed([6, 4]).map((it) => it - 3)];
  const plain = product(a, b);
  const bias = Grid.mixed([4], 50), residual = Grid.mixed([5, 4], 9);
  for (const on of forms.values()) {
    const [x, y] = [a.tensor("float32", on), b.tensor("float32", on)];
    const options: MatmulOptions = {
      scale: 0.5,
      bias: bias.tensor("float16", on),
      activation: "relu",
      residual: residual.tensor("float32", on),
    };
    const finished = (round: (value: number) => number) =>
      Grid.of(
        [5, 4],
        (at) => round(Math.max(0, 0.5 * plain.at(at) + bias.at([at[1]!])) + residual.at(at)),
      );
    const own = residual.tensor("float32", on).transpose();
    const even = (value: number) =>
      Math.round(value) - (value % 1 === 0.5 && Math.round(value) % 2 !== 0 ? 1 : 0);
    await Promise.all([
      expect(matmul(x, y, options as MatmulOptions<"float32">), finished((it) => it), "finished"),
      expect(
        matmul(x, y, { ...options, dtype: "uint8", scale: -0.5, activation: undefined as never }),
        Grid.of(
          [5, 4],
          (at) =>
            Math.min(
              255,
              Math.max(0, even(-0.5 * plain.at(at) + bias.at([at[1]!]) + residual.at(at))),
            ),
        ),
        "quantised",
      ),
      // The result takes the place of the residual, here with strides.
      expect(
        matmul(y.transpose(), x.transpose(), { residual: own, out: own }),
        Grid.of([4, 5], ([i, j]) => plain.at([j!, i!]) + residual.at([j!, i!])),
        "in place",
      ),
    ]);
  }
});

Deno.test("matmul() broadcasts batches of any strides, with addends of the result's shape", async () => {
  const batches = [3, 2];
  const a = fractions([3, 1, 4, 5]), b = fractions([2, 5, 3]);
  const slice = (grid: Grid, at: number, rows: number, columns: number) =>
    new Grid(
      [rows, columns],
      grid.values.slice(at * rows * columns, (at + 1) * rows * columns),
    );
  const bias = Grid.mixed([3, 1, 1, 3]);
  const wanted = Grid.of([3, 2, 4, 3], ([i, j, m, n]) => {
    const one = product(slice(a, i!, 4, 5), slice(b, j!, 5, 3));
    return Math.fround(one.at([m!, n!]) + bias.at([i!, 0, 0, n!]));
  });
  const close = async (result: Tensor) => {
    const actual = await read(result);
    assertEquals([...actual.shape], [...batches, 4, 3]);
    wanted.values.forEach((it, at) => assert(Math.abs(it - actual.values[at]!) < 1e-5, `${at}`));
  };
  for (const on of forms.values()) {
    const added = { bias: bias.tensor("float32", on) };
    const y = b.tensor("float32", on);
    await Promise.all(
      [...a.views("float32", on)].map((x) => close(matmul(x, y, added))),
    );
    // A batch of rows times one matrix is one product.
    const rows = matmul(
      a.tensor("float32", on).reshape([3, 4, 5]),
      y.slice([{ stop: 1 }]).squeeze(0),
    );
    const flat = matmul(
      a.tensor("float32", on).reshape([12, 5]),
      y.slice([{ stop: 1 }]).squeeze(0),
    );
    assertEquals((await read(rows)).values, (await read(flat)).values);
  }
});

Deno.test("matmul() adds the bias and the residual of each row to the product with a vector", async () => {
  const a = Grid.mixed([3, 5]).tensor("float32", device);
  const ones = zeros([5, 1], { device }).add(1);
  const addend = tensor([[10], [20], [30]], { device });
  const sums = await a.sum({ axis: 1 }).toArray();
  const wanted = new Grid([3, 1], [...sums].map((it, i) => it + 10 * (i + 1)));
  const vector = new Grid([3], wanted.values);
  const strided = Grid.of([3, 2], ([i]) => 10 * (i! + 1)).tensor("float32", device).slice([{}, {
    start: 1,
  }]);
  const checks = [addend, strided].flatMap((it) => [
    expect(matmul(a, ones, { residual: it as Tensor }), wanted, "residual of a column"),
    expect(matmul(a, ones, { bias: it as Tensor }), wanted, "bias of a column"),
    expect(matmul(a, ones.squeeze(1), { residual: it.squeeze(1) as Tensor }), vector, "residual"),
    expect(matmul(a, ones.squeeze(1), { bias: it.squeeze(1) as Tensor }), vector, "bias"),
  ]);
  await Promise.all(checks);
});

Deno.test("matmul() of few rows by CUDA threads is exact around parts, packets and blocks", async () => {
  const on = forms.get("threads")!;
  const integers = (shape: readonly number[], shift: number) =>
    Grid.mixed(shape).map((it) => it - shift);
  const pending: Promise<void>[] = [];
  const shapes = [[1, 40, 4096], [1, 36, 4097], [1, 33, 513], [1, 20, 9000], [1, 8, 0]];
  const several = [[9, 17, 67], [16, 24, 4104]];
  const types = { float32: "float32", float16: "float32", int8: "int32" } as const;
  for (const [m, n, k] of [...shapes, ...several] as [number, number, number][]) {
    const [a, b] = [integers([m, k], 3), integers([k, n], 2)];
    const wanted = product(a, b);
    const flipped = Grid.of([n, k], ([j, l]) => b.at([l!, j!]));
    for (const [type, sums] of Object.entries(types) as [keyof typeof types, DType][]) {
      // Each instance is compiled; the other types differ by the elements of a packet.
      if (type === "float16" && k !== 4104) continue;
      if (type === "int8" && k !== 4096) continue;
      const options = { dtype: sums, variant: m === 1 ? "vector" : "rows" } as MatmulOptions;
      const x = a.tensor(type, on), y = b.tensor(type, on);
      const columns = flipped.tensor(type, on).transpose();
      const text = `${type} ${[m, n, k]}`;
      pending.push(
        expect(matmul(x, y, options), wanted, text),
        expect(matmul(x, columns, options), wanted, `${text} columns`),
      );
      if (type !== "float32") continue;
      const turned = matmul(y.transpose(), x.transpose(), options).transpose();
      pending.push(expect(turned, wanted, `${text} as columns`));
    }
  }
  await Promise.all(pending);
});

Deno.test("matmul() of few rows by CUDA threads finishes sums of parts, in batches and views", async () => {
  const on = forms.get("threads")!;
  const [m, n, k] = [1, 12, 8200];
  const [a, b] = [Grid.mixed([2, m, k]), Grid.mixed([2, k, n + 5]).map((it) => it - 3)];
  const y = b.tensor("float32", on);
  const options: MatmulOptions = {
    scale: 0.5,
    bias: Grid.mixed([n]).tensor("float32", on),
    activation: "relu",
    variant: "vector",
  };
  const bias = Grid.mixed([n]);
  for (const start of [0, 4, 5]) {
    const view = y.slice([{}, {}, { start, stop: start + n }]);
    const wanted = Grid.of([2, m, n], ([batch, i, j]) => {
      let sum = 0;
      for (let l = 0; l < k; l++) sum += a.at([batch!, i!, l]) * b.at([batch!, l, j! + start]);
      return Math.max(0, 0.5 * sum + bias.at([j!]));
    });
    await expect(matmul(a.tensor("float32", on), view, options), wanted, `from ${start}`);
  }
});

Deno.test("matmul() of few rows by CUDA threads has the same bits for each row and column", async () => {
  const on = forms.get("threads")!;
  for (const isTransposed of [false, true]) {
    const a = fractions([16, 4500]).tensor("float32", on);
    const b = isTransposed
      ? fractions([24, 4500]).tensor("float32", on).transpose()
      : fractions([4500, 24]).tensor("float32", on);
    const whole = await read(matmul(a, b, { variant: "rows" }));
    const row = matmul(a.slice([{ start: 10, stop: 11 }]), b, { variant: "vector" });
    assertEquals((await read(row)).values, whole.values.slice(240, 264));
    const columns = b.slice([{}, { start: 4, stop: 8 }]);
    const part = await read(matmul(a.slice([{ start: 10, stop: 11 }]), columns));
    assertEquals(part.values, whole.values.slice(244, 248));
  }
});

/** A variant of this package: cuBLASLt has algorithms for shapes, and no launch to tell. */
const OWN = { variant: device.info.kind === "cuda" ? "simt" : "packed" } as const;

Deno.test("matmul() has the same bits in every tile of a larger product", async () => {
  const a = fractions([700, 300]).tensor("float32", device);
  const b = fractions([300, 40]).tensor("float32", device);
  const whole = matmul(a, b, OWN);
  const part = matmul(a.slice([{ start: 690 }]), b.slice([{}, { start: 8 }]), OWN);
  const own = whole.slice([{ start: 690 }, { start: 8 }]);
  assertEquals((await read(part)).values, (await read(own)).values);
});

Deno.test("explainMatmul() names the variant, its launch and the reason, and options.variant chooses", () => {
  const [x, y] = [zeros([64, 32], { device }), zeros([32, 64], { device })];
  const own = explainMatmul(x, y);
  const { launch } = explainMatmul(x, y, OWN);
  assert(launch.grid >= 1 && launch.block >= 1);
  assertEquals(own.launch.grid === 0, own.variant === "cublaslt");
  assertMatch(own.reason, /; not vector: it needs one row or column, and the result has 64 and 64/);
  assertEquals(explainMatmul(x.slice([{ stop: 1 }]), y).variant, "vector");
  const named = explainMatmul(x.slice([{ stop: 1 }]), y, { variant: own.variant });
  assertEquals([named.variant, named.reason.endsWith(", as requested")], [own.variant, true]);
  assertEquals(explainMatmul(x.slice([{ stop: 0 }]), y).launch, { grid: 0, block: 0 });
});

Deno.test("matmulBatch() has the bits of matmul() in the order of the pairs, on several streams", async () => {
  using left = fractions([40, 30]).tensor("float32", device);
  const right = [7, 20, 33].map((n) => fractions([30, n]).tensor("float32", device));
  const pairs = [0, 1, 0, 2, 1, 2, 0].map((at, index) =>
    [left.slice([{ start: index }]), right[at]!] as const
  );
  const products = matmulBatch(pairs, { maxInFlight: 3 });
  assertEquals(new Set(products.map((it) => storageOf(it).stream)).size, 3);
  const single = pairs.map(([x, y]) => matmul(x, y));
  for (const [index, own] of products.entries()) {
    assertEquals(await read(own), await read(single[index]!), `pair ${index}`);
  }
  assertEquals(matmulBatch([]), []);
  const wrong: readonly (readonly [() => unknown, typeof TypeError | typeof RangeError, string])[] =
    [
      [() => matmulBatch(1 as never), TypeError, "pairs must be an array of pairs"],
      [() => matmulBatch([[left]] as never), TypeError, "pairs[0] must be a pair of tensors"],
      [() => matmulBatch([pairs[0]!, [left, left]]), RangeError, "matmulBatch pair 1 as the inner"],
      [() => matmulBatch([], { maxInFlight: 0 }), RangeError, "options.maxInFlight must be"],
      [() => matmulBatch([], { bias: left } as never), TypeError, "bias"],
    ];
  for (const [run, kind, text] of wrong) assertThrows(run, kind, text);
});

Deno.test("matmulBatch() lets later work of the caller's stream wait for all products", async () => {
  const spin = device.kernels.load(
    "spin_float32(float* out, unsigned long long nanoseconds, float value)",
  );
  using stream = device.createStream();
  using slow = device.createStream();
  using scratch = device.allocate("float32", 1);
  using x = fractions([30, 7]).tensor("float32", device);
  using y = fractions([7, 30]).tensor("float32", device);
  const options = { stream, maxInFlight: 2 };
  // Compiled, so that the products are launched at once.
  await Promise.all(matmulBatch([[x, y], [x, y]], options).map((it) => it.ready()));
  spin.launch({ grid: 1, block: 1, stream: slow }, scratch, 0.2e9, 1);
  using late = zeros([30, 7], { device, stream: slow });
  const streams = matmulBatch([[x, y], [late, y]], options).map((it) => storageOf(it).stream);
  assertEquals(new Set(streams).size, 2);
  await stream.done();
  assertEquals(streams.map((own) => own.query()), [true, true]);
});

Deno.test("matmul() refuses operands and options that do not fit, by name", () => {
  const x = zeros([2, 3], { device });
  const flags = zeros([3, 3], { dtype: "bool", device });
  const y = zeros([3, 2], { device });
  const own = zeros([2, 2], { device });
  const call = (options: object) => () => matmul(x, y, options);
  const wrong: readonly (readonly [() => unknown, typeof TypeError | typeof RangeError, string])[] =
    [
      [() => matmul(y, y), RangeError, "(3, 2) and (3, 2) have 2 and 3"],
      [call({ biass: x }), TypeError, "biass"],
      [call({ bias: 1 }), TypeError, "options.bias"],
      [call({ bias: zeros([3], { device }) }), RangeError, "options.bias must broadcast to"],
      [call({ residual: x }), RangeError, "options.residual must broadcast to"],
      [call({ activation: "swish" }), TypeError, "options.activation must be one of"],
      [call({ scale: NaN }), RangeError, "options.scale must be a finite number: it is NaN"],
      [call({ scale: "1" }), RangeError, "options.scale"],
      [call({ dtype: "int4" }), TypeError, "options.dtype must be"],
      [call({ out: x }), RangeError, "options.out must have the shape (2, 2)"],
      [call({ out: y.slice([{ stop: 2 }]) }), RangeError, "options.out must not overlap"],
      [call({ out: own, residual: own.transpose() }), RangeError, "options.out must not overlap"],
      [call({ out: own, residual: own.flip() }), RangeError, "options.out must not overlap"],
      [call({ out: own.flip(0), bias: own.at(0) }), RangeError, "options.out must not overlap"],
      [call({ variant: "fast" }), TypeError, "options.variant must be vector, "],
      [call({ variant: "vector" }), RangeError, "it needs one row or column"],
      [call({ stream: 1 }), TypeError, "stream"],
    ];
  for (const [run, kind, text] of wrong) assertThrows(run, kind, text);
  assertThrows(() => matmul(flags, flags), TypeError, "must be numbers, not bool");
  const bytes = fromTypedArray(new Uint8Array(9), [3, 3], { device, dtype: "float8_e4m3" });
  assertThrows(() => matmul(bytes, y), TypeError, "must have a common one");
});
