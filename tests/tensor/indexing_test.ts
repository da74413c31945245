// take(), takeAlongAxis(), embedding() and scatterAdd() against loops, in both forms of kernels.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  embedding,
  type Indices,
  ones,
  scatterAdd,
  take,
  takeAlongAxis,
  tensor,
  zeros,
} from "../../src/device/tensor.ts";
import * as tensors from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

// One of each kind; `gridstride validate` has all types.
const TYPES = ["float64", "bfloat16", "float8_e4m3", "int8", "bool"] as const;

/** Positions from -n to n - 1, for an axis of extent n. */
const positions = (shape: number[], n: number) => Grid.mixed(shape, 2 * n).map((it) => it - n);
const counted = (index: number, n: number) => index < 0 ? index + n : index;

/**
 * The views of a grid on a device. Element types, types of positions and ranks of views are kernels
 * each: all views are of float32, those of take() have int32 positions and the others int64, and the
 * form that differs in the template alone has the first views.
 */
const viewsOf = (grid: Grid, on: typeof device) =>
  [...grid.views("float32", on)].slice(0, on === device ? 4 : 2);

for (const [form, on] of forms) {
  const place = { device: on };

  Deno.test(`take() reads elements, rows and planes of views (${form})`, async () => {
    const grid = Grid.mixed([5, 4, 33], 1000);
    const lists = [positions([7], 4), positions([2, 3], 4), positions([], 4)];
    const checks = viewsOf(grid, on).flatMap((x) =>
      lists.flatMap((list, k) => {
        const indices = list.tensor("int32", on) as Indices;
        return [0, 1, 2].map((axis) => {
          const shape = grid.shape.toSpliced(axis, 1, ...list.shape);
          const reference = Grid.of(shape, (p) => {
            const index = list.at(p.slice(axis, axis + list.shape.length));
            const at = counted(index, grid.shape[axis]!);
            return grid.at(p.toSpliced(axis, list.shape.length, at));
          });
          return expect(take(x, indices, { axis }), reference, `${k} ${axis}`);
        });
      })
    );
    await Promise.all(checks);
  });

  Deno.test(`take() without an axis counts in row-major order, and takes strided positions (${form})`, async () => {
    const grid = Grid.mixed([6, 7], 100);
    using whole = tensor([0, 99, -1, 99, 41, 99, -42, 99], { ...place, dtype: "int64" });
    using indices = whole.slice([{ step: 2 }]).flip();
    const reference = [-42, 41, -1, 0].map((it) => grid.values[counted(it, 42)]!);
    await Promise.all(
      viewsOf(grid, on).map((x) => expect(take(x, indices), new Grid([4], reference))),
    );
  });

  Deno.test(`takeAlongAxis() broadcasts axes (${form})`, async () => {
    const grid = Grid.mixed([3, 4, 5], 100);
    const checks = [0, 1, -1].flatMap((axis) => {
      const at = counted(axis, 3);
      const list = positions(grid.shape.with(at, 6), grid.shape[at]!);
      const single = positions([1, 1, 1], grid.shape[at]!);
      return viewsOf(grid, on).flatMap((x, k) =>
        [list, single].map((it) => {
          const indices = it === list && k > 0
            ? [...it.views("int64", on)][k]!
            : it.tensor("int64", on);
          const reference = Grid.of(grid.shape.with(at, it.shape[at]!), (p) => {
            const index = it.at(p.map((own, own_axis) => Math.min(own, it.shape[own_axis]! - 1)));
            return grid.at(p.with(at, counted(index, grid.shape[at]!)));
          });
          return expect(takeAlongAxis(x, indices as Indices, { axis }), reference);
        })
      );
    });
    await Promise.all(checks);
  });

  Deno.test(`take() and embedding() take the element types (${form})`, async () => {
    const grid = Grid.mixed([4, 3], 2);
    const rows = new Grid([2], [3, -4]);
    using indices = rows.tensor("int32", on) as Indices;
    const reference = Grid.of([2, 3], ([r, c]) => grid.at([r === 0 ? 3 : 0, c!]));
    const types = form === "block" ? TYPES : (["float16"] as const);
    await Promise.all(types.map((dtype) => {
      using x = grid.tensor(dtype, on);
      return expect(embedding(x, indices), reference, dtype);
    }));
  });

  Deno.test(`scatterAdd() adds updates in their order along every axis (${form})`, async () => {
    const grid = Grid.mixed([3, 5, 4], 100);
    const lists = [positions([40], 3), positions([2, 3], 3), new Grid([0], [])];
    const checks = viewsOf(grid, on).flatMap((x, k) =>
      (on === device ? [0, 1, 2] : [1]).flatMap((axis) =>
        lists.map((list) => {
          const shape = grid.shape.toSpliced(axis, 1, ...list.shape);
          const added = Grid.mixed(shape, 50);
          const values = [...grid.values];
          Grid.of(shape, (p) => {
            const index = list.at(p.slice(axis, axis + list.shape.length));
            const target = p.toSpliced(axis, list.shape.length, counted(index, grid.shape[axis]!));
            const flat = (target[0]! * 5 + target[1]!) * 4 + target[2]!;
            return values[flat]! += added.at(p);
          });
          const updates = k === 0 || added.values.length === 0
            ? added.tensor("float32", on)
            : [...added.views("float32", on)][k]!;
          const indices = list.tensor("int32", on) as Indices;
          const result = scatterAdd(x, indices, updates, { axis });
          return expect(result, new Grid(grid.shape, values), `${axis} ${k}`);
        })
      )
    );
    await Promise.all(checks);
  });

  Deno.test(`take() and scatterAdd() report positions out of range, and write nothing there (${form})`, async () => {
    using x = tensor([[1, 2], [3, 4], [5, 6]], place);
    for (const wrong of [3, -4, 2 ** 31 - 1, -(2 ** 31)]) {
      using indices = tensor([0, wrong, 2], { ...place, dtype: "int32" });
      const message = `indices must be in -3..2: one is ${wrong}`;
      using rows = await take(x, indices, { axis: 0 }).ready();
      // The buffer does not know of reports.
      const taken = rows.buffer;
      await assertRejects(() => rows.toArray(), RangeError, `Cannot call take() as ${message}`);
      assertEquals([...await taken.toArray()], [1, 2, 0, 0, 5, 6]);
      using sum = await scatterAdd(x, indices, ones([3, 2], place)).ready();
      const added = sum.buffer;
      await assertRejects(
        () => sum.toArray(),
        RangeError,
        `Cannot call scatterAdd() as ${message}`,
      );
      assertEquals([...await added.toArray()], [2, 3, 3, 4, 6, 7]);
    }
    using wide = tensor([2n ** 62n], place);
    using one = embedding(x, wide);
    await assertRejects(() => one.toArray(), RangeError, `one is ${2n ** 62n}`);
    using none = zeros([0, 2], place);
    using first = take(none, tensor([0], { ...place, dtype: "int32" }), { axis: 0 });
    await assertRejects(() => first.toArray(), RangeError, "the axis has no elements");
    assertEquals(await x.toNested(), [[1, 2], [3, 4], [5, 6]]);
  });
}

Deno.test("The first of several operations with a position out of range is named", async () => {
  using x = tensor([1, 2, 3], { device });
  using good = tensor([1], { device, dtype: "int32" });
  using bad = tensor([7], { device, dtype: "int32" });
  using a = take(x, good);
  using b = scatterAdd(x, bad, ones([1], { device }));
  using c = take(b, bad);
  await assertRejects(() => c.toArray(), RangeError, "Cannot call scatterAdd()");
  assertEquals(await a.toNested(), [2]);
});

Deno.test("scatterAdd() takes every element type but the 8-bit floats", async () => {
  using indices = tensor([1, 0, 1, -1], { device, dtype: "int32" });
  const grid = new Grid([3], [1, 0, 0]);
  await Promise.all(TYPES.map((dtype) => {
    using x = grid.tensor(dtype, device);
    using updates = new Grid([4], [1, 1, 1, 0]).tensor(dtype, device);
    if (dtype.startsWith("float8")) {
      assertThrows(() => scatterAdd(x, indices, updates), TypeError, "not 8-bit floats");
      return;
    }
    const sums = dtype === "bool" ? [1, 1, 0] : [2, 2, 0];
    return expect(scatterAdd(x, indices, updates), new Grid([3], sums), dtype);
  }));
});

Deno.test("scatterAdd() of many updates has the bits of sums in order", async () => {
  const count = 100_003;
  const places = Grid.mixed([count], 17);
  const added = Grid.mixed([count], 1000).map((it) => Math.fround(it / 7));
  const sums = new Float32Array(17);
  places.values.forEach((at, k) => sums[at] = sums[at]! + added.values[k]!);
  using x = zeros([17], { device });
  using indices = places.tensor("int64", device);
  using updates = added.tensor("float32", device);
  assertEquals((await read(scatterAdd(x, indices, updates))).values, [...sums]);
});

Deno.test("Functions that take positions refuse bad arguments", () => {
  using x = tensor([[1, 2, 3], [4, 5, 6]], { device });
  using good = tensor([0], { device, dtype: "int32" });
  using wrong = tensor([0], { device });
  using narrow = tensor([[1, 2, 3]], { device, dtype: "int8" });
  const cases: [() => unknown, string][] = [
    [() => take(x, wrong as never), "indices must be int32 or int64: it is float32"],
    [() => take(x, [0] as never), "indices must be"],
    [() => take(x, good, { axis: 2 }), "axis must be in -2..1: it is 2"],
    [() => takeAlongAxis(x, good), "as many dimensions as x: the shapes are (1,) and (2, 3)"],
    [() => embedding(x.flatten(), good), "weights must have 2 dimensions: the shape is (6,)"],
    [() => device.stream.capture(() => void take(x, good)), "Cannot capture take as its positions"],
    [() => scatterAdd(x, good, x), "updates must have the shape (1, 3): it has (2, 3)"],
    [() => scatterAdd(x, good, narrow as never), "updates must be float32: it is int8"],
  ];
  for (const [run, message] of cases) assertThrows(run, Error, message);
});

Deno.test("Options that are no object are refused by name", () => {
  const x = tensor([[1, 2], [3, 4]], { device });
  const row = x.at(0);
  const at = tensor([0, 1], { device, dtype: "int32" });
  const calls: Record<string, readonly unknown[]> = {
    concat: [[x]],
    stack: [[x]],
    split: [x, 2],
    flip: [x],
    roll: [x, 1],
    repeat: [x, 2],
    pad: [x, 1],
    tril: [x],
    eye: [2, 2],
    take: [row, at],
    takeAlongAxis: [row, at],
    embedding: [x, at],
    scatterAdd: [row, at, row],
    sort: [x],
    topk: [x, 1],
    searchsorted: [row, row],
    cumulativeSum: [row],
    softmax: [x],
    softmaxBackward: [x, x],
    fromBuffer: [device.allocate("float32", 1), [1]],
  };
  for (const [name, values] of Object.entries(calls)) {
    const call = (tensors as unknown as Record<string, (...all: unknown[]) => unknown>)[name]!;
    for (const wrong of [null, 5]) {
      const message = `options must be an object: it is ${wrong}`;
      assertThrows(() => call(...values, wrong), TypeError, message, name);
    }
  }
});
