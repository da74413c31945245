/**
 * Products with ternary weights. The baseline of one row, whose bytes are those of the packed weights,
 * is a read of as many bytes; that of several rows are products of 8-bit integers in registers. PyTorch
 * multiplies by the same number of weights without packing.
 */

import type { Tensor } from "../src/device/tensor.ts";
import { ternaryMatmul, TernaryWeights } from "../src/device/ternary.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { measureOnDevice, QUICK, scaled } from "./support/measure.ts";
import { measureProducts, measureRead } from "./support/processor_limits.ts";
import { randomOperand } from "./support/random_values.ts";

const WIDE = scaled(8192, 64);
const NARROW = scaled(2560, 64);
/** Few rows, as of a small batch, and those of prompts. */
const ROWS = ON_GPU ? [4, 16, 64, 512] : [8, 64, 512];

/** Rows of activations, rows and columns of weights. */
const SHAPES = [
  // 64 MiB or more on a GPU.
  [1, 2 * WIDE, ON_GPU ? 2 * WIDE : WIDE],
  ...ROWS.map((m) => [m, NARROW, NARROW] as const),
] as const;

const DTYPE = ON_GPU ? "bfloat16" : "float32";

/** Copies of the weights for one row, used in turn: one of them would partly stay in a GPU's cache. */
const COPIES = 3;

/** Weights of random digits. */
function randomWeights(n: number, k: number, index: number): TernaryWeights {
  using floats = randomOperand(device, [n, k], index, "float32", QUICK);
  return TernaryWeights.from(floats);
}

for (const [m, n, k] of SHAPES) {
  const copies = m === 1 ? COPIES : 1;
  const weights = Array.from({ length: copies }, (_, index) => randomWeights(n, k, 1 + index));
  const q = randomOperand(device, [m, k], 0, "int8", QUICK);
  const group = `ternary ${m} × ${n} × ${k}`;
  const bytes = n * k / 4;
  if (m === 1) measureRead(group, bytes, copies);
  const baseline = m > 1 && !measureProducts(group, "int8");
  const operations = 2 * m * n * k;
  const footprint = copies * bytes;
  const work = { group, bytes, footprint, operations, arithmetic: "int8" } as const;
  const dense = n * k * (ON_GPU ? 2 : 4);
  const different = { arithmetic: DTYPE, bytes: dense, footprint: copies * dense } as const;
  const peer = { kind: "product", m, n, k, transposed: true, dtype: DTYPE, copies, different };
  measureOnDevice("ternaryMatmul", { ...work, baseline, peer }, (call) => {
    ternaryMatmul(q, weights[call % copies]!).dispose();
  });
  const activations = q.astype(ON_GPU ? "float16" : "float32") as Tensor as Tensor<"float16">;
  measureOnDevice(`ternaryMatmul of ${activations.dtype}`, work, (call) => {
    ternaryMatmul(activations, weights[call % copies]!).dispose();
  });
}
