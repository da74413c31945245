/**
 * Tensor operations on matrices, with references: rows, positions, order and layout.
 *
 * @module
 */

import { type DType, DTYPES } from "../../memory/dtype.ts";
import { arange } from "../../tensor/creation.ts";
import { astype, clip, where } from "../../tensor/elementwise.ts";
import { embedding, scatterAdd, take, takeAlongAxis } from "../../tensor/indexing.ts";
import {
  concat,
  eye,
  flip,
  pad,
  repeat,
  roll,
  split,
  stack,
  tril,
  triu,
} from "../../tensor/manipulation.ts";
import {
  layerNorm,
  layerNormBackward,
  rmsNorm,
  rmsNormBackward,
} from "../../tensor/normalization.ts";
import { argsort, cumulativeSum, nonzero, searchsorted, sort, topk } from "../../tensor/sorting.ts";
import {
  crossEntropy,
  crossEntropyBackward,
  logSoftmax,
  logSoftmaxBackward,
  softmax,
  softmaxBackward,
} from "../../tensor/softmax.ts";
import { uniqueValues } from "../../tensor/statistics/unique.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Device } from "../device.ts";

export type Matrix = readonly (readonly number[])[];

/** An operation on a matrix of positive numbers. */
export interface MatrixOperation {
  readonly dtypes: readonly DType[];
  /** The bound of the error in units of the last place; 0 for exact operations. */
  readonly bound: number;
  /** Whether errors of results below 1 are measured in units of the last place of 1. */
  readonly isCentred?: boolean;
  /** Undefined if the device lacks the variant. */
  readonly run: (x: Tensor, device: Device) => Tensor | Promise<Tensor> | undefined;
  readonly reference: (x: Matrix, dtype: DType) => readonly (readonly number[])[];
}

export const FLOATS: readonly DType[] = ["float64", "float32", "float16", "bfloat16"];
/** The types that have an order: 8-bit floats are to be cast first. */
export const ORDERED: readonly DType[] = DTYPES.filter((dtype) => !dtype.startsWith("float8"));

export const exact = (
  run: MatrixOperation["run"],
  reference: MatrixOperation["reference"],
  dtypes = DTYPES,
): MatrixOperation => ({ dtypes, bound: 0, run, reference });

const ordered = (run: MatrixOperation["run"], reference: MatrixOperation["reference"]) =>
  exact(run, reference, ORDERED);

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

const deviation = (row: readonly number[], centre: number) =>
  Math.sqrt(total(row.map((x) => (x - centre) ** 2)) / row.length + 1e-5);

function standardised(row: readonly number[], centre: number): number[] {
  const divisor = deviation(row, centre);
  return row.map((x) => (x - centre) / divisor);
}

/** The gradient of a normalised row, with the reversed row as the gradient of the result. */
function slope(row: readonly number[], centre: number): number[] {
  const dy = row.toReversed();
  const unit = standardised(row, centre);
  const average = centre === 0 ? 0 : total(dy) / row.length;
  const along = total(dy.map((it, at) => it * unit[at]!)) / row.length;
  return dy.map((it, at) => (it - average - unit[at]! * along) / deviation(row, centre));
}

/** Positions in ascending order of the elements; equal ones stay in order. */
const order = (row: readonly number[]) =>
  [...row.keys()].sort((a, b) => row[a]! - row[b]! || a - b);

const turned = (x: Matrix) => x[0]!.map((_, column) => x.map((row) => row[column]!));

/** Labels and positions: 0, 1, 2 and so on, as `int64`, one for each row. */
function counted(x: Tensor): Tensor<"int64"> {
  return arange(x.shape[0]!, undefined, 1, { device: x, dtype: "int64" });
}

/** The operations by name. */
export const MATRIX_OPERATIONS: Readonly<Record<string, MatrixOperation>> = {
  softmax: floats(16, (x) => softmax(x), (row) => logarithms(row).map(Math.exp)),
  logSoftmax: floats(16, (x) => logSoftmax(x), logarithms),
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
  softmaxBackward: floats(
    32,
    (x) => softmaxBackward(x as Tensor<"float32">, x),
    (y) => y.map((it) => it * (it - total(y.map((x) => x * x)))),
  ),
  logSoftmaxBackward: floats(
    32,
    (x) => logSoftmaxBackward(x as Tensor<"float32">, x),
    (y) => y.map((it) => it - Math.exp(it) * total(y)),
  ),
  crossEntropyBackward: floats(
    32,
    (x) => crossEntropyBackward(1, x, counted(x), { reduction: "none" }),
    (row, at) => logarithms(row).map((it, k) => Math.exp(it) - Number(k === at)),
  ),
  layerNormBackward: floats(
    64,
    (x) => layerNormBackward(flip(x, { axis: 1 }) as Tensor<"float32">, x).dx,
    (row) => slope(row, total(row) / row.length),
  ),
  "layerNormBackward weight": {
    dtypes: FLOATS,
    bound: 64,
    isCentred: true,
    run: (x) => layerNormBackward(x as Tensor<"float32">, x).dWeight,
    reference: (x) => [
      x.map((row) => standardised(row, total(row) / row.length).map((it, at) => it * row[at]!))
        .reduce((sums, row) => sums.map((sum, at) => sum + row[at]!)),
    ],
  },
  rmsNormBackward: floats(
    64,
    (x) => rmsNormBackward(flip(x, { axis: 1 }) as Tensor<"float32">, x).dx,
    (row) => slope(row, 0),
  ),
  cumulativeSum: {
    ...ordered(
      (x) => cumulativeSum(x, { axis: 1 }),
      (x) => x.map((row) => row.map((_, at) => total(row.slice(0, at + 1)))),
    ),
    bound: 64,
  },
  sort: ordered((x) => sort(x), (x) => x.map((row) => order(row).map((at) => row[at]!))),
  argsort: ordered((x) => argsort(x), (x) => x.map(order)),
  topk: ordered(
    (x) => topk(x, 5).values,
    (x) => x.map((row) => row.toSorted((a, b) => b - a).slice(0, 5)),
  ),
  searchsorted: ordered(
    (x) => searchsorted(sort(x.at(0)), x.at(1)),
    ([first, second]) => [second!.map((value) => first!.filter((it) => it < value).length)],
  ),
  uniqueValues: ordered(
    (x) => uniqueValues(x),
    (x) => [[...new Set(x.flat())].sort((a, b) => a - b)],
  ),
  nonzero: exact(
    async (x) => (await nonzero(tril(x)))[1]!,
    (x) => x.map((row, k) => [...row.keys()].filter((at) => at <= k && row[at] !== 0)),
  ),
  take: exact(
    (x) => take(x, counted(x).negative(), { axis: 0 }),
    (x) => x.map((_, at) => x.at(-at)!),
  ),
  takeAlongAxis: exact(
    (x) => takeAlongAxis(x, argsort(astype(x, "float64")), { axis: 1 }),
    (x) => x.map((row) => order(row).map((at) => row[at]!)),
  ),
  embedding: exact((x) => embedding(x, counted(x)), (x) => x),
  scatterAdd: ordered(
    (x) => scatterAdd(x, counted(x), x, { axis: 0 }),
    (x, dtype) => x.map((row) => row.map((value) => dtype === "bool" ? value : 2 * value)),
  ),
  concat: exact((x) => concat([x, x], { axis: 1 }), (x) => x.map((row) => [...row, ...row])),
  stack: exact((x) => stack([x.at(0), x.at(1)]), (x) => x.slice(0, 2)),
  split: exact((x) => split(x, [5, 9])[1]!, (x) => x.slice(5, 9)),
  eye: exact(
    (x) => eye(x.shape[0]!, x.shape[1], { device: x, dtype: x.dtype, k: 2 }),
    (x) => x.map((row, at) => row.map((_, k) => Number(k === at + 2))),
  ),
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
    (x) => where(astype(x, "bool"), x, flip(x, { axis: 1 })),
    (x) => x.map((row) => row.map((it, at) => it !== 0 ? it : row.at(-1 - at)!)),
  ),
  clip: exact(
    (x) => clip(x, 1, 2),
    (x) => x.map((row) => row.map((it) => Math.min(Math.max(it, 1), 2))),
    ORDERED.filter((dtype) => dtype !== "bool"),
  ),
  astype: exact((x) => astype(x, "float64"), (x) => x),
};
