/**
 * Tensor operations on matrices, with references: rows, positions, order and layout.
 *
 * @module
 */

import { type DType, DTYPES } from "../../memory/dtype.ts";
import { astype, clip, where } from "../../tensor/elementwise.ts";
import { embedding, scatterAdd, take, takeAlongAxis } from "../../tensor/indexing.ts";
import { concat, flip, pad, repeat, roll, stack, tril, triu } from "../../tensor/manipulation.ts";
import { layerNorm, rmsNorm } from "../../tensor/normalization.ts";
import { argsort, cumulativeSum, searchsorted, sort, topk } from "../../tensor/sorting.ts";
import { crossEntropy, logSoftmax, softmax } from "../../tensor/softmax.ts";
import type { Tensor } from "../../tensor/tensor.ts";

type Matrix = readonly (readonly number[])[];

/** An operation on a matrix of positive numbers. */
export interface MatrixOperation {
  readonly dtypes: readonly DType[];
  /** The bound of the error in units of the last place; 0 for exact operations. */
  readonly bound: number;
  /** Whether errors of results below 1 are measured in units of the last place of 1. */
  readonly isCentred?: boolean;
  readonly run: (x: Tensor) => Tensor;
  readonly reference: (x: Matrix) => readonly (readonly number[])[];
}

const FLOATS: readonly DType[] = ["float64", "float32", "float16", "bfloat16"];
const NUMBERS = DTYPES.filter((dtype) => dtype !== "bool" && !dtype.startsWith("float8"));

const exact = (
  run: MatrixOperation["run"],
  reference: MatrixOperation["reference"],
): MatrixOperation => ({ dtypes: NUMBERS, bound: 0, run, reference });

const floats = (
  bound: number,
  run: MatrixOperation["run"],
  row: (row: readonly number[], at: number) => readonly number[],
): MatrixOperation => ({
  dtypes: FLOATS,
  bound,
  isCentred: true,
  run,
  reference: (x) => x.map(row),
});

const total = (row: readonly number[]) => row.reduce((sum, x) => sum + x, 0);

function logarithms(row: readonly number[]): number[] {
  const most = Math.max(...row);
  const scale = Math.log(total(row.map((x) => Math.exp(x - most)))) + most;
  return row.map((x) => x - scale);
}

function standardised(row: readonly number[], centre: number): number[] {
  const variance = total(row.map((x) => (x - centre) ** 2)) / row.length;
  return row.map((x) => (x - centre) / Math.sqrt(variance + 1e-5));
}

/** Positions in ascending order of the elements; equal ones stay in order. */
const order = (row: readonly number[]) =>
  [...row.keys()].sort((a, b) => row[a]! - row[b]! || a - b);

const turned = (x: Matrix) => x[0]!.map((_, column) => x.map((row) => row[column]!));

/** Labels and positions: 0, 1, 2 and so on, as `int64`, one for each row. */
function counted(x: Tensor): Tensor<"int64"> {
  const first = x.slice([{}, 0]);
  return cumulativeSum(astype(first.equal(first), "int64")).add(-1);
}

/** The operations by name. */
export const MATRIX_OPERATIONS: Readonly<Record<string, MatrixOperation>> = {
  softmax: floats(16, softmax, (row) => logarithms(row).map(Math.exp)),
  logSoftmax: floats(16, logSoftmax, logarithms),
  crossEntropy: floats(
    16,
    (x) => crossEntropy(x, counted(x), { reduction: "none" }),
    (row, at) => [-logarithms(row)[at]!],
  ),
  layerNorm: floats(
    32,
    (x) => layerNorm(x, { epsilon: 1e-5 }) as Tensor,
    (row) => standardised(row, total(row) / row.length),
  ),
  rmsNorm: floats(
    32,
    (x) => rmsNorm(x, { epsilon: 1e-5 }) as Tensor,
    (row) => standardised(row, 0),
  ),
  cumulativeSum: {
    ...exact(
      (x) => cumulativeSum(x, { axis: 1 }),
      (x) => x.map((row) => row.map((_, at) => total(row.slice(0, at + 1)))),
    ),
    bound: 64,
  },
  sort: exact((x) => sort(x), (x) => x.map((row) => order(row).map((at) => row[at]!))),
  argsort: exact((x) => argsort(x), (x) => x.map(order)),
  topk: exact(
    (x) => topk(x, 5).values,
    (x) => x.map((row) => row.toSorted((a, b) => b - a).slice(0, 5)),
  ),
  searchsorted: exact(
    (x) => searchsorted(sort(x.at(0)), x.at(1)),
    ([first, second]) => [second!.map((value) => first!.filter((it) => it < value).length)],
  ),
  take: exact(
    (x) => take(x, counted(x).negative(), { axis: 0 }),
    (x) => x.map((_, at) => x.at(-at)!),
  ),
  takeAlongAxis: exact(
    (x) => takeAlongAxis(x, argsort(x), { axis: 1 }),
    (x) => x.map((row) => order(row).map((at) => row[at]!)),
  ),
  embedding: exact((x) => embedding(x, counted(x)), (x) => x),
  scatterAdd: exact(
    (x) => scatterAdd(x, counted(x), x, { axis: 0 }),
    (x) => x.map((row) => row.map((value) => 2 * value)),
  ),
  concat: exact((x) => concat([x, x], { axis: 1 }), (x) => x.map((row) => [...row, ...row])),
  stack: exact((x) => stack([x.at(0), x.at(1)]), (x) => x.slice(0, 2)),
  flip: exact((x) => flip(x, { axis: 1 }), (x) => x.map((row) => row.toReversed())),
  roll: exact(
    (x) => roll(x, 1, { axis: 1 }),
    (x) => x.map((row) => [row.at(-1)!, ...row.slice(0, -1)]),
  ),
  repeat: exact(
    (x) => repeat(x, 2, { axis: 1 }),
    (x) => x.map((row) => row.flatMap((it) => [it, it])),
  ),
  pad: exact((x) => pad(x, [[0, 0], [1, 2]]), (x) => x.map((row) => [0, ...row, 0, 0])),
  tril: exact((x) => tril(x), (x) => x.map((row, at) => row.map((it, k) => k <= at ? it : 0))),
  triu: exact((x) => triu(x), (x) => x.map((row, at) => row.map((it, k) => k >= at ? it : 0))),
  transpose: exact((x) => x.transpose(), turned),
  where: exact(
    (x) => where(x.greater(1), x, 0),
    (x) => x.map((row) => row.map((it) => it > 1 ? it : 0)),
  ),
  clip: exact(
    (x) => clip(x, 1, 2),
    (x) => x.map((row) => row.map((it) => Math.min(Math.max(it, 1), 2))),
  ),
  astype: exact((x) => astype(x, "float64"), (x) => x),
};
