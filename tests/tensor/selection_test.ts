// select() and set() with positions, ranges and masks: against a loop in both forms of kernels, and
// the loop against NumPy.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  arange,
  fuse,
  ones,
  type Selector,
  type Slice,
  type Tensor,
  tensor,
  where,
  zeros,
} from "../../src/device/tensor.ts";
import { BREAKING_SIZES, device } from "../support/device.ts";
import { python } from "../support/python.ts";
import { expect, forms, Grid } from "../support/tensor_forms.ts";

type Entry = number | Slice | Grid;
type Class = typeof TypeError | typeof RangeError;

/** The positions of a range along an axis. */
function positionsIn({ start, stop, step = 1 }: Slice, extent: number): number[] {
  const from = (at: number | undefined, missing: number) =>
    at === undefined ? missing : at < 0 ? at + extent : at;
  const [first, end] = step > 0
    ? [from(start, 0), from(stop, extent)]
    : [from(start, extent - 1), from(stop, -1)];
  const found: number[] = [];
  for (let at = first; step > 0 ? at < end : at > end; at += step) {
    if (at >= 0 && at < extent) found.push(at);
  }
  return found;
}

/** The places in row-major order that an index selects, in the shape of the selection. */
function placesOf(shape: readonly number[], index: readonly Entry[]): Grid {
  const full = [...index];
  const covered = index.reduce<number>(
    (sum, it) => sum + (it instanceof Grid ? it.shape.length : 1),
    0,
  );
  while (full.length < shape.length - covered + index.length) full.push({});
  const isRange = (entry: Entry) => typeof entry === "object" && !(entry instanceof Grid);
  const fixed = full.flatMap((entry, at) => isRange(entry) ? [] : [at]);
  const hasMask = full.some((it) => it instanceof Grid);
  const isApart = hasMask && fixed.at(-1)! - fixed[0]! + 1 > fixed.length;

  // Each entry selects coordinates of its axes.
  let axis = 0;
  const lists = full.map((entry): number[][] => {
    const extent = shape[axis]!;
    if (entry instanceof Grid) {
      axis += entry.shape.length;
      const all: number[][] = [];
      Grid.of(entry.shape, (at) => entry.at(at) ? all.push([...at]) : 0);
      return all;
    }
    axis++;
    return typeof entry === "number"
      ? [[entry < 0 ? entry + extent : entry]]
      : positionsIn(entry, extent).map((it) => [it]);
  });
  const order = [...full.keys()].filter((at) => typeof full[at] !== "number");
  if (isApart) order.sort((a, b) => Number(isRange(full[a]!)) - Number(isRange(full[b]!)));
  return Grid.of(order.map((at) => lists[at]!.length), (position) => {
    const coordinates = lists.flatMap((list, at) =>
      list[Math.max(0, position[order.indexOf(at)] ?? 0)]!
    );
    return coordinates.reduce((flat, at, k) => flat * shape[k]! + at, 0);
  });
}

/** A grid after an assignment to a selection. */
function assigned(x: Grid, index: readonly Entry[], value: Grid): Grid {
  const places = placesOf(x.shape, index);
  const values = [...x.values];
  Grid.of(places.shape, (at) => {
    const own = at.slice(at.length - value.shape.length)
      .map((it, axis) => value.shape[axis] === 1 ? 0 : it);
    return values[places.at(at)] = value.at(own);
  });
  return new Grid(x.shape, values);
}

const flags = (...shape: number[]) => Grid.mixed(shape, 5).map((it) => Number(it < 2));

const indexOn = (index: readonly Entry[], on: typeof device) =>
  index.map((it): Selector => it instanceof Grid ? it.tensor("bool", on) : it);

const SHAPE = [4, 5, 6];
/** Indices with a mask; those before the last ones run on devices. */
const CASES: readonly (readonly Entry[])[] = [
  [flags(4, 5, 6)],
  [{ step: -2 }, flags(5), { start: 1, stop: -1 }],
  [2, {}, flags(6)],
  [flags(4).map(() => 0), { stop: 2 }],
  [flags(4, 5)],
  [{ start: 1 }, flags(5, 6)],
  [{}, -1, flags(6)],
  [2, { start: 1 }, flags(6)],
  [flags(4), {}, -2],
  [{ stop: 0 }, flags(5)],
];
const RANGES: readonly (readonly Entry[])[] = [
  [],
  [{ start: 1 }, -1, { step: -2 }],
  [{ start: 9 }],
];

/** Shapes of values that broadcast to a selection. */
function valuesFor(selection: readonly number[]): Grid[] {
  const shapes = [selection, selection.slice(1), selection.map(() => 1)];
  return shapes.map((shape) => Grid.mixed(shape, 100).map((it) => it + 500));
}

Deno.test("select() and set() have the results of NumPy", async () => {
  const x = Grid.mixed(SHAPE, 100);
  const cases = [...CASES, ...RANGES].map((index) => {
    const places = placesOf(x.shape, index);
    return { index, places, list: [...valuesFor(places.shape), new Grid([], [-1])] };
  });
  const program = `
import json, sys
import numpy as np
data = json.loads(sys.argv[1])
grid = lambda it: np.array(it["values"], dtype="float64").reshape(it["shape"])
def entry(it):
    if isinstance(it, int): return it
    if "values" in it: return grid(it) != 0
    return slice(it.get("start"), it.get("stop"), it.get("step"))
results = []
for case in data["cases"]:
    x = grid(data["x"])
    index = tuple(entry(it) for it in case["index"])
    results.append([x[index].ravel().tolist()])
    for value in case["list"]:
        y = x.copy()
        y[index] = grid(value)
        results[-1].append(y.ravel().tolist())
print(json.dumps(results))`;
  const given = cases.map(({ index, list }) => ({ index, list }));
  const output = await python("numpy", program, JSON.stringify({ x, cases: given }));
  if (output === undefined) return;
  const wanted = cases.map(({ index, places, list }) => [
    places.values.map((it) => x.values[it]!),
    ...list.map((it) => assigned(x, index, it).values),
  ]);
  assertEquals(JSON.parse(output), wanted);
});

for (const [form, on] of forms) {
  // Each layout has kernels of its own.
  const cases = CASES.slice(0, on === device ? 4 : 2);

  Deno.test(`select() reads the elements of a mask among ranges (${form})`, async () => {
    const grid = Grid.mixed(SHAPE, 100);
    await Promise.all(cases.map(async (index, k) => {
      using x = grid.tensor("float32", on);
      const places = placesOf(SHAPE, index);
      const wanted = new Grid(places.shape, places.values.map((it) => grid.values[it]!));
      await expect(x.select(indexOn(index, on)), wanted, `${k}`);
    }));
  });

  Deno.test(`set() writes numbers and tensors, and keeps other elements (${form})`, async () => {
    const grid = Grid.mixed(SHAPE, 100);
    const all = [...cases, ...(on === device ? RANGES : [])];
    await Promise.all(all.flatMap((index, k) => {
      const x = grid.tensor("float32", on);
      x.set(indexOn(index, on), -1);
      const number = expect(x, assigned(grid, index, new Grid([], [-1])), `${k}`);
      if (k > 1) return [number];
      return [
        number,
        ...valuesFor(placesOf(SHAPE, index).shape).map((value) => {
          const x = grid.tensor("float32", on);
          using tensor = value.tensor("float32", on);
          x.set(indexOn(index, on), tensor);
          return expect(x, assigned(grid, index, value), `${k} ${value.shape}`);
        }),
      ];
    }));
  });

  Deno.test(`select() and set() take masks of all sizes and counts (${form})`, async () => {
    const sizes = on === device ? BREAKING_SIZES : [0, 1, 257, 5000];
    await Promise.all(sizes.flatMap((size) =>
      [2, 0, 7].map(async (limit) => {
        const [grid, mask] = [Grid.mixed([size], 1000), Grid.mixed([size], 7)];
        const bits = mask.map((it) => Number(it < limit));
        const kept = grid.values.filter((_, at) => bits.values[at]);
        using x = grid.tensor("float32", on);
        const index = indexOn([bits], on);
        using selected = await x.select(index);
        using own = selected.add(0);
        await expect(own, new Grid([kept.length], kept), `${size}`);
        using value = arange(0, kept.length, 1, { device: on });
        x.set(index, value);
        let next = 0;
        const wanted = grid.values.map((it, at) => bits.values[at] ? next++ : it);
        await expect(x, new Grid([size], wanted), `${size} ${limit}`);
      })
    ));
  });
}

Deno.test("set() writes element types, and values of types that promote to them", async () => {
  const line = new Grid([4], [1, 0, 1, 1]);
  for (
    const [dtype, value, wanted] of [
      ["int64", -3n, -3],
      ["float8_e4m3", 2.5, 2.5],
      ["bool", false, 0],
    ] as const
  ) {
    const x = line.tensor(dtype, device);
    x.set([{ start: 1, step: 2 }], value);
    await expect(x, new Grid([4], [1, wanted, 1, wanted]), dtype);
  }
  const x = line.tensor("float64", device);
  using mask = line.tensor("bool", device);
  using value = tensor([0.1, 3, 4], { device, dtype: "float32" });
  x.set([mask], value);
  await expect(x, new Grid([4], [Math.fround(0.1), 0, 3, 4]));
});

Deno.test("set() writes through views, and reads values and masks of the same memory first", async () => {
  using x = arange(0, 10, 1, { device });
  x.set([{ start: 1 }], x.slice([{ stop: -1 }]));
  assertEquals(await x.toNested(), [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
  using reversed = x.flip();
  reversed.set([reversed.greater(5)], x.slice([{ stop: 3 }]));
  assertEquals(await x.toNested(), [0, 0, 1, 2, 3, 4, 5, 1, 0, 0]);
  using bits = x.equal(0);
  bits.set([bits], bits.at(0).equal(2 > 1));
  bits.set([bits.flip()], false);
  assertEquals((await bits.toNested() as boolean[]).map(Number), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
});

Deno.test("where() replaces elements of its operand", async () => {
  using x = arange(0, 4, 1, { device });
  using mask = x.greater(1);
  where(mask, -1, x, { out: x });
  assertEquals(await x.toNested(), [0, 1, -1, -1]);
});

Deno.test("Reading throws when set() had more or fewer values than true elements", async () => {
  using mask = new Grid([5], [1, 0, 1, 1, 0]).tensor("bool", device);
  for (const count of [0, 2, 4, 6]) {
    using x = zeros([5], { device });
    using values = ones([count], { device });
    x.set([mask], values);
    await assertRejects(
      () => x.toArray(),
      RangeError,
      "Cannot set elements as value must have as many elements along axis 0 as the mask has true " +
        `ones, 3, or 1: it has ${count}`,
    );
    x.set([], 7);
    assertEquals(await x.toNested(), [7, 7, 7, 7, 7]);
  }
  using none = mask.slice([{ stop: 0 }]);
  using x = zeros([0], { device });
  assertThrows(
    () => x.set([none], ones([2], { device })),
    RangeError,
    "true ones, 0, or 1: it has 2",
  );
});

Deno.test("select() and set() refuse wrong indices and values", async () => {
  using x = zeros([2, 3], { device });
  using mask = x.equal(0);
  using line = ones([3], { device });
  await mask.ready();
  const refusals: readonly [unknown, Class, string][] = [
    [[line], TypeError, "index[0] must be bool: it is float32"],
    [[{}, mask], RangeError, "index must cover at most 2 axes: it covers 3"],
    [[0, 1, 2], RangeError, "index must cover at most 2 axes: it covers 3"],
    [
      [mask.transpose()],
      RangeError,
      "index[0] must have the shape of its axes, (2, 3): it has (3, 2)",
    ],
    [[mask.at(0, 0)], RangeError, "index[0] must have the shape of one axis or more: it has ()"],
    [
      [mask.at(0), mask.at(0)],
      TypeError,
      "index must have one mask at most: index[0] and index[1] are tensors",
    ],
    [
      [mask.slice([{}, 0]), 3],
      RangeError,
      "index[1] must be a range or a position in -3..2: it is 3",
    ],
    [[{ begin: 1 }], TypeError, "index[0] must be a position or a range with start, stop and step"],
    [mask, TypeError, "index must be an array of positions, ranges and a mask: it is a Tensor"],
  ];
  for (const [index, Class, message] of refusals) {
    assertThrows(() => x.set(index as never, 1), Class, `Cannot set elements as ${message}`);
    await assertRejects(
      () => x.select(index as never),
      Class,
      `Cannot select elements as ${message}`,
    );
  }
  await assertRejects(() => x.select([0]), TypeError, "index must have a mask: it has none");
  const values: readonly [unknown, Class, string][] = [
    ["1", TypeError, 'value must be a number or a tensor: it is "1"'],
    [
      ones([3], { device, dtype: "float64" }),
      TypeError,
      "type that promotes to float32: it is float64",
    ],
    [ones([2], { device }), RangeError, "broadcast to the selection, (2, 3): its shape is (2,)"],
    [ones([1, 2, 3], { device }), RangeError, "to the selection, (2, 3): its shape is (1, 2, 3)"],
  ];
  for (const [value, Class, message] of values) {
    assertThrows(() => x.set([], value as never), Class, message);
  }
  const rows = mask.slice([{}, 0]);
  assertThrows(
    () => x.set([rows], ones([2, 2], { device })),
    RangeError,
    "(n, 3) with n true elements of the mask: its shape is (2, 2)",
  );
  using integers = x.astype("int32");
  assertThrows(
    () => integers.set([mask], 0.5),
    TypeError,
    "Cannot set elements as a number must be an",
  );
  assertThrows(
    () => line.broadcastTo([2, 3]).set([], 1),
    RangeError,
    "Cannot set elements as the tensor must not repeat elements: it is broadcast",
  );
  assertThrows(() => fuse((it: Tensor) => (it.set([], 1), it))(x), TypeError, "fuse()");
  // @ts-expect-error A mask is no entry of slice().
  assertThrows(() => x.slice([mask]), TypeError, "select");
  // @ts-expect-error Nor are other objects.
  assertThrows(() => x.slice([{ begin: 1 }]), TypeError, "with begin");
  await x.add(1).toArray(); // all kernels are compiled
});
