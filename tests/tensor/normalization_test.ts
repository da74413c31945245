// Softmax, cross entropy and normalisation against references in double precision, in both forms.

import { device } from "../support/device.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type DType, openDevice } from "../../mod.ts";
import {
  crossEntropy,
  crossEntropyBackward,
  type CrossEntropyOptions,
  fromTypedArray,
  layerNorm,
  layerNormBackward,
  logSoftmax,
  logSoftmaxBackward,
  rmsNorm,
  rmsNormBackward,
  softmax,
  softmaxBackward,
  type Tensor,
  tensor,
} from "../../src/device/tensor.ts";
import { DeviceWork } from "../../src/tensor/kit/device_work.ts";

/** Opens a device whose kernels run as CUDA threads; the form is decided on first use. */
function openSimulated() {
  DeviceWork.of(device.context);
  const before = Deno.env.get("GRIDSTRIDE_SIMULATE");
  Deno.env.set("GRIDSTRIDE_SIMULATE", "1");
  const other = openDevice("host");
  DeviceWork.of(other.context);
  if (before === undefined) Deno.env.delete("GRIDSTRIDE_SIMULATE");
  else Deno.env.set("GRIDSTRIDE_SIMULATE", before);
  return other;
}
const devices = [device, openSimulated()];

type Floats = "float16" | "bfloat16" | "float32" | "float64";
type Rows = number[][];
const EPSILON: Readonly<Record<Floats, number>> = {
  float16: 2 ** -11,
  bfloat16: 2 ** -8,
  float32: 2 ** -24,
  float64: 2 ** -53,
};

const generate = (rows: number, columns: number, seed = 0): Rows =>
  Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns }, (_, c) => {
      const x = Math.sin((r * columns + c + 1) * 12.9898 + seed) * 43758.5453;
      return Math.round(((x - Math.floor(x)) * 8 - 4) * 32) / 32; // exact in every element type
    }));

const sumOf = (row: readonly number[]) => row.reduce((sum, x) => sum + x, 0);
const meanOf = (row: readonly number[]) => sumOf(row) / row.length;

const reference = {
  softmax(row: number[]): number[] {
    const largest = row.reduce((a, b) => Math.max(a, b));
    const powers = row.map((x) => Math.exp(x - largest));
    const total = sumOf(powers);
    return powers.map((power) => power / total);
  },
  logSoftmax(row: number[]): number[] {
    const largest = row.reduce((a, b) => Math.max(a, b));
    const total = Math.log(sumOf(row.map((x) => Math.exp(x - largest))));
    return row.map((x) => x - largest - total);
  },
  norm(row: number[], isCentred: boolean, weight?: number[], bias?: number[]): number[] {
    const centre = isCentred ? meanOf(row) : 0;
    const deviation = Math.sqrt(meanOf(row.map((x) => (x - centre) ** 2)) + 1e-5);
    return row.map((x, c) => (x - centre) / deviation * (weight?.[c] ?? 1) + (bias?.[c] ?? 0));
  },
};

async function numbers(x: Tensor): Promise<number[]> {
  if (x.dtype.startsWith("float3")) return Array.from(await (x as Tensor<"float32">).toArray());
  return [await x.toNested()].flat(Infinity as 1).map(Number);
}

/** Checks elements within `ulps` relative roundings of the larger of the reference and `floor`. */
async function assertClose(
  actual: Tensor,
  expected: readonly number[],
  ulps: number,
  what: string,
  floor = 1,
) {
  const values = await numbers(actual);
  assertEquals(values.length, expected.length, what);
  const bound = ulps * EPSILON[actual.dtype as Floats];
  values.forEach((value, i) => {
    const error = Math.abs(value - expected[i]!);
    const limit = bound * Math.max(Math.abs(expected[i]!), floor);
    const isSame = Object.is(value, expected[i]);
    assert(isSame || error <= limit, `${what}: element ${i} is ${value}, not ${expected[i]}`);
  });
  actual.dispose();
}

const CASES: readonly (readonly [Floats, number, number])[] = [
  ...[1, 7, 31, 32, 33, 128, 1024, 1025, 40_009].map((columns) => ["float32", 3, columns] as const),
  ["float32", 300, 65],
  ["float64", 3, 129],
  ["float16", 3, 129],
  ["bfloat16", 3, 129],
];

/**
 * The types of functions on the first device, and on the one that simulates threads. Every case is
 * a kernel to compile, and forms differ in the template alone: on both devices all types pass
 * through it, and every function has its rounding of 16-bit results; validation has all pairs.
 */
const TYPES: Readonly<Record<string, readonly [readonly Floats[], readonly Floats[]]>> = {
  softmax: [["float32", "float64", "bfloat16"], ["float32"]],
  logSoftmax: [["float32", "float64", "float16"], ["float16"]],
  layerNorm: [["float32", "float64", "bfloat16"], ["float32"]],
  rmsNorm: [["float32", "float16"], ["bfloat16"]],
};
const isTested = (name: string, on: typeof device, dtype: Floats) =>
  TYPES[name]![devices.indexOf(on)]!.includes(dtype);

Deno.test("softmax() and logSoftmax() match the reference for every length of rows", async () => {
  for (const on of devices) {
    const checks = CASES.map(([dtype, count, columns]) => {
      const rows = generate(count, columns);
      using x = tensor(rows, { dtype, device: on });
      const what = `${dtype} [${count}, ${columns}]`;
      return [
        isTested("softmax", on, dtype) &&
        assertClose(softmax(x), rows.flatMap(reference.softmax), 16, `softmax ${what}`, 1e-5),
        isTested("logSoftmax", on, dtype) &&
        assertClose(logSoftmax(x), rows.flatMap(reference.logSoftmax), 8, `logSoftmax ${what}`),
      ];
    });
    await Promise.all(checks.flat());
  }
});

Deno.test("softmax() works along every axis and on views", async () => {
  for (const on of devices) {
    for (const [outer, inner] of [[5, 40], [7, 3]] as const) {
      const rows = generate(outer, inner);
      const columns = rows[0]!.map((_, c) => rows.map((row) => row[c]!));
      const expected = columns.map(reference.softmax);
      const flat = rows.flatMap((row, r) => row.map((_, c) => expected[c]![r]!));
      using x = tensor(rows, { device: on });
      const y = softmax(x, { axis: 0 });
      assertEquals(y.shape, [outer, inner]);
      await assertClose(y, flat, 16, `axis 0 of [${outer}, ${inner}]`, 1e-5);
      using flipped = x.transpose().flip(1);
      await assertClose(
        softmax(flipped),
        columns.flatMap((column) => reference.softmax(column.toReversed())),
        16,
        "a view",
        1e-5,
      );
    }
    using empty = tensor([[], []], { device: on });
    assertEquals(softmax(empty).shape, [2, 0]);
  }
});

Deno.test("softmax() treats infinities and huge elements as PyTorch does", async () => {
  for (const on of devices) {
    const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
    using x = tensor([[-inf, -inf], [3e38, -3e38], [inf, 0], [nan, 0], [-inf, 5], [0, nan]], {
      device: on,
    });
    const expected = [nan, nan, 1, 0, nan, nan, nan, nan, 0, 1, nan, nan];
    assertEquals(await numbers(softmax(x)), expected);
    assertEquals(await numbers(logSoftmax(x).slice([{ start: 1, stop: 2 }])), [0, -inf]);
  }
});

Deno.test("rows of 2^20 elements are divided among blocks with the same result", async () => {
  const elements = Float32Array.from({ length: 2 ** 20 }, (_, i) => (i * 7919 % 1009) / 100);
  const row = [...elements];
  for (const on of devices) {
    using x = fromTypedArray(elements, [1, elements.length], { device: on });
    await assertClose(softmax(x), reference.softmax(row), 64, "softmax", 0);
    if (on !== device) continue; // the parts are merged alike
    await assertClose(layerNorm(x), reference.norm(row, true), 64, "layerNorm");
    const { y, scale } = rmsNorm(x, { quantize: "int8" });
    const unit = reference.norm(row, false);
    const factor = await scale.item();
    const quantised = await numbers(y);
    assert(unit.every((it, i) => Math.abs(it - quantised[i]! * factor) < 0.5001 * factor));
  }
});

const REDUCTIONS = ["none", "sum", "mean"] as const;

Deno.test("crossEntropy() matches the reference and reports labels out of range", async () => {
  for (const on of devices) {
    for (const [dtype, type] of [["float32", "int32"], ["bfloat16", "int64"]] as const) {
      if (on !== device && dtype === "bfloat16") continue;
      const rows = generate(6, 37);
      const classes = [0, 36, 5, 5, 17, 1];
      using x = tensor(rows, { dtype, device: on }).reshape([2, 3, 37]);
      using labels = tensor(classes, { dtype: type, device: on }).reshape([2, 3]);
      const losses = rows.map((row, r) => -reference.logSoftmax(row)[classes[r]!]!);
      const expected = { none: losses, sum: [sumOf(losses)], mean: [meanOf(losses)] };
      await Promise.all(REDUCTIONS.map((reduction) => {
        const loss = crossEntropy(x, labels, { reduction });
        assertEquals(loss.shape, reduction === "none" ? [2, 3] : []);
        return assertClose(loss, expected[reduction], 8, `${dtype} ${reduction}`);
      }));
    }
    using x = tensor([[1, 2], [3, 4]], { device: on });
    for (const label of [2, -1]) {
      using labels = tensor([0, label], { dtype: "int32", device: on });
      const text = `labels must be class numbers in 0..1: one is ${label}`;
      await assertRejects(() => crossEntropy(x, labels).item(), RangeError, text);
      await assertRejects(() => crossEntropyBackward(1, x, labels).toArray(), RangeError, text);
    }
  }
});

/** The derivatives of a function by central differences. */
function differences(f: (rows: Rows) => number, rows: Rows): number[] {
  const step = 1e-5;
  return rows.flatMap((row, r) =>
    row.map((_, c) => {
      const at = (x: number) => f(rows.with(r, row.with(c, row[c]! + x)));
      return (at(step) - at(-step)) / (2 * step);
    })
  );
}

const dot = (a: Rows, b: Rows) => sumOf(a.flatMap((row, r) => row.map((x, c) => x * b[r]![c]!)));
const ROUGH = 1e-7 / EPSILON.float64;

Deno.test("softmaxBackward(), logSoftmaxBackward() and crossEntropyBackward() are derivatives", async () => {
  const [rows, outer] = [generate(4, 6), generate(4, 6, 9)];
  const classes = [0, 5, 3, 3];
  for (const on of devices) {
    const place = { dtype: "float64", device: on } as const;
    using x = tensor(rows, place);
    using dy = tensor(outer, place);
    using labels = tensor(classes, { dtype: "int32", device: on });
    if (on === device) {
      const soft = differences((it) => dot(it.map(reference.softmax), outer), rows);
      const log = differences((it) => dot(it.map(reference.logSoftmax), outer), rows);
      await Promise.all([
        assertClose(softmaxBackward(dy, softmax(x)), soft, ROUGH, "softmax"),
        assertClose(logSoftmaxBackward(dy, logSoftmax(x)), log, ROUGH, "logSoftmax"),
      ]);
    }
    for (const reduction of on === device ? REDUCTIONS : REDUCTIONS.slice(0, 1)) {
      const scales = reduction === "none" ? [0.5, -2, 3, 1] : classes.map(() => 1.5);
      const loss = (it: Rows) => {
        const losses = it.map((row, r) => -reference.logSoftmax(row)[classes[r]!]! * scales[r]!);
        return reduction === "mean" ? meanOf(losses) : sumOf(losses);
      };
      const options: CrossEntropyOptions = { reduction };
      using scale = reduction === "none" ? tensor(scales, place) : tensor(1.5, place);
      const expected = differences(loss, rows);
      const dx = crossEntropyBackward(scale, x, labels, options);
      await assertClose(dx, expected, ROUGH, reduction);
      if (reduction === "none") continue;
      await assertClose(crossEntropyBackward(1.5, x, labels, options), expected, ROUGH, reduction);
    }
  }
});

Deno.test("layerNorm() and rmsNorm() match the reference with weight, bias and residual", async () => {
  for (const on of devices) {
    const checks = CASES.map(([dtype, count, columns]) => {
      const rows = generate(count, columns, 1);
      const others = generate(count, columns, 2);
      const sums = rows.map((row, r) => row.map((x, c) => x + others[r]![c]!));
      const [weight] = generate(1, columns, 3);
      const [bias] = generate(1, columns, 4);
      const place = { dtype: dtype as "float32", device: on };
      using x = tensor(rows, place);
      using residual = tensor(others, place);
      using w = tensor(weight!, place);
      using b = tensor(bias!, { device: on });
      const centred = sums.flatMap((row) => reference.norm(row, true, weight, bias));
      const plain = rows.flatMap((row) => reference.norm(row, false));
      const norm = isTested("rmsNorm", on, dtype) &&
        assertClose(rmsNorm(x), plain, 8, `rmsNorm ${dtype} ${columns}`);
      if (!isTested("layerNorm", on, dtype)) return [norm];
      const fused = layerNorm(x, { weight: w, bias: b, residual });
      // A sum of two elements is rounded to the type before it is normalised.
      const isExact = dtype !== "bfloat16" && dtype !== "float16";
      return [
        assertClose(fused.y, centred, isExact ? 32 : 12, `layerNorm ${dtype} ${columns}`),
        assertClose(fused.sum, sums.flat(), 1, `the sum ${dtype} ${columns}`),
        norm,
      ];
    });
    await Promise.all(checks.flat());
  }
});

Deno.test("layerNormBackward() and rmsNormBackward() are derivatives", async () => {
  const [rows, outer] = [generate(5, 9), generate(5, 9, 9)];
  const [weight] = generate(1, 9, 3);
  for (const on of devices) {
    const place = { dtype: "float64", device: on } as const;
    using x = tensor(rows, place);
    using dy = tensor(outer, place);
    using w = tensor(weight!, place);
    for (const isCentred of on === device ? [true, false] : [true]) {
      const loss = (it: Rows, own = weight, bias?: number[]) =>
        dot(it.map((row) => reference.norm(row, isCentred, own, bias)), outer);
      const result = isCentred
        ? layerNormBackward(dy, x, { weight: w })
        : rmsNormBackward(dy, x, { weight: w });
      const { dx, dWeight } = result;
      await assertClose(dx, differences((it) => loss(it), rows), ROUGH, "dx");
      const byWeight = differences(([own]) => loss(rows, own), [weight!]);
      await assertClose(dWeight, byWeight, ROUGH, "dWeight");
      if (!("dBias" in result)) continue;
      const byBias = differences(([own]) => loss(rows, weight, own), [weight!]);
      await assertClose((result as { dBias: Tensor }).dBias, byBias, ROUGH, "dBias");
    }
  }
});

Deno.test("layerNorm() and rmsNorm() quantise each row by its largest magnitude", async () => {
  const rows = [...generate(3, 100), new Array(100).fill(0)];
  for (const on of devices) {
    using x = tensor(rows, { device: on });
    for (const [dtype, limit] of [["int8", 127], ["float8_e4m3", 448]] as const) {
      if (on !== device && dtype !== "int8") continue;
      for (const isCentred of [dtype === "int8"]) {
        const { y, scale } = (isCentred ? layerNorm : rmsNorm)(x, { quantize: dtype });
        assertEquals([y.dtype, scale.dtype, scale.shape], [dtype as DType, "float32", [4]]);
        const scales = await numbers(scale);
        const elements = await numbers(y);
        rows.forEach((row, r) => {
          const exact = reference.norm(row, isCentred);
          const largest = Math.max(...exact.map(Math.abs));
          const own = elements.slice(100 * r, 100 * r + 100);
          assertEquals(Math.max(...own.map(Math.abs)), largest === 0 ? 0 : limit);
          assert(Math.abs(scales[r]! - (largest === 0 ? 1 : largest / limit)) < 1e-5);
          own.forEach((q, c) => {
            const half = dtype === "int8" ? 0.501 : Math.max(2 ** -10, Math.abs(q) * 2 ** -3.99);
            assert(Math.abs(exact[c]! / scales[r]! - q) <= half, `${dtype} ${r} ${c}: ${q}`);
          });
        });
      }
    }
  }
});

Deno.test("row operations refuse operands that do not fit, and say what fits", async () => {
  const x = tensor([[1, 2, 3]], { device });
  const integers = tensor([1], { dtype: "int32", device });
  const wide = await x.astype("float64").ready();
  const cases: readonly (readonly [() => unknown, typeof TypeError, string])[] = [
    [() => softmax(integers), TypeError, "x must be float16 or bfloat16 or float32 or float64"],
    [() => softmax(x, { axis: 2 }), RangeError, "axis must be in -2..1"],
    [() => softmaxBackward(x, x.transpose()), RangeError, "dy must have the shape (3, 1)"],
    [() => crossEntropy(x, x as never), TypeError, "labels must be int32 or int64"],
    [() => crossEntropy(x, integers.at(0) as never), RangeError, "labels must have the shape (1,)"],
    [
      () => crossEntropy(x, integers, { reduction: "max" as never }),
      TypeError,
      "options.reduction must be mean, sum, none",
    ],
    [() => layerNorm(x, { weight: x }), RangeError, "options.weight must have the shape (3,)"],
    [() => layerNorm(x, { epsilon: -1 }), RangeError, "options.epsilon must be a finite number"],
    [() => rmsNorm(x, { quantize: "int4" as never }), TypeError, "options.quantize must be int8"],
    [
      () => rmsNorm(x, { residual: wide as never }),
      TypeError,
      "options.residual must be float32",
    ],
    [() => layerNorm(tensor(1, { device })), RangeError, "x must have at least 1 dimension"],
    [
      () => layerNorm(tensor([[], []], { device }), { quantize: "int8" }),
      RangeError,
      "rows must have elements",
    ],
  ];
  for (const [call, kind, text] of cases) assertThrows(call, kind, text);
});
