// Products with ternary weights against integers in JavaScript, in both forms.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { fromTypedArray, full, type Tensor, tensor, zeros } from "../../src/device/tensor.ts";
import {
  explainTernaryMatmul,
  quantizeActivations,
  ternaryMatmul,
  TernaryWeights,
} from "../../src/device/ternary.ts";
import { DeviceWork } from "../../src/tensor/kit/device_work.ts";
import {
  multiplyTernary,
  planDp4a,
  planMma,
  type ProductOperands,
} from "../../src/ternary/product_kernels.ts";
import { ternaryVariants } from "../../src/ternary/ternary_matmul.ts";
import { device } from "../support/device.ts";
import { recordKernels } from "../support/recorded_kernels.ts";
import { forms, Grid } from "../support/tensor_forms.ts";

/** Rows of activations, rows and columns of weights: on both sides of the limits of kernels. */
const SHAPES = [
  [1, 1, 1],
  [1, 5, 63],
  [1, 37, 2560],
  [1, 3, 16448],
  [2, 7, 128],
  [3, 4, 64],
  [4, 9, 65],
  [4, 5, 2560],
  [5, 11, 2560],
  [7, 13, 200],
  [8, 5, 64],
  [9, 6, 8321],
  [15, 7, 64],
  [16, 131, 128],
  [16, 2, 16448],
  [17, 7, 2560],
  [63, 5, 128],
  [64, 3, 64],
  [65, 11, 130],
  [66, 130, 200],
  [3, 5, 33091],
  [95, 250, 320],
  [512, 3, 64],
] as const;

/** Rows of activations over the whole range, rows of weights. */
function operands(m: number, n: number, k: number) {
  const q = Grid.mixed([m, k], 256).map((it) => it - 128);
  const w = Grid.mixed([n, k], 3).map((it) => it - 1);
  const dots = Grid.of([m, n], ([row, column]) => {
    let sum = 0;
    for (let i = 0; i < k; i++) sum += q.values[row! * k + i]! * w.values[column! * k + i]!;
    return sum;
  });
  return { q, w, dots };
}

for (const [form, on] of forms) {
  Deno.test(`ternaryMatmul() of integers is exact at every size by every variant (${form})`, async () => {
    const variants = ternaryVariants(DeviceWork.of(on.context));
    const results = SHAPES.flatMap(([m, n, k]) => {
      const { q, w, dots } = operands(m, n, k);
      const weights = TernaryWeights.from({
        codes: w.tensor("int8", on),
        scale: fromTypedArray(Float32Array.of(1), [1], { device: on }),
      });
      return variants.map((variant) => {
        const y = ternaryMatmul(q.tensor("int8", on), weights, { dtype: "int32", variant });
        return [y, dots, `${m} x ${n} x ${k} by ${variant}`] as const;
      });
    });
    for (const [y, dots, what] of results) {
      assertEquals(y.shape, dots.shape);
      assertEquals([...await y.toArray()], [...dots.values], what);
    }
  });

  Deno.test(`ternaryMatmul() scales by rows and segments, and adds the bias (${form})`, async () => {
    const { q, w, dots } = operands(5, 6, 70);
    const scales = Float32Array.of(0.5, 0.5, 2, 2, 2, 3);
    const place = { device: on };
    const weights = TernaryWeights.from({
      codes: w.tensor("int8", on),
      scale: fromTypedArray(scales, [6], place),
    });
    const bias = fromTypedArray(Float32Array.of(1, 2, 3, 4, 5, 6), [6], place);
    const x = q.map((it) => it / 128).tensor("float32", on);
    const { values, scale } = quantizeActivations(x);
    const whole = await values.toArray();
    const rows = await scale.toArray();
    const exact = Grid.of([5, 6], ([m, n]) => {
      let sum = 0;
      for (let i = 0; i < 70; i++) sum += whole[m! * 70 + i]! * w.values[n! * 70 + i]!;
      return sum * rows[m!]! * scales[n!]! + n! + 1;
    });
    const y = await ternaryMatmul(x, weights, { bias }).toArray();
    y.forEach((it, at) => assert(Math.abs(it - exact.values[at]!) < 1e-5 * (1 + Math.abs(it))));
    const factors = fromTypedArray(Float32Array.of(1, 2, 3, 4, 5), [5], place);
    const own = q.tensor("int8", on);
    const scaled = await ternaryMatmul(own, weights, { scale: factors }).toArray();
    const single = await ternaryMatmul(own.at(1), weights).toArray();
    for (let n = 0; n < 6; n++) {
      assertEquals(scaled[6 + n], 2 * dots.values[6 + n]! * scales[n]!);
      assertEquals(single[n], dots.values[6 + n]! * scales[n]!);
    }
  });
}

Deno.test("ternaryMatmul() is exact if rows do not fit in shared memory", async () => {
  const on = forms.get("threads")!;
  const { context } = on;
  // Room for one chunk of 256 columns of 16 rows, and two blocks, which take several rows of weights.
  const sharedMemoryPerMultiprocessor = 2 * (16 * 256 + 1024);
  const info = { ...context.info, multiprocessorCount: 1, sharedMemoryPerMultiprocessor };
  const [n, k] = [67, 2 ** 14 + 64];
  for (const [m, plan] of [[1, planDp4a], [4, planDp4a], [16, planMma]] as const) {
    if (plan === planMma && !ternaryVariants(DeviceWork.of(context)).includes("mma")) continue;
    const { q, w, dots } = operands(m, n, k);
    const weights = TernaryWeights.from({
      codes: w.tensor("int8", on),
      scale: fromTypedArray(Float32Array.of(1), [1], { device: on }),
    });
    const out = zeros([m, n], { dtype: "int32", device: on }) as Tensor;
    const shape = { context, m, n, depth: k };
    const own = plan({ ...shape, context: Object.create(context, { info: { value: info } }) });
    assert(Object.values(own.numbers).includes(m === 4 ? 16 : m === 1 ? 64 : 256));
    const operand = {
      q: q.tensor("int8", on) as Tensor,
      codes: weights.codes as Tensor,
      out,
    } as ProductOperands;
    multiplyTernary(operand, shape, own, on.stream);
    assertEquals([...await out.toArray()], [...dots.values], `${m} rows`);
  }
});

Deno.test("planMma() takes the tiles that were the fastest on an H200", () => {
  const info = {
    ...device.info,
    multiprocessorCount: 132,
    sharedMemoryPerBlock: 48 * 1024,
    sharedMemoryPerBlockOptIn: 227 * 1024,
    sharedMemoryPerMultiprocessor: 228 * 1024,
  };
  const context = Object.create(device.context, { info: { value: info } });
  // Rows of activations, rows and columns of weights; high, wide, down, warps that share the depth.
  const measured = [
    [64, 2560, 2560, "4, 1, 1, 2"],
    [128, 2560, 2560, "4, 2, 1, 2"],
    [256, 2560, 2560, "2, 5, 1, 2"],
    [512, 2560, 2560, "4, 5, 1, 2"],
    [1024, 2560, 2560, "4, 5, 2, 1"],
    [4096, 2560, 2560, "4, 5, 2, 1"],
    [512, 6912, 2560, "4, 8, 2, 1"],
    [512, 2560, 6912, "4, 5, 1, 2"],
    [2048, 8192, 8192, "4, 8, 2, 1"],
  ] as const;
  for (const [m, n, depth, tile] of measured) {
    const { call } = planMma({ context, m, n, depth });
    assert(call.includes(`<Multiply, ${tile}, `), `${m} × ${n} × ${depth}: ${call}`);
  }
  assertEquals(planMma({ context, m: 32, n: 2560, depth: 2560 }).call.slice(0, 12), "ternary_mma<");
});

Deno.test("ternaryMatmul() leaves rows whose sums on tensor cores may overflow to dp4a", async () => {
  const on = forms.get("threads")!;
  const hasMma = ternaryVariants(DeviceWork.of(on.context)).includes("mma");
  const k = 2 ** 18;
  const ones = { dtype: "int8", device: on } as const;
  const weights = TernaryWeights.from({
    codes: full([1, k], -1, ones) as Tensor as Tensor<"int8">,
    scale: fromTypedArray(Float32Array.of(1), [1], { device: on }),
  });
  const x = full([6, k], -128, ones);
  assertEquals(explainTernaryMatmul(x, weights).variant, "dp4a");
  assertEquals((await ternaryMatmul(x, weights, { dtype: "int32" }).toArray())[5], 128 * k);
  if (!hasMma) return;
  const mma = { dtype: "int32", variant: "mma" } as const;
  const text = "variant mma: 262144 columns must be fewer than 262144";
  assertThrows(() => ternaryMatmul(x, weights, mma), RangeError, text);
  const fewer = TernaryWeights.from({
    codes: full([1, k - 64], -1, ones) as Tensor as Tensor<"int8">,
    scale: fromTypedArray(Float32Array.of(1), [1], { device: on }),
  });
  const most = await ternaryMatmul(full([1, k - 64], -128, ones), fewer, mma).toArray();
  assertEquals([...most], [128 * (k - 64)]);
});

Deno.test("ternaryMatmul() reads rows from multiples of 16 bytes, wherever they lie", () => {
  for (const on of forms.values()) {
    for (let start = 0; start <= 33; start++) {
      const launches = recordKernels(on, () => {
        const weights = TernaryWeights.from({
          codes: zeros([4, 64], { dtype: "int8", device: on }),
          scale: tensor(1, { device: on }),
        });
        const bytes = zeros([200], { dtype: "int8", device: on });
        const rows = bytes.slice([{ start, stop: start + 128 }]).reshape([2, 64]);
        ternaryMatmul(rows, weights, { dtype: "int32" });
      });
      const { text, launchArguments } = launches.at(-1)!;
      const address = ["q", "q_offset"].map((name) => Number(launchArguments.get(name)))
        .reduce((sum, it) => sum + it);
      assertEquals([text.template.name, address % 16], ["ternaryMatmul", 0], `from ${start}`);
    }
  }
});

Deno.test("ternaryMatmul() has a short key, which needs no C++, for each kernel", () => {
  for (const on of forms.values()) {
    const launches = recordKernels(on, () => {
      const weights = TernaryWeights.from({
        codes: zeros([4, 64], { dtype: "int8", device: on }),
        scale: tensor(1, { device: on }),
      });
      ternaryMatmul(zeros([3, 64], { dtype: "int8", device: on }), weights);
    });
    const { key } = launches.at(-1)!;
    assert(key.startsWith("ternaryMatmul ") && key.length < 160, key);
  }
});

Deno.test("ternaryMatmul() gives published products", async () => {
  // Absmax activations and ternary rows of bitnet.cpp's W2A8 linear layer.
  const x = tensor([0.1, -0.25, 0.5, -1, 0.75, 0, 0.333, -0.666], { device });
  const rows = [
    [1, 0, -1, 1, 0, 0, -1, 1],
    [-1, -1, 0, 1, 1, 0, 0, -1],
    [0, 1, 1, 1, -1, -1, -1, 0],
    [1, 1, 1, 1, 1, 1, 1, 1],
  ];
  const weights = TernaryWeights.from({
    codes: tensor(rows, { dtype: "int8", device }),
    scale: tensor(0.5, { device }),
  });
  const y = await ternaryMatmul(x, weights).toArray();
  const expected = [-1.2007874, 0.28346458, -0.9133858, -0.11811024];
  y.forEach((it, at) => assert(Math.abs(it - expected[at]!) < 1e-6, `${it}`));
  const { values } = quantizeActivations(x);
  const sums = await ternaryMatmul(values, weights, { dtype: "int32" }).toArray();
  assertEquals([...sums], [-305, 72, -232, -30]);
  assertEquals(ternaryMatmul(zeros([0, 8], { device }), weights).shape, [0, 4]);
  const none = TernaryWeights.from({
    codes: zeros([2, 0], { device, dtype: "int8" }) as Tensor as Tensor<"int8">,
    scale: tensor(1, { device }),
  });
  const bias = tensor([1, 2], { device });
  const empty = ternaryMatmul(zeros([2, 0], { device }), none, { bias });
  assertEquals([...await empty.toArray()], [1, 2, 1, 2]);
});

Deno.test("ternaryMatmul() names wrong operands and options", async () => {
  const weights = TernaryWeights.from(tensor([[1, -1], [0, 1]], { device }));
  const x = tensor([1, 2], { device });
  const cases: readonly (readonly [() => unknown, string])[] = [
    [() => ternaryMatmul(tensor([1], { device }), weights), "the last extent of x must be 2"],
    [
      () => ternaryMatmul(x, weights, { variant: "avx" as never }),
      "options.variant must be mma, ",
    ],
    [() => ternaryMatmul(x, x as never), "weights must be a TernaryWeights"],
    [() => ternaryMatmul(x, weights, { dtype: "int8" as never }), "options.dtype must be float32"],
    [() => ternaryMatmul(x, weights, { bias: tensor([1], { device }) }), "options.bias must have"],
    [() => ternaryMatmul(x, weights, { scale: x }), "options.scale must not be given with float32"],
    [() => ternaryMatmul(x, weights, { out: x } as never), 'there is "out"'],
    [() => ternaryMatmul(x.astype("int32") as never, weights), "x must be float16"],
  ];
  for (const [call, text] of cases) assertThrows(call, Error, text);
  const own = ternaryVariants(DeviceWork.of(device.context));
  const { variant, launch } = explainTernaryMatmul(x, weights);
  assert(launch.grid >= 1 && variant === own[0], variant);
  const narrow = explainTernaryMatmul(x, weights, { variant: own.at(-1)! });
  assertEquals([narrow.variant, narrow.reason], [own.at(-1)!, "as requested"]);
  for (const foreign of ["dp4a", "neon"] as const) {
    if (own.includes(foreign)) continue;
    const text = `with options.variant ${foreign}: ${device.label} runs ${own.join(", ")}`;
    assertThrows(() => ternaryMatmul(x, weights, { variant: foreign }), RangeError, text);
  }
  // Compilations that have begun end before the test does.
  await ternaryMatmul(x, weights).ready();
  weights.dispose();
  assertThrows(() => ternaryMatmul(x, weights), TypeError, "disposed");
});
