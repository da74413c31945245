/**
 * Products with ternary weights. The baseline of one row, whose bytes are those of the packed weights,
 * is a read of as many bytes; that of several rows are products of 8-bit integers in registers. PyTorch
 * multiplies without packing.
 */

import { type Tensor, tensor, zeros } from "../src/device/tensor.ts";
import { ternaryMatmul, TernaryWeights } from "../src/device/ternary.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { measure, scaled } from "./support/measure.ts";
import { startPeer } from "./support/peer_process.ts";
import { measureProducts, measureRead, peakOf } from "./support/processor_limits.ts";

const { stream } = device;
const WIDE = scaled(8192, 64);
const NARROW = scaled(2560, 64);
/** Few rows, as of a small batch, and those of prompts. */
const ROWS = ON_GPU ? [16, 64, 512] : [8, 64, 512];

/** Rows of activations, rows and columns of weights. */
const SHAPES = [
  // 64 MiB or more on a GPU, and beyond its cache.
  [1, 2 * WIDE, ON_GPU ? 2 * WIDE : WIDE],
  ...ROWS.map((m) => [m, NARROW, NARROW] as const),
] as const;

const DTYPE = ON_GPU ? "bfloat16" : "float32";
const runPyTorch = await startPeer(
  "matmul.py",
  SHAPES.map((shape) => [...shape, true, `torch.${DTYPE}`]),
);

for (const [index, [m, n, k]] of SHAPES.entries()) {
  const codes = zeros([n, k], { device, dtype: "int8" }).add(1) as Tensor as Tensor<"int8">;
  const scale = tensor(1, { device }) as Tensor as Tensor<"float32">;
  const weights = TernaryWeights.from({ codes, scale });
  const q = zeros([m, k], { device, dtype: "int8" }).add(3) as Tensor as Tensor<"int8">;
  await ternaryMatmul(q, weights).ready();
  const calls = scaled(4, 1);
  const group = `ternary ${m} × ${n} × ${k}`;
  const bytes = n * k / 4;
  if (m === 1) measureRead(group, bytes);
  const baseline = m > 1 && !measureProducts(group, "int8");
  const operations = 2 * m * n * k;
  measure("ternaryMatmul", { group, baseline, calls, bytes, operations, ...peakOf("int8") }, () => {
    for (let i = 0; i < calls; i++) ternaryMatmul(q, weights).dispose();
    stream.doneSync();
  });
  if (runPyTorch === undefined) continue;
  measure(`PyTorch ${DTYPE}`, { group, calls, operations, ...peakOf(DTYPE) }, async () => {
    await runPyTorch(index, calls);
  });
}
