/**
 * Attention of prompts and of single queries, beside PyTorch with two threads in the same run, where
 * Python has it. The limit of prompts is products of floats in registers, into which 16-bit elements
 * are widened, but for bfloat16 on processors with AMX; that of single queries is a read of all keys
 * and values.
 */

import { attention, type AttentionDType, tensor, uniform } from "../src/device/tensor.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { measure, scaled } from "./support/measure.ts";
import { startPeer } from "./support/peer_process.ts";
import { measureProducts, measureRead, peakOf } from "./support/processor_limits.ts";

const { stream } = device;
const LENGTH = scaled(ON_GPU ? 8192 : 1024, 64);
const KEYS = scaled(ON_GPU ? 65_536 : 4096, 64);
const BLOCK = 64;
/** One of so many blocks is visible, as many for each query. */
const SPARSITY = 4;
const indices = Array.from({ length: LENGTH / BLOCK }, (_, i) => i);
const mask = tensor(indices.map((i) => indices.map((j) => (i + j) % SPARSITY === 0)), { device });

/** Batch, heads, heads of keys, queries, keys, size of heads, whether causal, element type. */
type Shape = readonly [number, number, number, number, number, number, boolean, AttentionDType];

const SHAPES: readonly Shape[] = [
  ...(["float32", "float16", "bfloat16"] as const).flatMap((dtype): Shape[] => [
    [1, 8, 8, LENGTH, LENGTH, 64, false, dtype],
    [1, 8, 8, LENGTH, LENGTH, 128, false, dtype],
    [1, 8, 8, LENGTH, LENGTH, 128, true, dtype],
    [1, 32, 8, 1, KEYS, 128, false, dtype],
  ]),
];

const runPyTorch = await startPeer("attention.py", SHAPES);

for (const [index, shape] of SHAPES.entries()) {
  const [batch, heads, keyHeads, queries, keys, size, causal, dtype] = shape;
  const options = { device, dtype, low: -1, high: 1 };
  const q = uniform([batch, heads, queries, size], options);
  const [k, v] = [1, 2].map(() => uniform([batch, keyHeads, keys, size], options));
  using warm = attention(q, k!, v!, { causal });
  await warm.ready();
  const what = queries === 1 ? `of a query and ${keys} keys` : `of ${queries} queries`;
  const group = `attention ${what}, heads of ${size}, ${causal ? "causal, " : ""}${dtype}`;
  const calls = queries === 1 ? scaled(10, 1) : 1;
  const isPrompt = queries > 1;
  const operations = 4 * batch * heads * queries * keys * size / (causal ? 2 : 1);
  const bytes = 2 * batch * keyHeads * keys * size * (dtype === "float32" ? 4 : 2);
  const work = isPrompt ? { operations, ...peakOf(dtype) } : { bytes };
  if (!isPrompt) measureRead(group, bytes);
  const baseline = isPrompt && !measureProducts(group, "float32");
  measure("attention()", { group, baseline, calls, ...work }, () => {
    for (let i = 0; i < calls; i++) attention(q, k!, v!, { causal }).dispose();
    stream.doneSync();
  });
  if (isPrompt && !causal) {
    const blockMask = { mask, blockSize: BLOCK };
    await attention(q, k!, v!, { blockMask }).ready();
    const visible = { group, operations: operations / SPARSITY };
    measure(`attention(), a block of ${SPARSITY}`, visible, () => {
      attention(q, k!, v!, { blockMask }).dispose();
      stream.doneSync();
    });
  }
  if (runPyTorch === undefined) continue;
  measure("PyTorch", { group, calls, ...work }, async () => {
    await runPyTorch(index, calls);
  });
}
