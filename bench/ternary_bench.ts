/**
 * Products with ternary weights: of one row, which reads the weights once, and of many. The bytes are
 * those of the packed weights.
 */

import { type Tensor, tensor, zeros } from "../src/device/tensor.ts";
import { ternaryMatmul, TernaryWeights } from "../src/device/ternary.ts";
import { device } from "./support/bench_device.ts";
import { measure, scaled } from "./support/measure.ts";

const { stream } = device;
const WIDE = scaled(8192, 64);
const NARROW = scaled(2560, 64);

/** Rows of activations, rows and columns of weights. */
const SHAPES = [
  [1, 2 * WIDE, WIDE],
  [16, NARROW, NARROW],
  [512, NARROW, NARROW],
] as const;

for (const [m, n, k] of SHAPES) {
  const codes = zeros([n, k], { device, dtype: "int8" }).add(1) as Tensor as Tensor<"int8">;
  const scale = tensor(1, { device }) as Tensor as Tensor<"float32">;
  const weights = TernaryWeights.from({ codes, scale });
  const q = zeros([m, k], { device, dtype: "int8" }).add(3) as Tensor as Tensor<"int8">;
  await ternaryMatmul(q, weights).ready();
  const calls = scaled(4, 1);
  const group = `ternary ${m} × ${n} × ${k}`;
  measure("ternaryMatmul", { group, baseline: true, calls, bytes: n * k / 4 }, () => {
    for (let i = 0; i < calls; i++) ternaryMatmul(q, weights).dispose();
    stream.doneSync();
  });
}
