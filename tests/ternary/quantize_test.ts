// Quantisation and packed weights against published vectors and JavaScript, in both forms.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { fromTypedArray, full, tensor } from "../../src/device/tensor.ts";
import {
  encode,
  quantizeActivations,
  quantizeWeights,
  ternaryMatmul,
  TernaryWeights,
} from "../../src/device/ternary.ts";
import { device } from "../support/device.ts";
import { shifted } from "../support/shifted_array.ts";
import { forms, Grid } from "../support/tensor_forms.ts";

for (const [form, on] of forms) {
  Deno.test(`quantizeWeights() rounds halves to even and has a scale per segment (${form})`, async () => {
    const w = tensor([
      [0.5, -0.5, 1.5, -1.5, 1, -1, 2, 0],
      [0.7, -0.1, 0.02, -0.9, 0.33, -0.35, 0.34, 0],
      [0, 0, 0, 0, 0, 0, 0, 0],
    ], { device: on });
    const { codes, scale } = quantizeWeights(w, { segments: [1, 1, 1] });
    const first = quantizeWeights(w.slice([{ stop: 1 }]));
    const scales = await scale.toArray();
    assertEquals([...scales], [1, 0.3425, 1e-5].map(Math.fround));
    assertEquals(await codes.toNested(), [
      [0, 0, 1, -1, 1, -1, 1, 0],
      [1, 0, 0, -1, 1, -1, 1, 0],
      [0, 0, 0, 0, 0, 0, 0, 0],
    ]);
    assertEquals([first.scale.shape, await first.scale.item()], [[], 1]);
  });

  Deno.test(`quantizeActivations() rounds halves to even by a scale per row (${form})`, async () => {
    const rows = [
      [127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, -126.5],
      [0.1, -0.25, 0.5, -1, 0.75, 0, 0.333, -0.666],
      [3.2, -1.1, 0.4, 0.05, 0, 0, 0, 0],
      [0, 0, 0, 0, 0, 0, 0, 0],
    ];
    const { values, scale } = quantizeActivations(tensor([rows], { device: on }));
    assertEquals(await values.toNested(), [[
      [127, 0, 2, 2, 0, -2, -2, -126],
      [13, -32, 64, -127, 95, 0, 42, -85],
      [127, -44, 16, 2, 0, 0, 0, 0],
      [0, 0, 0, 0, 0, 0, 0, 0],
    ]]);
    const largest = [127, 1, 3.2, 1e-5].map(Math.fround);
    assertEquals(await scale.toNested(), [largest.map((it) => Math.fround(it / 127))]);
  });

  Deno.test(`TernaryWeights packs weights of every width and gives them back (${form})`, async () => {
    for (const [rows, columns] of [[3, 1], [2, 0], [2, 63], [2, 64], [5, 131]] as const) {
      const codes = Grid.mixed([rows, columns], 3).map((it) => it - 1);
      const scales = Float32Array.from({ length: rows }, (_, row) => 0.5 + row);
      using weights = TernaryWeights.from({
        codes: codes.tensor("int8", on),
        scale: fromTypedArray(scales, [rows], { device: on }),
      });
      using floats = weights.dequantize({ dtype: "bfloat16" });
      using back = weights.dequantize({ dtype: "int8" });
      const values = Float32Array.from(codes.values);
      const bytes = encode(values, [rows, columns], "gridstride", { scale: 1 });
      assertEquals(weights.shape, [rows, columns]);
      assertEquals(await weights.codes.flatten().toArray(), bytes);
      assertEquals([...await back.toArray()], codes.values);
      assertEquals(
        [await floats.toNested()].flat(Infinity as 1),
        codes.values.map((t, at) => t * scales[Math.floor(at / columns)]!),
      );
    }
  });
}

Deno.test("TernaryWeights.from() takes floats in segments, and bytes of formats", async () => {
  const w = Grid.mixed([16, 256], 9).map((it) => it / 4 - 1);
  using source = w.tensor("float32", device);
  const options = { segments: [10, 6] };
  using weights = TernaryWeights.from(source, options);
  const { codes, scale } = quantizeWeights(source, options);
  const factors = [...await scale.toArray()];
  assert(factors[0] !== factors[1]);
  assertEquals(
    [...await weights.scale.toArray()],
    Array.from({ length: 16 }, (_, row) => factors[row < 10 ? 0 : 1]),
  );
  using back = weights.dequantize({ dtype: "int8" });
  assertEquals(await back.toArray(), await codes.toArray());
  const ternary = Float32Array.from(await codes.toArray(), (t) => t / 2);
  for (const format of ["tq1_0", "i2_s", "ms-w2a8"] as const) {
    const bytes = shifted(encode(shifted(ternary), [16, 256], format));
    const shape = [16, 256];
    const scaling = format === "ms-w2a8" ? { scale: 0.5 } : {};
    using packed = TernaryWeights.from(bytes, { format, shape, device, ...scaling });
    using values = packed.dequantize();
    assertEquals([...await values.toArray()], [...ternary], format);
    assertEquals(packed.scale.shape, [1]);
  }
});

Deno.test("TernaryWeights.from() and ternaryMatmul() report scales of tensors that are not positive", async () => {
  using codes = tensor([[1, 0], [-1, 1]], { dtype: "int8", device });
  const text = "scales must be positive and finite: scale 1 is not";
  for (const wrong of [0, -1, NaN, Infinity]) {
    using scale = tensor([2, wrong], { device });
    await assertRejects(
      () => TernaryWeights.from({ codes, scale }).dequantize().toArray(),
      RangeError,
      text,
    );
    using one = tensor([1], { device });
    using weights = TernaryWeights.from({ codes, scale: one });
    await assertRejects(
      () => ternaryMatmul(codes, weights, { scale }).toArray(),
      RangeError,
      text,
    );
  }
});

Deno.test("TernaryWeights.from() refuses sources, options and scales that do not fit", () => {
  using codes = tensor([[1, 0], [-1, 1]], { dtype: "int8", device });
  using scale = tensor([1, 2, 3], { device });
  using w = tensor([[1, 2], [3, 4]], { device });
  const blocks = encode(
    Float32Array.from({ length: 512 }, (_, at) => at < 256 ? 1 : 2),
    [512],
    "tq2_0",
  );
  const refused: readonly (readonly [() => unknown, string])[] = [
    [() => TernaryWeights.from({ codes, scale }), "1 scale or 2: its shape is (3,)"],
    [() => TernaryWeights.from(w, { segments: [1, 2] }), "add up to 2: it is [1,2]"],
    [() => TernaryWeights.from(w, { scale: 1 }), 'there is "scale"'],
    [() => TernaryWeights.from(codes as never), "w must be float16"],
    [
      () => TernaryWeights.from(blocks, { format: "tq2_0", shape: [1, 512], device }),
      "scales of a row must be equal: those of row 0 are not",
    ],
    [() => quantizeWeights(scale), "w must be a matrix with elements"],
    [() => quantizeWeights(w, { segment: [1, 1] } as object), 'there is "segment"'],
    [() => quantizeActivations(w, { axis: 0 } as object), 'there is "axis"'],
    [() => quantizeActivations(codes as never), "x must be float16"],
    [() => Reflect.construct(TernaryWeights, []), "call TernaryWeights.from()"],
  ];
  for (const [call, text] of refused) assertThrows(call, Error, text);
  using packed = TernaryWeights.from(w);
  assertThrows(() => packed.dequantize({ dtype: "int32" as "int8" }), TypeError, "options.dtype");
  packed.dispose();
  assertThrows(() => packed.dequantize(), TypeError, "must not be disposed");
});

Deno.test("TernaryWeights.concat() joins rows with their scales", async () => {
  // 70 columns are padded; the second part has a scale for each row.
  const parts = [
    TernaryWeights.from(full([3, 70], 0.5, { device })),
    TernaryWeights.from(tensor([[-2], [0.25]], { device }).broadcastTo([2, 70]), {
      segments: [1, 1],
    }),
  ];
  using joined = TernaryWeights.concat(parts);
  assertEquals(joined.shape, [5, 70]);
  for (const part of parts) part.dispose();
  using values = joined.dequantize();
  const rows = [0.5, 0.5, 0.5, -2, 0.25];
  assertEquals(await values.toNested(), rows.map((value) => new Array(70).fill(value)));
  using x = full([1, 70], 127, { device });
  using y = ternaryMatmul(x, joined);
  assertEquals(await y.toNested(), [rows.map((value) => 70 * 127 * value)]);
  assertThrows(() => TernaryWeights.concat([]), RangeError, "matrices of equally many columns");
  using narrow = TernaryWeights.from(full([1, 64], 1, { device }));
  assertThrows(
    () => TernaryWeights.concat([joined, narrow]),
    RangeError,
    "the shapes are (5, 70), (1, 64)",
  );
  // Its kernels may still be compiling.
  using ones = narrow.dequantize();
  await ones.toArray();
  joined.dispose();
  assertThrows(() => TernaryWeights.concat([joined]), TypeError, "disposed");
});
