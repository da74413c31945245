/**
 * Attention in double precision.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import type { Tensor } from "../../src/device/tensor.ts";
import { Grid, read } from "./tensor_forms.ts";

/** Irregular numbers between -2 and 2 that all floating types with 8 bits hold. */
export function numbers(shape: readonly number[], seed: number): Grid {
  return Grid.mixed(shape, 9973 + 2 * seed).map((it) => (it % 65 - 32) / 16);
}

/** What is added to a score; -Infinity hides the key. */
export type Score = (batch: number, head: number, query: number, key: number) => number;

/** The output and the logarithms of sums of queries, keys and values [batch, heads, length, size]. */
export function reference(q: Grid, k: Grid, v: Grid, score: Score = () => 0) {
  const [batches, heads, queries, size] = q.shape as [number, number, number, number];
  const [, keyHeads, keys] = k.shape as [number, number, number];
  const scale = 1 / Math.sqrt(size);
  const sums: number[] = [];
  const weights = Grid.of([batches, heads, queries], () => 0).values.map((_, row) => {
    const query = row % queries;
    const head = Math.floor(row / queries) % heads;
    const batch = Math.floor(row / queries / heads);
    const shared = Math.floor(head * keyHeads / heads);
    const scores = Array.from({ length: keys }, (_, key) => {
      let dot = 0;
      for (let d = 0; d < size; d++) {
        dot += q.at([batch, head, query, d]) * k.at([batch, shared, key, d]);
      }
      return dot * scale + score(batch, head, query, key);
    });
    const most = Math.max(...scores);
    const powers = scores.map((it) => most === -Infinity ? 0 : Math.exp(it - most));
    const sum = powers.reduce((a, b) => a + b, 0);
    sums.push(sum === 0 ? -Infinity : most + Math.log(sum));
    return powers.map((it) => sum === 0 ? 0 : it / sum);
  });
  const output = Grid.of([batches, heads, queries, v.shape[3]!], ([b, h, i, c]) => {
    const row = weights[(b! * heads + h!) * queries + i!]!;
    const shared = Math.floor(h! * keyHeads / heads);
    return row.reduce((total, it, j) => total + it * v.at([b!, shared, j, c!]), 0);
  });
  return { output, sums: new Grid([batches, heads, queries], sums) };
}

/** Checks a tensor against a reference, and disposes it. */
export async function expectClose(
  actual: Tensor,
  expected: Grid,
  message: string,
  bound = 4e-6,
): Promise<void> {
  const { shape, values } = await read(actual);
  assertEquals([...shape], [...expected.shape], message);
  const wrong = values.findIndex((it, at) => {
    const want = expected.values[at]!;
    return it !== want && !(Math.abs(it - want) <= bound * Math.max(1, Math.abs(want)));
  });
  assert(
    wrong < 0,
    `${message}: element ${wrong} is ${values[wrong]}, not ${expected.values[wrong]}`,
  );
}
