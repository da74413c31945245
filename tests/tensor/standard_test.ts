// Functions of the array API standard that arrange, contract, make tensors like others, or tell of
// element types. NumPy 2 gave the expected values.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  asarray,
  broadcastArrays,
  broadcastTo,
  canCast,
  diff,
  empty,
  emptyLike,
  expandDims,
  finfo,
  fullLike,
  iinfo,
  isdtype,
  matrixTranspose,
  meshgrid,
  moveaxis,
  onesLike,
  outer,
  permuteDims,
  reshape,
  resultType,
  squeeze,
  type Tensor,
  tensor,
  tensordot,
  tile,
  unstack,
  vecdot,
  zeros,
  zerosLike,
} from "../../src/device/tensor.ts";
import { DTYPES } from "../../mod.ts";
import { storageOf } from "../../src/tensor/tensor.ts";
import { device } from "../support/device.ts";
import { expect, forms, Grid } from "../support/tensor_forms.ts";

Deno.test("Views in other shapes and orders share memory", () => {
  using x = zeros([24], { device });
  using cube = reshape(x, [2, 3, -1]);
  assertEquals(cube.shape, [2, 3, 4]);
  using turned = permuteDims(cube, [2, 0, 1]);
  using moved = moveaxis(cube, -1, 0);
  assertEquals([turned.shape, moved.shape], [[4, 2, 3], [4, 2, 3]]);
  assertEquals(turned.strides, moved.strides);
  using both = moveaxis(cube, [0, 1], [-1, -2]);
  assertEquals(both.shape, [4, 3, 2]);
  using transposed = matrixTranspose(cube);
  assertEquals(transposed.shape, [2, 4, 3]);
  using wide = expandDims(cube, { axis: -1 });
  using first = expandDims(cube);
  assertEquals([wide.shape, first.shape], [[2, 3, 4, 1], [1, 2, 3, 4]]);
  using narrow = squeeze(wide, { axis: 3 });
  assertEquals(narrow.shape, cube.shape);
  using repeated = broadcastTo(cube, [5, 2, 3, 4]);
  assertEquals(repeated.strides, [0, 12, 4, 1]);
  assertThrows(() => moveaxis(cube, [0, 1], 0), RangeError, "a place for each of 2 axes");
  assertThrows(() => moveaxis(cube, 3, 0), RangeError, "axis");
});

Deno.test("broadcastArrays() and meshgrid() give one view for each tensor", async () => {
  using x = tensor([[1], [2]], { device });
  using y = tensor([10, 20, 30], { device });
  for (const view of broadcastArrays([x, y])) {
    assertEquals(view.shape, [2, 3]);
    view.dispose();
  }
  assertEquals(broadcastArrays([]), []);
  using rows = tensor([5, 6], { device });
  const read = async (indexing: "xy" | "ij") =>
    await Promise.all(
      meshgrid([y, rows], { indexing }).map(async (grid) => {
        using own = grid;
        return await own.toNested();
      }),
    );
  assertEquals(await read("xy"), [[[10, 20, 30], [10, 20, 30]], [[5, 5, 5], [6, 6, 6]]]);
  assertEquals(await read("ij"), [[[10, 10], [20, 20], [30, 30]], [[5, 6], [5, 6], [5, 6]]]);
  assertThrows(() => meshgrid([x]), RangeError, "axes[0] has 2");
  assertThrows(() => meshgrid([y], { indexing: "yx" as never }), TypeError, '"yx"');
});

Deno.test("unstack() takes an axis apart", async () => {
  using x = tensor([[1, 2, 3], [4, 5, 6]], { device });
  const columns = await Promise.all(
    unstack(x, { axis: -1 }).map(async (view) => {
      using own = view;
      return await own.toNested();
    }),
  );
  assertEquals(columns, [[1, 4], [2, 5], [3, 6]]);
  using none = zeros([0, 3], { device });
  assertEquals(unstack(none), []);
});

for (const [form, place] of forms) {
  Deno.test(`tile() repeats tensors of all ranks (${form})`, async () => {
    for (
      const [shape, repetitions, target] of [
        [[3], [2], [6]],
        [[2, 3], [2], [2, 6]],
        [[2, 3], [3, 1, 2], [3, 2, 6]],
        [[2, 1, 3], [1, 4, 1], [2, 4, 3]],
        [[2, 3], [0, 2], [0, 6]],
        [[], [3], [3]],
      ] as const
    ) {
      const grid = Grid.mixed(shape);
      using x = grid.tensor("float32", place);
      const before = target.length - shape.length;
      const at = (position: readonly number[]) =>
        grid.at(position.slice(before).map((it, axis) => it % shape[axis]!));
      await expect(tile(x, repetitions), Grid.of(target, at), `${shape} ${repetitions}`);
    }
  });

  Deno.test(`tensordot(), outer() and vecdot() sum over axes (${form})`, async () => {
    const [x, y] = [Grid.mixed([2, 3, 4]), Grid.mixed([4, 3, 5], 5)];
    using left = x.tensor("float32", place);
    using right = y.tensor("float32", place);
    const dot = Grid.of([2, 5], ([row, column]) => {
      let sum = 0;
      for (let j = 0; j < 3; j++) {
        for (let k = 0; k < 4; k++) sum += x.at([row!, j, k]) * y.at([k, j, column!]);
      }
      return sum;
    });
    await expect(tensordot(left, right, { axes: [[1, 2], [1, 0]] }), dot);
    using turned = right.permute([1, 0, 2]);
    await expect(tensordot(left, turned), dot, "two axes");
    using all = tensordot(left, left, { axes: 3 });
    assertEquals(await all.item(), x.values.reduce((sum, it) => sum + it * it, 0));
    const sums = Grid.of(
      [2, 4],
      ([i, k]) => [0, 1, 2].reduce((sum, j) => sum + x.at([i!, j, k!]) * x.at([0, j, k!]), 0),
    );
    using one = left.slice([{ stop: 1 }]);
    await expect(vecdot(left, one, { axis: -2 }), sums, "vecdot");
    using a = tensor([1, 2, 3], { dtype: "int32", device: place });
    using b = tensor([4, 5], { dtype: "int64", device: place });
    using products = outer(a, b);
    assertEquals(await products.toNested(), [[4n, 5n], [8n, 10n], [12n, 15n]]);
  });
}

Deno.test("diff() subtracts neighbours", async () => {
  using x = tensor([[1, 4, 9], [2, 2, 8]], { dtype: "int32", device });
  const read = async (options: Parameters<typeof diff>[1]) => {
    using result = diff(x, options);
    return await result.toNested();
  };
  assertEquals(await read({}), [[3, 5], [0, 6]]);
  assertEquals(await read({ n: 2 }), [[2], [6]]);
  assertEquals(await read({ n: 4 }), [[], []]);
  assertEquals(await read({ axis: 0 }), [[1, -2, -1]]);
  assertEquals(await read({ n: 0 }), [[1, 4, 9], [2, 2, 8]]);
  using zero = zeros([2, 1], { dtype: "int32", device });
  assertEquals(await read({ prepend: zero, append: zero }), [[1, 3, 5, -9], [2, 0, 6, -8]]);
  assertThrows(() => diff(x, { n: -1 }), RangeError, "options.n");
  assertThrows(() => diff(x, { prepend: x, axis: 2 }), RangeError, "axis");
});

Deno.test("Contractions name operands that do not fit", () => {
  using x = zeros([2, 3], { device });
  using y = zeros([4, 3], { device });
  assertThrows(() => tensordot(x, y, { axes: 1 }), RangeError, "axis 1 of x and axis 0 of y");
  assertThrows(() => tensordot(x, y, { axes: 3 }), RangeError, "options.axes");
  assertThrows(() => tensordot(x, y, { axes: [[0], [0, 1]] }), RangeError, "1 and 2");
  assertThrows(() => tensordot(x, y, { axes: "1" as never }), TypeError, '"1"');
  assertThrows(() => outer(x, y), RangeError, "x must have 1 dimension: it has 2");
  assertThrows(() => vecdot(x, y, { axis: -2 }), RangeError, "extents of axis -2");
  assertThrows(() => vecdot(x, y, { axis: 1 }), RangeError, "options.axis");
});

Deno.test("Tensors like others have their shape, element type and device", async () => {
  using x = tensor([[1, 2, 3]], { dtype: "int16", device });
  using none = emptyLike(x);
  using zero = zerosLike(x);
  using one = onesLike(x, { dtype: "float64" });
  using seven = fullLike(x, 7);
  assertEquals([none, zero, one, seven].map(({ dtype }) => dtype), [
    "int16",
    "int16",
    "float64",
    "int16",
  ]);
  assert([none, zero, one, seven].every(({ shape }) => shape.join() === "1,3"));
  assertEquals(await zero.toNested(), [[0, 0, 0]]);
  assertEquals(await one.toNested(), [[1, 1, 1]]);
  assertEquals(await seven.toNested(), [[7, 7, 7]]);
  using scratch = empty([2, 0], { device, dtype: "bool" });
  assertEquals([scratch.dtype, scratch.size], ["bool", 0]);
  assertThrows(() => fullLike(x, 2 ** 15), RangeError);
});

Deno.test("asarray() takes arrays and tensors, and converts them", async () => {
  using nested = asarray([[1, 2]], { device, dtype: "int32" });
  assertEquals([nested.dtype, await nested.toNested()], ["int32", [[1, 2]]]);
  using typed = asarray(Float64Array.of(1.5, -2), { device, dtype: "float32" });
  assertEquals([typed.dtype, await typed.toNested()], ["float32", [1.5, -2]]);
  using view = asarray(typed);
  using copy = asarray(typed, { copy: true });
  using wide = asarray(typed, { dtype: "float64" });
  assertEquals(storageOf(view), storageOf(typed as Tensor));
  assert(storageOf(copy) !== storageOf(typed as Tensor), "the copy has memory of its own");
  assertEquals(await copy.toNested(), [1.5, -2]);
  assertEquals([wide.dtype, await wide.toNested()], ["float64", [1.5, -2]]);
});

Deno.test("finfo() and iinfo() have the limits of NumPy and ml_dtypes", () => {
  const float32 = finfo("float32");
  assertEquals([float32.bits, float32.eps, float32.max, float32.smallestNormal], [
    ...[32, 1.1920928955078125e-7, 3.4028234663852886e38, 1.1754943508222875e-38],
  ]);
  assertEquals([finfo("float64").eps, finfo("float64").smallestNormal], [
    Number.EPSILON,
    2.2250738585072014e-308,
  ]);
  assertEquals([finfo("float16").max, finfo("float16").eps], [65504, 0.0009765625]);
  assertEquals([finfo("bfloat16").max, finfo("bfloat16").eps], [3.3895313892515355e38, 0.0078125]);
  assertEquals([finfo("float8_e4m3").max, finfo("float8_e4m3").eps], [448, 0.125]);
  assertEquals([finfo("float8_e5m2").max, finfo("float8_e5m2").smallestNormal], [
    57344,
    6.103515625e-5,
  ]);
  using x = zeros([1], { dtype: "uint8", device });
  assertEquals(iinfo(x), { dtype: "uint8", bits: 8, max: 255, min: 0 });
  assertEquals(iinfo("int64").min, -(2n ** 63n));
  assertThrows(() => finfo("int8"), TypeError, "iinfo()");
  assertThrows(() => iinfo("bool"), TypeError, "it is bool");
});

Deno.test("isdtype(), canCast() and resultType() follow the standard", () => {
  for (const dtype of DTYPES) {
    const kinds = (["bool", "integral", "real floating"] as const).filter((kind) =>
      isdtype(dtype, kind)
    );
    assertEquals(kinds.length, 1, dtype);
    assertEquals(isdtype(dtype, "numeric"), dtype !== "bool");
    assertEquals(isdtype(dtype, "complex floating"), false);
    assert(isdtype(dtype, dtype) && canCast(dtype, dtype), dtype);
  }
  assert(isdtype("int8", ["unsigned integer", "signed integer"]) && !isdtype("int8", ["uint8"]));
  assertEquals([canCast("int8", "int32"), canCast("int32", "int8")], [true, false]);
  assertEquals([canCast("bool", "float32"), canCast("float32", "int64")], [true, false]);
  assertEquals(canCast("float8_e4m3", "float32"), false);
  assertEquals([resultType("int8", "uint8"), resultType("int32", "float32")], ["int16", "float64"]);
  assertThrows(() => resultType(), TypeError, "it is empty");
  assertThrows(() => resultType("float8_e4m3", "float32"), TypeError, "float8_e4m3, float32");
  assertThrows(() => isdtype("int8", "real" as never), TypeError, '"real"');
});
