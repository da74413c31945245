// Small operands that are views: biases, masks, weights, labels, positions, scales. They lie backwards
// with gaps; a function gives the expected elements, or those of dense operands.

import { assertEquals } from "@std/assert";
import type { DType } from "../../../mod.ts";
import * as tensors from "../../../src/device/tensor.ts";
import { matmul, type Tensor } from "../../../src/device/tensor.ts";
import { ternaryMatmul, TernaryWeights } from "../../../src/device/ternary.ts";
import { device } from "../../support/device.ts";
import { Grid, read } from "../../support/tensor_forms.ts";

/** An operand: its elements, and the element type unless it is `float32`. */
type Given = Grid | readonly [Grid, DType];
const gridOf = (given: Given) => given instanceof Grid ? given : given[0];
const typeOf = (given: Given) => given instanceof Grid ? "float32" : given[1];
const dense = (given: Given): Tensor => gridOf(given).tensor(typeOf(given), device);

/** The operand in every second place of longer memory, backwards; axes are exchanged, too. */
function strided(given: Given): Tensor {
  const grid = gridOf(given);
  const reversed = Grid.of(grid.shape.toReversed(), (at) => grid.at(at.toReversed()));
  const length = reversed.shape.at(-1)!;
  const wide = Grid.of(reversed.shape.with(-1, 2 * length + 1), (at) => {
    const place = length - (at.at(-1)! + 1) / 2;
    return Number.isInteger(place) && place >= 0 ? reversed.at(at.with(-1, place)) : 99;
  });
  const memory = wide.tensor(typeOf(given), device);
  const whole = [...Array(memory.rank - 1).fill({})];
  return memory.slice([...whole, { start: -2, step: -2 }])
    .permute([...memory.shape.keys()].reverse()) as Tensor;
}

interface Case {
  readonly operands: Readonly<Record<string, Given>>;
  /** Calls the function; several results are compared one by one. */
  readonly run: (operands: never) => Tensor | readonly Tensor[];
  /** The elements of the first result. */
  readonly expected?: Grid;
}

const ints = (shape: readonly number[], range = 7) => Grid.mixed(shape, range);
const product = (a: Grid, b: Grid) =>
  Grid.of(
    [a.shape[0]!, b.shape[1]!],
    ([i, j]) =>
      Array.from({ length: a.shape[1]! }, (_, k) => a.at([i!, k]) * b.at([k, j!]))
        .reduce((sum, it) => sum + it, 0),
  );
const sumOf = (grid: Grid, ...others: readonly Grid[]) =>
  Grid.of(grid.shape, (at) => others.reduce((sum, it) => sum + it.at(at), grid.at(at)));
const column = (grid: Grid) => new Grid([...grid.shape, 1], grid.values);
const row = (grid: Grid) => new Grid([1, ...grid.shape], grid.values);
const flat = (grid: Grid) => new Grid([grid.values.length], grid.values);

type Operands<Names extends string> = { readonly [Name in Names]: Tensor<"float32"> };
const some = (count: number, ...values: readonly number[]) => new Grid([count], values);

const [a, v, w] = [ints([5, 6]), ints([6]), ints([5])];
const [bias, residual] = [ints([5], 50), ints([5], 90)];
const plain = product(a, column(v));
const rows = ints([4, 8]);
const labels: Given = [some(4, 0, 7, 3, 3), "int32"];
const codes = ints([6, 70], 3).map((it) => it - 1);
const x8 = ints([5, 70], 200).map((it) => it - 100);
const scales = some(6, 0.5, 1, 2, 4, 1, 8);
const dots = product(x8, Grid.of([70, 6], ([k, n]) => codes.at([n!, k!])));
const weightsOf = () =>
  TernaryWeights.from({ codes: dense([codes, "int8"]), scale: dense(scales) } as never);

const CASES: Readonly<Record<string, Case>> = {
  "matmul() of a matrix and a vector": {
    operands: { y: v, bias, residual },
    run: ({ y, ...own }: Operands<"y" | "bias" | "residual">) =>
      matmul(dense(a), y as Tensor, own as never),
    expected: flat(sumOf(plain, column(bias), column(residual))),
  },
  "matmul() of a vector and a matrix": {
    operands: { x: w, bias: v, residual: ints([6], 90) },
    run: ({ x, ...own }: Operands<"x" | "bias" | "residual">) =>
      matmul(x as Tensor, dense(a), own as never),
    expected: flat(sumOf(product(row(w), a), row(v), row(ints([6], 90)))),
  },
  "matmul() with one column": {
    operands: { y: column(v), bias: column(bias), residual: column(residual) },
    run: ({ y, ...own }: Operands<"y" | "bias" | "residual">) =>
      matmul(dense(a), y as Tensor, own as never),
    expected: sumOf(plain, column(bias), column(residual)),
  },
  "where()": {
    operands: {
      condition: [ints([4, 8], 2), "bool"],
      yes: rows,
      no: some(8, 9, 8, 7, 6, 5, 4, 3, 2),
    },
    run: ({ condition, yes, no }: Operands<"condition" | "yes" | "no">) =>
      tensors.where(condition as Tensor as Tensor<"bool">, yes, no) as Tensor,
    expected: Grid.of([4, 8], (at) => ints([4, 8], 2).at(at) === 1 ? rows.at(at) : 9 - at[1]!),
  },
  "clip()": {
    operands: { lowest: some(8, 0, 1, 2, 3, 2, 1, 0, 1), highest: some(8, 3, 3, 3, 4, 5, 5, 6, 6) },
    run: ({ lowest, highest }: Operands<"lowest" | "highest">) =>
      tensors.clip(dense(rows) as Tensor<"float32">, lowest, highest) as Tensor,
  },
  "take()": {
    operands: { indices: [some(3, 2, 0, 3), "int32"] },
    run: ({ indices }: Operands<"indices">) =>
      tensors.take(dense(rows), indices as never, { axis: 0 }),
    expected: Grid.of([3, 8], ([i, j]) => rows.at([[2, 0, 3][i!]!, j!])),
  },
  "takeAlongAxis()": {
    operands: { indices: [ints([4, 3], 8), "int32"] },
    run: ({ indices }: Operands<"indices">) => tensors.takeAlongAxis(dense(rows), indices as never),
    expected: Grid.of([4, 3], ([i, j]) => rows.at([i!, ints([4, 3], 8).at([i!, j!])])),
  },
  "scatterAdd()": {
    operands: { indices: [some(3, 2, 0, 2), "int32"], updates: ints([3, 8], 40) },
    run: ({ indices, updates }: Operands<"indices" | "updates">) =>
      tensors.scatterAdd(dense(rows), indices as never, updates as Tensor),
    expected: Grid.of(
      [4, 8],
      ([i, j]) =>
        [2, 0, 2].reduce(
          (sum, it, k) => sum + (it === i ? ints([3, 8], 40).at([k, j!]) : 0),
          rows.at([i!, j!]),
        ),
    ),
  },
  "searchsorted()": {
    operands: { x1: some(4, 1, 3, 5, 7), x2: ints([2, 3], 9) },
    run: ({ x1, x2 }: Operands<"x1" | "x2">) =>
      tensors.searchsorted(x1 as Tensor, x2 as Tensor) as Tensor,
    expected: ints([2, 3], 9).map((it) => [1, 3, 5, 7].filter((own) => own < it).length),
  },
  "layerNorm()": {
    operands: { weight: ints([8], 5), bias: ints([8], 9), residual: ints([4, 8], 3) },
    run: (own: Operands<"weight" | "bias" | "residual">) => {
      const { y, sum } = tensors.layerNorm(dense(rows) as Tensor<"float32">, own);
      return [y, sum] as unknown as Tensor[];
    },
  },
  "crossEntropy()": {
    operands: { labels },
    run: (own: Operands<"labels">) =>
      tensors.crossEntropy(dense(rows), own.labels as never, { reduction: "none" }),
  },
  "crossEntropyBackward()": {
    operands: { dy: ints([4], 5), labels },
    run: (own: Operands<"labels" | "dy">) =>
      tensors.crossEntropyBackward(own.dy, dense(rows), own.labels as never, { reduction: "none" }),
  },
  "concat()": {
    operands: { first: ints([2, 3]), second: ints([4, 3], 9) },
    run: ({ first, second }: Operands<"first" | "second">) =>
      tensors.concat([first, second]) as Tensor,
    expected: new Grid([6, 3], [...ints([2, 3]).values, ...ints([4, 3], 9).values]),
  },
  "ternaryMatmul()": {
    operands: { x: [x8, "int8"], bias: some(6, 1, 2, 3, 4, 5, 6), scale: some(5, 1, 2, 3, 4, 5) },
    run: ({ x, bias, scale }: Operands<"x" | "bias" | "scale">) =>
      ternaryMatmul(x as never, weightsOf(), { bias, scale }) as Tensor,
    expected: Grid.of(
      [5, 6],
      ([i, j]) => dots.at([i!, j!]) * scales.values[j!]! * (i! + 1) + j! + 1,
    ),
  },
  "TernaryWeights.from()": {
    operands: { codes: [codes, "int8"], scale: scales },
    run: (own: never) => {
      using weights = TernaryWeights.from(own);
      return weights.dequantize() as Tensor;
    },
    expected: Grid.of([6, 70], ([n, k]) => codes.at([n!, k!]) * scales.values[n!]!),
  },
};

for (const [name, { operands, run, expected }] of Object.entries(CASES)) {
  Deno.test(`${name} reads small operands that are views`, async () => {
    const call = async (make: (given: Given) => Tensor): Promise<Grid[]> => {
      const own = Object.entries(operands).map(([key, given]) => [key, make(given)]);
      const results = [run(Object.fromEntries(own) as never)].flat() as Tensor[];
      return await Promise.all(results.map((it) => read(it)));
    };
    const wanted = expected === undefined ? await call(dense) : [expected];
    assertEquals(await call(strided), wanted);
  });
}
