/**
 * Matrix products, attention and ternary products, with references.
 *
 * @module
 */

import { attention } from "../../tensor/attention/attention.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { MatrixOperation } from "./matrix_operations.ts";

type Row = readonly number[];
type Matrix = readonly Row[];

/** Elements of a head; the first `HEADS` of a row are queries, the first of those keys and values. */
const HEAD = 32;
const HEADS = 2;
/** Keeps the exponents of the scores in a range where errors are bounded. */
const SCALE = 1 / 64;

const dot = (x: Row, y: Row) => x.reduce((sum, it, at) => sum + it * y[at]!, 0);

/** Heads of rows: [1, heads, rows, HEAD]. */
const headsOf = (x: Tensor, heads: number) =>
  x.slice([{}, { stop: heads * HEAD }]).reshape([1, x.shape[0]!, heads, HEAD])
    .permute([0, 2, 1, 3]) as Tensor<"float32">;

/** Attention of query heads to one head of keys that are also the values, which `isSeen` limits. */
const attending = (
  run: MatrixOperation["run"],
  isSeen: (query: number, key: number) => boolean,
): MatrixOperation => ({
  dtypes: ["float32", "float16", "bfloat16"],
  bound: 16,
  isCentred: true,
  run,
  reference: (x: Matrix) => {
    const keys = x.map((row) => row.slice(0, HEAD));
    return Array.from({ length: HEADS }, (_, head) =>
      x.map((row, at) => {
        const query = row.slice(head * HEAD, (head + 1) * HEAD);
        const weights = keys.map((key, k) => isSeen(at, k) ? Math.exp(SCALE * dot(query, key)) : 0);
        const sum = weights.reduce((total, weight) => total + weight, 0);
        return keys[0]!.map((_, column) => dot(weights, keys.map((key) => key[column]!)) / sum);
      })).flat();
  },
});

const attend = (x: Tensor, options: Parameters<typeof attention>[3]) => {
  const keys = headsOf(x, 1);
  return attention(headsOf(x, HEADS), keys, keys, { ...options, scale: SCALE } as object);
};

/** The operations by name; a word after the name is the variant. */
export const PRODUCT_OPERATIONS: Readonly<Record<string, MatrixOperation>> = {
  attention: attending((x) => attend(x, {}) as Tensor, () => true),
  "attention causal": attending((x) => attend(x, { causal: true }) as Tensor, (q, k) => k <= q),
  "attention window": attending(
    (x) => attend(x, { window: [3, 2] }) as Tensor,
    (q, k) => k >= q - 3 && k <= q + 2,
  ),
};
