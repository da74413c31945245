// Joining, splitting, repeating and padding against loops in JavaScript, in both forms of kernels.

import { assertEquals, assertThrows } from "@std/assert";
import {
  concat,
  cumulativeSum,
  eye,
  flip,
  fuse,
  multiply,
  pad,
  repeat,
  roll,
  split,
  stack,
  take,
  tensor,
  tril,
  triu,
  zeros,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

/** Views, of one element type as each has kernels of its own; the other form has the first two. */
const viewsOf = (grid: Grid, on: typeof device) =>
  [...grid.views("float32", on)].slice(0, on === device ? 4 : 2);

const modulo = (x: number, n: number) => ((x % n) + n) % n;

for (const [form, on] of forms) {
  Deno.test(`concat() and stack() join views along every axis (${form})`, async () => {
    const grid = Grid.mixed([3, 5, 2]);
    const other = Grid.mixed([3, 5, 2], 5);
    const checks = viewsOf(grid, on).flatMap((x, k) =>
      [0, 1, -1].flatMap((axis) => {
        const at = modulo(axis, 3);
        const y = viewsOf(other, on).at(-1 - k)!;
        const joined = grid.shape.with(at, 2 * grid.shape[at]!);
        const pick = (p: number[]) =>
          p[at]! < grid.shape[at]! ? grid.at(p) : other.at(p.with(at, p[at]! - grid.shape[at]!));
        const inserted = grid.shape.toSpliced(at, 0, 2);
        return [
          expect(concat([x, y], { axis }), Grid.of(joined, pick)),
          expect(
            concat([x, y], { axis: null }),
            new Grid([2 * grid.values.length], [...grid.values, ...other.values]),
          ),
          expect(
            stack([x, y], { axis: at }),
            Grid.of(inserted, (p) => (p[at] === 0 ? grid : other).at(p.toSpliced(at, 1))),
          ),
        ];
      })
    );
    await Promise.all(checks);
  });

  Deno.test(`roll() moves elements along one axis, several, or all (${form})`, async () => {
    const grid = Grid.mixed([4, 7]);
    const flat = (p: number[]) => p[0]! * 7 + p[1]!;
    const checks = viewsOf(grid, on).flatMap((x) => [
      ...[0, 3, -9, 28].map((shift) =>
        expect(roll(x, shift), Grid.of([4, 7], (p) => grid.values[modulo(flat(p) - shift, 28)]!))
      ),
      expect(
        roll(x, 10, { axis: 1 }),
        Grid.of([4, 7], ([r, c]) => grid.at([r!, modulo(c! - 10, 7)])),
      ),
      expect(
        roll(x, [1, -2], { axis: [0, -1] }),
        Grid.of([4, 7], ([r, c]) => grid.at([modulo(r! - 1, 4), modulo(c! + 2, 7)])),
      ),
    ]);
    await Promise.all(checks);
  });

  Deno.test(`repeat() repeats elements by one number or one for each (${form})`, async () => {
    const grid = Grid.mixed([3, 4]);
    const checks = viewsOf(grid, on).flatMap((x) => [
      expect(
        repeat(x, 3, { axis: 0 }),
        Grid.of([9, 4], ([r, c]) => grid.at([Math.floor(r! / 3), c!])),
      ),
      expect(repeat(x, 2), Grid.of([24], ([i]) => grid.values[Math.floor(i! / 2)]!)),
      expect(repeat(x, 0, { axis: 1 }), new Grid([3, 0], [])),
      expect(
        repeat(x, [0, 2, 0, 1], { axis: -1 }),
        Grid.of([3, 3], ([r, c]) => grid.at([r!, [1, 1, 3][c!]!])),
      ),
    ]);
    await Promise.all(checks);
  });

  Deno.test(`pad() surrounds elements with a value (${form})`, async () => {
    const grid = Grid.mixed([3, 4]);
    const checks = viewsOf(grid, on).flatMap((x) => [
      expect(
        pad(x, [[1, 0], [2, 3]], { value: -1 }),
        Grid.of([4, 9], ([r, c]) => r! < 1 || c! < 2 || c! > 5 ? -1 : grid.at([r! - 1, c! - 2])),
      ),
      expect(
        pad(x, [0, 2]),
        Grid.of([5, 6], ([r, c]) => r! > 2 || c! > 3 ? 0 : grid.at([r!, c!])),
      ),
    ]);
    await Promise.all(checks);
    await expect(pad(tensor(5, { device: on }), 3), new Grid([], [5]));
  });

  Deno.test(`tril(), triu() and eye() follow a diagonal of batches (${form})`, async () => {
    const grid = Grid.mixed([2, 5, 4]).map((x) => x + 1);
    const views = viewsOf(grid, on);
    const checks = [-6, -1, 0, 2, 9].flatMap((k, index) => {
      const x = views[index % views.length]!;
      const below = (p: number[]) => p.at(-1)! - p.at(-2)! <= k;
      const above = (p: number[]) => p.at(-1)! - p.at(-2)! >= k;
      const on_ = (p: number[]) => p[1]! - p[0]! === k;
      return [
        expect(tril(x, { k }), Grid.of([2, 5, 4], (p) => below(p) ? grid.at(p) : 0)),
        expect(triu(x, { k }), Grid.of([2, 5, 4], (p) => above(p) ? grid.at(p) : 0)),
        expect(eye(5, 4, { k, device: on }), Grid.of([5, 4], (p) => on_(p) ? 1 : 0)),
      ];
    });
    await Promise.all(checks);
    await expect(eye(3, 3, { dtype: "bool", device: on }), Grid.of([3, 3], ([r, c]) => +(r === c)));
    await expect(eye(0, 4, { device: on }), new Grid([0, 4], []));
  });
}

Deno.test("Functions that move elements take every element type", async () => {
  const grid = Grid.mixed([3, 2], 2);
  // One of each kind; `gridstride validate` has all types.
  const types = ["float64", "bfloat16", "float8_e4m3", "int16", "bool"] as const;
  const checks = types.flatMap((dtype) => {
    const x = grid.tensor(dtype, device);
    return [
      expect(concat([x, x]), new Grid([6, 2], [...grid.values, ...grid.values]), dtype),
      expect(roll(x, 1), new Grid([3, 2], [grid.values[5]!, ...grid.values.slice(0, 5)]), dtype),
    ];
  });
  await Promise.all(checks);
});

Deno.test("concat() gives the common element type, and refuses types without one", async () => {
  using x = tensor([1, -2], { dtype: "int8", device });
  using y = tensor([3, 255], { dtype: "uint8", device });
  using both = concat([x, y]);
  assertEquals(both.dtype, "int16");
  assertEquals(await both.toNested(), [1, -2, 3, 255]);
  using narrow = tensor([1], { dtype: "float8_e4m3", device });
  assertThrows(() => concat([x, narrow] as never), TypeError, "must have a common one");
});

Deno.test("concat(), split() and roll() take axes without elements", async () => {
  using x = new Grid([0, 3], []).tensor("float32", device);
  using y = Grid.mixed([2, 3]).tensor("float32", device);
  await expect(concat([x, y, x]), Grid.mixed([2, 3]));
  await expect(roll(x, 2, { axis: 0 }), new Grid([0, 3], []));
  assertEquals(split(x, 2).map(({ shape }) => [...shape]), [[0, 3], [0, 3]]);
});

Deno.test("Functions that join and pad take empty tensors of all shapes, and empty views", async () => {
  const place = { device };
  for (const shape of [[0], [2, 0, 2], [3, 16, 0], [0, 0], [0, 3, 4], [1, 0], [4, 0, 1, 3]]) {
    using dense = zeros(shape, place);
    using one = zeros(shape.map(() => 1), place);
    using wide = one.broadcastTo(shape);
    using flipped = dense.flip();
    for (const x of [dense, wide, flipped]) {
      for (const axis of shape.keys()) {
        const results = {
          concat: [concat([x, x, dense], { axis }), shape.with(axis, 3 * shape[axis]!)],
          stack: [stack([x, dense], { axis }), shape.toSpliced(axis, 0, 2)],
          roll: [roll(x, 1, { axis }), shape],
          repeat: [repeat(x, 2, { axis }), shape.with(axis, 2 * shape[axis]!)],
          take: [take(x, zeros([0], { ...place, dtype: "int64" }), { axis }), shape.with(axis, 0)],
        } as const;
        for (const [name, [result, expected]] of Object.entries(results)) {
          assertEquals([...result.shape], expected, `${name} ${shape} ${axis}`);
          assertEquals((await result.toArray()).length, 0, `${name} ${shape} ${axis}`);
          result.dispose();
        }
      }
      await expect(pad(x, 1, { value: 7 }), Grid.of(shape.map((extent) => extent + 2), () => 7));
      using flat = concat([x, x], { axis: null });
      using rolled = roll(x, 3);
      assertEquals([[...flat.shape], [...rolled.shape]], [[0], shape]);
    }
  }
});

Deno.test("split() and flip() give views", async () => {
  const grid = Grid.mixed([2, 6]);
  using x = grid.tensor("int32", device);
  const halves = split(x, 2, { axis: 1 });
  await expect(halves[1]!.astype("int32"), Grid.of([2, 3], ([r, c]) => grid.at([r!, c! + 3])));
  const parts = split(x, [1, 1, 4], { axis: -1 });
  assertEquals(parts.map(({ shape }) => shape[1]!), [1, 0, 3, 2]);
  multiply(parts[2]!, 0, { out: parts[2]! });
  const changed = Grid.of([2, 6], (p) => p[1]! > 0 && p[1]! < 4 ? 0 : grid.at(p));
  assertEquals((await read(x.astype("int32"))).values, changed.values);
  await expect(flip(x, { axis: 0 }), Grid.of([2, 6], ([r, c]) => changed.at([1 - r!, c!])));
});

Deno.test("Functions that join, split and pad refuse bad arguments", () => {
  using x = tensor([[1, 2, 3], [4, 5, 6]], { device });
  using y = tensor([1, 2, 3], { device });
  using at = tensor([0], { device, dtype: "int32" });
  const none = { axis: null } as never;
  const refused = (run: () => unknown) => [run, "axis must be an integer: it is null"] as never;
  const cases: [() => unknown, string][] = [
    [() => concat([]), "tensors must be an array of at least one tensor"],
    [() => concat([x, y]), "shapes must be equal but for axis 0: they are (2, 3) and (3,)"],
    [() => concat([x, x], { axis: 2 }), "axis must be in -2..1: it is 2"],
    [() => concat([x, 1 as never]), "tensors[1] must be"],
    ...[() => stack([x, x], none), () => repeat(x, 2, none)].map(refused),
    ...[() => take(x, at, none), () => cumulativeSum(x, none)].map(refused),
    [() => stack([x, x.transpose()]), "shapes must be equal: they are (2, 3) and (3, 2)"],
    [() => split(x, 2, { axis: 1 }), "sections must divide the extent 3: it is 2"],
    [() => split(x, [2, 1], { axis: 1 }), "sections[1] must be an integer in 2..3: it is 1"],
    [() => split(zeros([0], { device }), 2 ** 40), "sections must be an integer in 1..16777216"],
    [() => roll(x, [1, 2], { axis: 0 }), "shift must be an integer, or one for each axis"],
    [() => repeat(x, [1, 2, 3], { axis: 0 }), "a number for each of 2 positions: it has 3"],
    [() => repeat(x, -1), "repeats must be an integer"],
    [() => pad(x, [[1, 1]]), "a pair for each of 2 axes"],
    [() => pad(x, -1), "widths must be an integer"],
    [() => tril(y), "x must have at least 2 dimensions: it has 1"],
    [() => triu(x, { k: 0.5 }), "options.k must be an integer"],
    [() => eye(-1), "integers of at least 0"],
    [() => fuse((z: typeof x) => concat([z, z]))(x), "inside of fuse()"],
    [() => repeat(x, [2 ** 40, 0], { axis: 0 }), "repeats[0] must be an integer in 0..1073741824"],
    [() => x.reshape([4, 2]), "shape must have 6 elements: it is (4, 2)"],
  ];
  for (const [run, message] of cases) assertThrows(run, Error, message);
});
