// Matrix products on tensor cores: shapes around tiles, layouts, formats, sums, epilogues, refusals.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { DType } from "../../mod.ts";
import {
  explainMatmul,
  fromTypedArray,
  matmul,
  type MatmulOptions,
  type Tensor,
  zeros,
} from "../../src/device/tensor.ts";
import { bytesPerElement, isFloatDType } from "../../src/memory/dtype.ts";
import { narrowFromFloat32 } from "../../src/memory/element_bits.ts";
import { storeNumbers } from "../../src/device/validation/validation_case.ts";
import { checkMatmul } from "../../src/tensor/matmul/matmul.ts";
import { chooseVariant } from "../../src/tensor/matmul/variants.ts";
import { recordKernels } from "../support/recorded_kernels.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

const on = forms.get("threads")!;
const { multiprocessorCount, kind, computeCapability } = on.info;
const has8BitFloats = kind === "host" || Number(computeCapability) >= 8.9;

/** The products of matrices, or of the pairs of a batch, in double precision. */
function product(a: Grid, b: Grid): Grid {
  const [m, k] = a.shape.slice(-2) as [number, number];
  const n = b.shape.at(-1)!;
  return Grid.of([...a.shape.slice(0, -2), m, n], (at) => {
    const [i, j] = at.slice(-2) as [number, number];
    const batch = at.length === 3 ? at[0]! : 0;
    let sum = 0;
    for (let l = 0; l < k; l++) {
      sum += a.values[(batch * m + i) * k + l]! * b.values[(batch * k + l) * n + j]!;
    }
    return sum;
  });
}

/**
 * The ways in which elements lie: rows or columns in memory that start at multiples of 16 bytes, with
 * numbers behind them that must not be read, or neither.
 */
type Lie = "rows" | "columns" | "odd";

function laid(grid: Grid, dtype: DType, lie: Lie): Tensor {
  const swap = (shape: readonly number[]) => [...shape.slice(0, -2), shape.at(-1)!, shape.at(-2)!];
  const [of, shape] = lie === "columns"
    ? [(at: number[]) => grid.at(swap(at)), swap(grid.shape)]
    : [(at: number[]) => grid.at(at), grid.shape];
  const used = shape.at(-1)!;
  const step = 16 / bytesPerElement(dtype);
  const first = lie === "odd" ? 1 : 0;
  const last = shape.length - 1;
  const whole = shape.with(last, lie === "odd" ? used + 2 : Math.ceil((used + 1) / step) * step);
  const filler = isFloatDType(dtype) ? NaN : 77;
  const { values } = Grid.of(whole, (at) => {
    const column = at[last]! - first;
    return column >= 0 && column < used ? of(at.with(last, column)) : filler;
  });
  const stored = dtype === "float8_e5m2"
    ? narrowFromFloat32(dtype, Float32Array.from(values))
    : storeNumbers(dtype as "float32", Float64Array.from(values));
  const tensor = fromTypedArray(stored, whole, { device: on, dtype }) as Tensor;
  const view = tensor.slice([...shape.slice(1).map(() => ({})), {
    start: first,
    stop: first + used,
  }]);
  return lie === "columns"
    ? view.permute([...view.shape.keys()].with(-1, last - 1).with(-2, last))
    : view;
}

/** Integers whose products, and sums of some hundreds of these, every format of 8 bits has. */
const small = (shape: readonly number[]) => Grid.mixed(shape, 7).map((it) => it - 3);

/** One, primes, and a tile of 64 rows, columns or bytes along k, more or less one. */
const SHAPES = [[1, 1, 1], [2, 3, 5], [63, 65, 31], [64, 64, 33], [65, 63, 64], [17, 13, 129]];

interface Case {
  readonly a: DType;
  readonly b?: DType;
  readonly lies: readonly [Lie, Lie];
  readonly options?: Omit<MatmulOptions<"float32">, "out">;
}

const CASES: readonly Case[] = [
  { a: "float16", lies: ["rows", "rows"] },
  { a: "float16", lies: ["odd", "odd"] },
  // Two types meet in the third, and are converted.
  { a: "float32", b: "bfloat16", lies: ["columns", "columns"], options: { precision: "bf16" } },
  { a: "float32", lies: ["rows", "rows"], options: { precision: "tf32" } },
  { a: "float32", lies: ["columns", "columns"], options: { precision: "tf32" } },
  { a: "int8", lies: ["columns", "rows"] },
  { a: "float8_e5m2", lies: ["rows", "rows"] },
];

Deno.test("matmul() on tensor cores is exact for integers in every format, layout and shape", async () => {
  const pending: Promise<void>[] = [];
  for (const { a, b = a, lies, options } of CASES) {
    if (a.startsWith("float8") && !has8BitFloats) continue;
    for (const [m, n, k] of SHAPES as [number, number, number][]) {
      const [x, y] = [small([m, k]), small([k, n]).map((it) => -it)];
      const dtype = isFloatDType(a) ? "float32" : "int32";
      const result = matmul(laid(x, a, lies[0]), laid(y, b, lies[1]), {
        ...options,
        dtype,
        variant: "mma",
      } as MatmulOptions);
      pending.push(expect(result, product(x, y), `${a} ${b} ${lies} (${m}, ${n}, ${k})`));
    }
  }
  await Promise.all(pending);
});

Deno.test("matmul() on tensor cores by stages of shared memory is exact around tiles and stages", async () => {
  const pending: Promise<void>[] = [];
  // With the two tiles of 257 to 512 columns: blocks for most of the multiprocessors; the host device has few. Stages of 128 bytes along k, which
  // are filled again and again within a tile, and at its edges.
  const rows = 128 * Math.ceil(3 * multiprocessorCount / 8);
  const cases = [
    [{ a: "float16", lies: ["rows", "rows"] }, [rows, 257, 65], [rows + 1, 512, 456]],
    [{ a: "bfloat16", lies: ["columns", "columns"] }, [rows + 9, 300, 327]],
    [{ a: "int8", lies: ["rows", "columns"] }, [rows + 1, 257, 641], [rows, 512, 1]],
    [{ a: "float8_e4m3", lies: ["rows", "columns"] }, [rows, 260, 130]],
  ] as const;
  for (const [{ a, lies }, ...shapes] of cases) {
    if (a.startsWith("float8") && !has8BitFloats) continue;
    for (const [m, n, k] of shapes) {
      const [x, y] = [small([m, k]), small([k, n])];
      const dtype = a === "int8" ? "int32" : "float32";
      const options = { dtype, variant: "mma" } as MatmulOptions;
      const [left, right] = [laid(x, a, lies[0]), laid(y, a, lies[1])];
      const [launch] = recordKernels(on, () => matmul(left, right, options));
      assertMatch(launch!.text.body, /matmul_mma_staged</, `${a} ${[m, n, k]}`);
      pending.push(expect(matmul(left, right, options), product(x, y), `${a} ${[m, n, k]}`));
    }
  }
  await Promise.all(pending);
});

Deno.test("matmul() on tensor cores wraps integers, and its errors grow with k as stated", async () => {
  // 200 · 255 · 255 · 331 leaves 32 bits; the sum for the first row stays.
  const k = 331;
  const bytes = Grid.of([3, k], ([i]) => [1, 254, 255][i!]!);
  const signs = Grid.of([k, 70], ([, j]) => j! % 2 === 0 ? -128 : 127);
  const exact = product(bytes, signs);
  const wrapped = expect(
    matmul(laid(bytes, "uint8", "odd"), laid(signs, "int8", "odd"), {
      dtype: "int32",
      scale: 1,
      variant: "mma",
    }),
    exact,
    "uint8 and int8",
  );
  // The sums of 16 products are exact, and each is added with an error of at most a unit of the
  // sum's last place.
  const fractions = (shape: readonly number[]) =>
    Grid.mixed(shape, 2003).map((it) => Math.fround((it - 1001) / 1024));
  const long = [1, 16, 331, 1531].map(async (depth) => {
    const [x, y] = [fractions([9, depth]), fractions([depth, 11])];
    const [wanted, sizes] = [product(x, y), product(x.map(Math.abs), y.map(Math.abs))];
    const { values } = await read(
      matmul(laid(x, "float16", "odd"), laid(y, "float16", "odd"), {
        dtype: "float32",
        variant: "mma",
      }) as Tensor,
    );
    const steps = 1 + Math.ceil(depth / 16);
    values.forEach((value, at) => {
      const bound = steps * 2 ** -23 * sizes.values[at]!;
      const error = Math.abs(value - wanted.values[at]!);
      assert(error <= bound, `${depth}: element ${at} is ${value}, not ${wanted.values[at]}`);
    });
  });
  await Promise.all([wrapped, ...long]);
});

Deno.test("matmul() on tensor cores rounds float32 to TF32, ties to even, and keeps NaN and infinity", async () => {
  const values = [1 + 2 ** -11, 1 + 3 * 2 ** -11, 1 + 2 ** -11 + 2 ** -20, -1 / 3, Infinity, NaN];
  const wanted = [1, 1 + 2 ** -9, 1 + 2 ** -10, -1365 / 4096, Infinity, NaN];
  const x = laid(new Grid([6, 1], values), "float32", "rows");
  const y = laid(new Grid([1, 2], [1, 2]), "float32", "rows");
  const { values: actual } = await read(matmul(x, y, { precision: "tf32", variant: "mma" }));
  assertEquals(actual, wanted.flatMap((it) => [it, 2 * it]));
});

Deno.test("matmul() on tensor cores takes large tiles, batches and every epilogue", async () => {
  // A tile of 128 for every multiprocessor, and one more row.
  const [m, n, k] = [128 * Math.ceil(multiprocessorCount / 2) + 1, 65, 40];
  const [a, b] = [small([2, m, k]), small([2, k, n])];
  const [bias, residual] = [small([n]), small([2, m, n])];
  const plain = product(a, b);
  const options: MatmulOptions<"int16"> = {
    scale: 0.5,
    bias: bias.tensor("float16", on),
    activation: "relu",
    residual: residual.tensor("float32", on),
    dtype: "int16",
    variant: "mma",
  };
  const [x, y] = [laid(a, "float16", "columns"), laid(b, "float16", "columns")];
  assertEquals(explainMatmul(x, y, options as MatmulOptions).launch.block, 256);
  const even = (value: number) =>
    2 * Math.round(value / 2) === Math.ceil(value) ? Math.ceil(value) : Math.floor(value);
  await expect(
    matmul(x, y, options),
    Grid.of(
      plain.shape,
      (at) => even(Math.max(0, 0.5 * plain.at(at) + bias.at([at[2]!])) + residual.at(at)),
    ),
    "finished",
  );
});

Deno.test("matmul() on tensor cores reads 16 bytes at once only of rows that begin at such", () => {
  for (const width of [72, 73, 76, 80]) {
    for (let start = 0; start <= 8; start++) {
      const [launch] = recordKernels(on, () => {
        const rows = zeros([64, width], { dtype: "float16", device: on });
        const x = rows.slice([{}, { start, stop: start + 64 }]);
        matmul(x, x.transpose(), { variant: "mma" });
      });
      const lies = /Layout::(\w+), Layout::(\w+)/.exec(launch!.text.body)!.slice(1);
      const isAligned = 2 * start % 16 === 0 && 2 * width % 16 === 0;
      const wanted = isAligned ? ["along", "along"] : ["any", "any"];
      assertEquals(lies, wanted, `rows of ${width} from ${start}`);
    }
  }
});

Deno.test("options.variant mma is refused without tensor cores for the operands, with the reason", () => {
  const x = zeros([64, 64], { device: on });
  const bytes = zeros([64, 64], { device: on, dtype: "int8" });
  const refused = (operand: Tensor, options: MatmulOptions, text: string) =>
    assertThrows(() => matmul(operand, operand, { variant: "mma", ...options }), RangeError, text);
  refused(x, {}, "are float32 and float32 at precision auto, the sums float32");
  refused(zeros([2, 2], { device: on, dtype: "float64" }), {}, "are float64 and float64");
  refused(bytes, { dtype: "int64" }, "the sums int64");
  const { problem } = checkMatmul("test", x, x, { precision: "tf32" });
  const choose = (capability: string, own = problem, wanted?: string) => {
    const info = { ...own.context.info, computeCapability: capability };
    const library = { kind: "cuda" };
    Deno.env.set("GRIDSTRIDE_CUBLASLT", "none"); // not searched for
    const context = Object.create(own.context, {
      info: { value: info },
      library: { value: library },
    });
    try {
      return chooseVariant({ ...own, context }, wanted);
    } finally {
      Deno.env.delete("GRIDSTRIDE_CUBLASLT");
    }
  };
  assertEquals(choose("8.0").variant.name, "mma");
  assertEquals(choose("7.5").variant.name, "simt");
  assertMatch(choose("7.5").reason, /not mma: it needs compute capability 8\.0, and .* has 7\.5/);
  const { problem: eighths } = checkMatmul("test", x, x, { precision: "fp8" });
  assertThrows(() => choose("8.6", eighths, "mma"), RangeError, "compute capability 8.9");
  if (kind !== "host") return;
  assertMatch(
    explainMatmul(x, x, { precision: "tf32" }).reason,
    /not mma: the host device imitates/,
  );
  const block = forms.get("block");
  if (block === undefined) return;
  const vectorised = zeros([2, 2], { device: block });
  assertThrows(
    () => matmul(vectorised, vectorised, { variant: "mma" }),
    RangeError,
    "CUDA threads",
  );
});
