/**
 * Attention of prompts and of single queries, beside PyTorch with the same random numbers. The limit of
 * prompts is products of floats in registers, into which 16-bit elements are widened, but for bfloat16
 * on processors with AMX; that of single queries is a read of all keys and values. First comes what has
 * goals on a GPU, and last what takes longest.
 */

import { attention, type AttentionDType, type Tensor, tensor } from "../src/device/tensor.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { type Arithmetic, measureOnDevice, QUICK, scaled } from "./support/measure.ts";
import { measureProducts, measureRead } from "./support/processor_limits.ts";
import { randomOperand } from "./support/random_values.ts";

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
  ...(["bfloat16", "float16", "float32"] as const).flatMap((dtype): Shape[] => [
    [1, 8, 8, LENGTH, LENGTH, 128, false, dtype],
    [1, 8, 8, LENGTH, LENGTH, 128, true, dtype],
    [1, 32, 8, 1, KEYS, 128, false, dtype],
    [1, 8, 8, LENGTH, LENGTH, 64, false, dtype],
  ]),
];

for (const shape of SHAPES) {
  const [batch, heads, keyHeads, queries, keys, size, causal, dtype] = shape;
  const operand = (shape: readonly number[], index: number) =>
    randomOperand(device, shape, index, dtype, QUICK) as Tensor as Tensor<AttentionDType>;
  const q = operand([batch, heads, queries, size], 0);
  const [k, v] = [1, 2].map((index) => operand([batch, keyHeads, keys, size], index));
  const what = queries === 1 ? `of a query and ${keys} keys` : `of ${queries} queries`;
  const group = `attention ${what}, heads of ${size}, ${causal ? "causal, " : ""}${dtype}`;
  const isPrompt = queries > 1;
  const operations = 4 * batch * heads * queries * keys * size / (causal ? 2 : 1);
  const bytes = 2 * batch * keyHeads * keys * size * (dtype === "float32" ? 4 : 2);
  const arithmetic = dtype as Arithmetic;
  const work = isPrompt ? { operations, arithmetic } : { bytes };
  const peer = { kind: "attention", batch, heads, keyHeads, queries, keys, size, causal, dtype };
  if (!isPrompt) measureRead(group, bytes);
  const baseline = isPrompt && !measureProducts(group, "float32");
  measureOnDevice("attention()", { group, baseline, peer, ...work }, () => {
    attention(q, k!, v!, { causal }).dispose();
  });
  if (isPrompt && !causal) {
    const blockMask = { mask, blockSize: BLOCK };
    const visible = { group, operations: operations / SPARSITY, arithmetic };
    measureOnDevice(`attention(), a block of ${SPARSITY}`, visible, () => {
      attention(q, k!, v!, { blockMask }).dispose();
    });
  }
}
