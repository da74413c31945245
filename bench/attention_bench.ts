/**
 * Attention of prompts and of single queries, beside PyTorch with two threads in the same run, where
 * Python has it.
 */

import { attention, type AttentionDType, uniform } from "../src/device/tensor.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { measure, scaled } from "./support/measure.ts";
import { startPeer } from "./support/peer_process.ts";

const { stream } = device;
const LENGTH = scaled(ON_GPU ? 8192 : 1024, 64);
const KEYS = scaled(ON_GPU ? 65_536 : 4096, 64);

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
  measure("attention()", { group, baseline: true, calls }, () => {
    for (let i = 0; i < calls; i++) attention(q, k!, v!, { causal }).dispose();
    stream.doneSync();
  });
  if (runPyTorch === undefined) continue;
  measure("PyTorch", { group, calls }, async () => {
    await runPyTorch(index, calls);
  });
}
