// Reductions against computations in double precision, over axes, layouts and element types.

import { device } from "../support/device.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tensors from "../../src/device/tensor.ts";
import { arange, fromTypedArray, type Tensor, tensor, zeros } from "../../src/device/tensor.ts";

type Values = readonly number[];

/** The groups of elements that are reduced together, in the order of the result. */
function groupsOf(values: Values, shape: Values, axes: Values): number[][] {
  const groups = new Map<string, number[]>();
  values.forEach((value, at) => {
    const position: number[] = [];
    let rest = at;
    for (const extent of shape.toReversed()) {
      position.unshift(rest % extent);
      rest = Math.floor(rest / extent);
    }
    const key = position.filter((_, axis) => !axes.includes(axis)).join();
    groups.set(key, [...groups.get(key) ?? [], value]);
  });
  return [...groups.values()];
}

const total = (group: Values) => group.reduce((sum, x) => sum + x, 0);
const average = (group: Values) => total(group) / group.length;
const squares = (group: Values) => total(group.map((x) => (x - average(group)) ** 2));

const REFERENCES: Readonly<Record<string, (group: Values) => number>> = {
  sum: total,
  prod: (group) => group.reduce((product, x) => product * x, 1),
  mean: average,
  max: (group) => Math.max(...group),
  min: (group) => Math.min(...group),
  argmax: (group) => group.indexOf(Math.max(...group)),
  argmin: (group) => group.indexOf(Math.min(...group)),
  any: (group) => Number(group.some((x) => x !== 0)),
  all: (group) => Number(group.every((x) => x !== 0)),
  countNonzero: (group) => group.filter((x) => x !== 0).length,
  variance: (group) => squares(group) / group.length,
  std: (group) => Math.sqrt(squares(group) / group.length),
};

/**
 * The cases of reductions, as each is a kernel or more: one of each kind has all. Reducers, and
 * programs of two kernels, have rows, columns and all elements; what only casts for these has rows.
 */
const isTested = (name: string, at: number) =>
  ["sum", "max", "argmax"].includes(name) || at % 6 === 0 ||
  (["prod", "min", "variance"].includes(name) && at % 3 === 0);

type Reduction = (x: Tensor, options?: object) => Tensor;
const reductionOf = (name: string) => (tensors as unknown as Record<string, Reduction>)[name]!;

/** Values with equal ones, zeros and signs. */
const pattern = (count: number) =>
  Array.from({ length: count }, (_, i) => (i * 7919 % 23 - 11) / 4);

async function numbersOf(result: Tensor): Promise<number[]> {
  return Array.from(await result.toArray() as ArrayLike<number | bigint>, Number);
}

function assertClose(actual: Values, expected: Values, tolerance: number, what: string): void {
  assertEquals(actual.length, expected.length, what);
  expected.forEach((value, at) => {
    const error = Math.abs(actual[at]! - value);
    const isEqual = Object.is(actual[at], value) || error <= tolerance * (1 + Math.abs(value));
    assert(isEqual, `${what}[${at}] is ${actual[at]}, not ${value}`);
  });
}

Deno.test("Reductions equal those in double precision along all axes", async () => {
  // Rows, columns of many and of few, inner and outer axes, several axes, and none.
  const cases: readonly (readonly [Values, readonly number[]])[] = [
    [[5, 7], [1]],
    [[5, 7], [0]],
    [[33, 40], [0]],
    [[3, 5, 17], [1]],
    [[3, 5, 17], [0, 1]],
    [[3, 5, 17], [0, 2]],
    [[3, 5, 17], [0, 1, 2]],
    [[1, 1031], [1]],
    [[1], [0]],
  ];
  const checks = Object.entries(REFERENCES).flatMap(([name, reference]) =>
    cases.filter(([, axes], at) =>
      (!name.startsWith("arg") || axes.length === 1) && isTested(name, at)
    ).map(
      ([shape, axes]) => {
        const values = pattern(shape.reduce((product, extent) => product * extent, 1))
          .map((x) => name === "prod" ? 1 + x / 1000 : x);
        const x = tensor(values, { device, dtype: "float64" }).reshape(shape);
        const result = reductionOf(name)(x, { axis: axes.length === 1 ? axes[0] : axes });
        const kept = reductionOf(name)(x, {
          axis: axes.length === 1 ? axes[0] : axes,
          keepDims: true,
        });
        return async () => {
          const expected = groupsOf(values, shape, axes).map(reference);
          assertClose(
            await numbersOf(result),
            expected,
            1e-13,
            `${name} of (${shape}) along ${axes}`,
          );
          assertEquals(kept.shape, shape.map((extent, axis) => axes.includes(axis) ? 1 : extent));
          assertEquals(await kept.toArray(), await result.toArray());
        };
      },
    )
  );
  for (const check of checks) await check();
});

Deno.test("Reductions of views equal those of copies", async () => {
  // In float64 as the test above, which shares its kernels.
  const place = { device, dtype: "float64" } as const;
  const x = arange(6 * 8 * 20, undefined, 1, place).reshape([6, 8, 20]);
  const views = [
    x.permute([2, 0, 1]),
    x.flip(),
    x.slice([{ step: 2 }, { start: 6, stop: 1, step: -2 }, { start: 3 }]),
    x.at(2).broadcastTo([4, 8, 20]),
  ];
  for (const view of views) {
    const copy = tensor(await view.toNested(), place);
    for (const axis of [0, 1, 2, [0, 2]]) {
      assertEquals(await numbersOf(view.sum({ axis })), await numbersOf(copy.sum({ axis })));
      assertEquals(await numbersOf(view.max({ axis })), await numbersOf(copy.max({ axis })));
    }
  }
});

Deno.test("sum() and argmax() of long rows and columns are split, with equal results", async () => {
  for (const length of [32767, 32769, 1_000_003]) {
    const values = Float32Array.from(pattern(length));
    const x = fromTypedArray(values, [length], { device });
    const exact = total([...values]);
    const [actual] = await numbersOf(x.sum());
    assert(Math.abs(actual! - exact) <= 1e-6 * length, `${actual} is not ${exact}`);
    assertEquals(await x.sum().toArray(), await x.sum().toArray());
    assertClose(await numbersOf(x.mean()), [exact / length], 1e-6, "mean");
    values[length - 2] = 100;
    const marked = fromTypedArray(values, [length], { device });
    assertEquals(await marked.argmax().item(), BigInt(length - 2));
    assertEquals(await marked.max().item(), 100);
  }
  const tall = arange(200_000, undefined, 1, { device, dtype: "float64" }).reshape([10_000, 20]);
  const expected = Array.from({ length: 20 }, (_, column) => 10_000 * column + 20 * 9_999 * 5_000);
  assertEquals(await numbersOf(tall.sum({ axis: 0 })), expected);
  assertEquals(await numbersOf(tall.mean({ axis: 0 })), expected.map((it) => it / 10_000));
});

Deno.test("Reductions have the element types of NumPy and do not overflow them", async () => {
  const large = tensor(Array.from({ length: 1000 }, () => 100), { dtype: "int8", device });
  assertEquals([large.sum().dtype, await large.sum().item()], ["int64", 100_000n]);
  assertEquals([large.mean().dtype, await large.mean().item()], ["float64", 100]);
  const many = <D extends "uint8" | "float16">(value: number, dtype: D) =>
    tensor(new Array(1000).fill(value), { dtype, device });
  const unsigned = many(100, "uint8");
  assertEquals([unsigned.sum().dtype, await unsigned.sum().item()], ["uint64", 100_000n]);
  const half = many(10_000, "float16");
  assertEquals([half.sum().dtype, await half.mean().item()], ["float16", 10_000]);
  assertEquals(await half.sum().item(), Infinity);
  assertEquals(await large.max().item(), 100);
  const single = tensors.sum(large, { dtype: "float32" });
  assertEquals([single.dtype, await single.item()], ["float32", 100_000]);
  assertEquals(await tensors.sum(large, { dtype: "int8" }).item(), 100_000 % 256 - 256);
  assertThrows(() => tensors.sum(large, { dtype: "bool" }), TypeError, "options.dtype must be");
  const truth = tensor(new Array(1000).fill(true), { device });
  assertEquals([truth.sum().dtype, await truth.sum().item()], ["int64", 1000n]);
});

Deno.test("max(), min() and argmax() give NaN where one is", async () => {
  const x = tensor([[1, NaN, 3], [1, 2, 3]], { dtype: "float64", device });
  assertEquals(await x.max({ axis: 1 }).toNested(), [NaN, 3]);
  assertEquals(await x.min({ axis: 0 }).toNested(), [1, NaN, 3]);
  assertEquals(await x.argmax({ axis: 1 }).toNested(), [1n, 2n]);
  assertEquals(await tensors.argmin(x).item(), 1n);
});

Deno.test("Reductions of nothing give the identity, or name the empty axis", async () => {
  const empty = zeros([3, 0, 2], { dtype: "float64", device });
  assertEquals(await empty.sum({ axis: 1 }).toNested(), [[0, 0], [0, 0], [0, 0]]);
  assertEquals(await tensors.prod(empty).item(), 1);
  assertEquals(await tensors.all(empty).item(), true);
  assertEquals(await tensors.any(empty).item(), false);
  assertEquals(await empty.mean().item(), NaN);
  assertEquals(empty.max({ axis: 0 }).shape, [0, 2]);
  assertThrows(() => empty.max(), RangeError, "the extent of axis 1 is 0");
  assertThrows(() => empty.sum({ axis: 3 }), RangeError, "axis must be in -3..2: it is 3");
  assertThrows(() => empty.sum({ axis: [0, -3] }), RangeError, "axis must not repeat");
  assertThrows(() => tensors.variance(empty, { correction: 0.5 }), TypeError, "correction");
});

Deno.test("variance() is stable where the mean is large", async () => {
  const x = tensor([1e6, 1e6 + 1, 1e6 + 2], { device });
  assertClose(await numbersOf(tensors.variance(x)), [2 / 3], 1e-6, "variance");
  assertClose(await numbersOf(tensors.std(x, { correction: 1 })), [1], 1e-6, "std");
});

Deno.test("matmul() equals products in double precision for matrices, vectors and views", async () => {
  const random = (shape: readonly number[]) =>
    tensor(pattern(shape.reduce((a, b) => a * b, 1)), { device }).reshape(shape);
  for (
    const [left, right] of [
      [[7, 5], [5, 3]],
      [[1, 1], [1, 1]],
      [[33, 17], [17, 65]],
      [[5], [5]],
      [[4, 5], [5]],
      [[5], [5, 20]],
      [[2, 0], [0, 3]],
    ] as const
  ) {
    const [x, y] = [random(left), random(right)];
    const [a, b] = [x.rank === 1 ? x.expandDims(0) : x, y.rank === 1 ? y.expandDims(1) : y];
    const [rows, columns] = [await a.toNested(), await b.transpose().toNested()] as number[][][];
    const expected = rows!.flatMap((row) =>
      columns!.map((column) => total(row.map((it, k) => it * column[k]!)))
    );
    assertClose(await numbersOf(x.matmul(y)), expected, 1e-5, `(${left}) · (${right})`);
  }
  const x = random([6, 4]);
  const gram = await numbersOf(x.transpose().matmul(x));
  const columns = groupsOf(await numbersOf(x), [6, 4], [0]);
  assertClose(
    gram,
    columns.flatMap((a) => columns.map((b) => total(a.map((v, i) => v * b[i]!)))),
    1e-5,
    "Gram",
  );
  assertThrows(() => x.matmul(x), RangeError, "(6, 4) and (6, 4) have 4 and 6");
  assertThrows(() => x.matmul(zeros([], { device })), RangeError, "must have dimensions");
});
