// Einstein sums against a sum over all labels in JavaScript, in both forms of kernels, and norms
// against their definitions.

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { einsum, matrixNorm, norm, type Tensor, tensor, zeros } from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

/** The sum of products over all positions of all letters; ellipses are given as capital letters. */
function reference(terms: string[], result: string, grids: readonly Grid[]): Grid {
  const extents = new Map<string, number>();
  terms.forEach((term, k) =>
    [...term].forEach((letter, axis) =>
      extents.set(letter, Math.max(extents.get(letter) ?? 0, grids[k]!.shape[axis]!))
    )
  );
  const inner = [...extents.keys()].filter((letter) => !result.includes(letter));
  const positions = Grid.of(inner.map((letter) => extents.get(letter)!), () => 0);
  return Grid.of([...result].map((letter) => extents.get(letter)!), (outer) => {
    let total = 0;
    Grid.of(positions.shape, (summed) => {
      const at = (letter: string) =>
        result.includes(letter) ? outer[result.indexOf(letter)]! : summed[inner.indexOf(letter)]!;
      return total += grids.reduce((product, grid, k) => {
        const place = [...terms[k]!].map((it, axis) => grid.shape[axis] === 1 ? 0 : at(it));
        return product * grid.at(place);
      }, 1);
    });
    return total;
  });
}

/** Subscripts, the same without ellipses and with a result, and shapes. */
const CASES: readonly (readonly [string, string, ...(readonly number[])[]])[] = [
  ["ij,jk->ik", "ij,jk->ik", [3, 17], [17, 5]],
  ["ij,jk", "ij,jk->ik", [3, 17], [17, 5]],
  ["ba", "ba->ab", [3, 4]],
  ["ij->", "ij->", [5, 7]],
  ["i j , i k -> k j", "ij,ik->kj", [6, 3], [6, 4]],
  ["ii", "ii->", [5, 5]],
  ["ii->i", "ii->i", [5, 5]],
  ["iji->ji", "iji->ji", [3, 4, 3]],
  ["iij,jjk->ik", "iij,jjk->ik", [3, 3, 4], [4, 4, 2]],
  ["i,j->ij", "i,j->ij", [3], [4]],
  ["i,i", "i,i->", [300], [300]],
  ["bij,bjk->bik", "bij,bjk->bik", [3, 4, 5], [3, 5, 2]],
  ["bhqd,bhkd->bhqk", "bhqd,bhkd->bhqk", [2, 3, 4, 5], [2, 3, 6, 5]],
  ["bqhd,bkhd->bhqk", "bqhd,bkhd->bhqk", [2, 4, 3, 5], [2, 6, 3, 5]],
  ["ij,ij,ij->i", "ij,ij,ij->i", [3, 4], [3, 4], [3, 4]],
  ["ij,jk,kl,l->i", "ij,jk,kl,l->i", [3, 4], [4, 5], [5, 6], [6]],
  ["ab,cd,abe->ec", "ab,cd,abe->ec", [2, 3], [4, 5], [2, 3, 6]],
  ["...ij->...ji", "XYij->XYji", [2, 3, 4, 5]],
  ["...ij,...jk->...ik", "XYij,Yjk->XYik", [2, 3, 4, 5], [3, 5, 2]],
  ["i...,i...", "iX,iX->X", [4, 3], [4, 3]],
  ["...i,...i->...", "XYi,XYi->XY", [2, 1, 5], [1, 3, 5]],
  ["b...,a", "bX,a->Xab", [2, 3], [4]],
  // An extent of 1 broadcasts.
  ["ij,jk->ik", "ij,jk->ik", [3, 1], [4, 5]],
  ["ij,ij->ij", "ij,ij->ij", [3, 1], [1, 4]],
  [",ij->ji", ",ij->ji", [], [2, 3]],
  ["ij,jk->ik", "ij,jk->ik", [3, 0], [0, 2]],
  ["ij,jk->ik", "ij,jk->ik", [0, 3], [3, 2]],
];

for (const [form, on] of forms) {
  Deno.test(`einsum() sums products over letters (${form})`, async () => {
    const cases = on === device ? CASES : CASES.filter((_, at) => at % 4 === 0);
    await Promise.all(cases.map(([subscripts, plain, ...shapes]) => {
      const grids = shapes.map((shape, k) => Grid.mixed(shape, 5 + k).map((it) => it - 2));
      const [terms, result] = plain.split("->");
      const tensors = grids.map((grid) => grid.tensor("float32", on));
      const sums = einsum(subscripts, tensors);
      return expect(sums, reference(terms!.split(","), result!, grids), subscripts);
    }));
  });
}

Deno.test("einsum() takes views, and has the common element type", async () => {
  const [x, y] = [Grid.mixed([4, 6]), Grid.mixed([6, 3], 5)];
  const sums = reference(["ij", "jk"], "ki", [x, y]);
  for (const view of x.views("float32", device)) {
    using right = y.tensor("int8", device);
    using result = einsum("ij,jk->ki", [view, right]);
    assertEquals(result.dtype, "float32");
    await expect(result, sums);
  }
  using small = tensor([100, 100], { dtype: "int8", device });
  // As NumPy's, the sum has the type of the operands, and wraps.
  using total = einsum("i->", [small]);
  assertEquals([total.dtype, await total.item()], ["int8", 200 - 256]);
  using product = einsum("i,i->", [small, small]);
  assertEquals([product.dtype, await product.item()], ["int8", 20_000 % 256]);
});

Deno.test("einsum() multiplies first what makes small products", async () => {
  // Left to right, there would be a matrix of 4 TiB.
  using column = zeros([2 ** 20, 1], { device });
  using row = zeros([1, 2 ** 20], { device });
  using vector = zeros([2 ** 20], { device });
  using result = einsum("ij,jk,k->i", [column, row, vector]);
  assertEquals(result.shape, [2 ** 20]);
  await result.ready();
});

Deno.test("einsum() names the subscripts that do not fit", () => {
  using x = zeros([2, 3], { device });
  using flags = zeros([2], { device, dtype: "bool" });
  for (
    const [subscripts, operands, message] of [
      ["ij,jk", [x], "a term for each operand"],
      ["ijk", [x], '"ijk" is for one with 2'],
      ["i", [x], '"i" is for one with 2'],
      ["ij->ik", [x], 'the result has "k"'],
      ["ij->ii", [x], 'the result has "i"'],
      ["i1", [x], 'there is "1"'],
      ["i..j", [x], 'there is "."'],
      ["...i...", [x], "one ellipsis"],
      ["ij->i->j", [x], 'one "->"'],
      ["...->", [x], "the ellipsis of operands in the result"],
      ["ii", [x], '"i" has 2 and 3'],
      ["ij,jk", [x, x], '"j" has 3 and 2'],
      ["...,...i->...i", [x, x], 'axis -1 of "..." has 3 and 2'],
    ] as const
  ) {
    const error = assertThrows(
      () => einsum(subscripts, operands as readonly Tensor[]),
      RangeError,
      message,
    );
    assert(error.message.includes(`"${subscripts}"`.slice(0, 4)), error.message);
  }
  assertThrows(() => einsum("i", [flags]), TypeError, "operands[0] is bool");
  assertThrows(() => einsum("", []), TypeError, "operands must be an array of at least one");
  assertThrows(() => einsum(5 as never, [x]), TypeError, "subscripts must be text: it is 5");
});

/** The norm by its definition, in double precision. */
function normOf(values: readonly number[], order: number): number {
  const magnitudes = values.map(Math.abs);
  if (order === Infinity) return Math.max(...magnitudes);
  if (order === -Infinity) return Math.min(...magnitudes);
  if (order === 0) return magnitudes.filter((it) => it !== 0).length;
  return magnitudes.reduce((sum, it) => sum + it ** order, 0) ** (1 / order);
}

async function close(actual: Tensor, expected: Grid, message: string): Promise<void> {
  const { shape, values } = await read(actual);
  assertEquals([...shape], [...expected.shape], message);
  values.forEach((it, at) => {
    const value = expected.values[at]!;
    if (!Number.isFinite(value)) assertEquals(it, value, message);
    else assertAlmostEquals(it, value, 3e-6 * Math.abs(value), message);
  });
}

for (const [form, on] of forms) {
  Deno.test(`norm() is that of its definition for all orders (${form})`, async () => {
    const grid = Grid.mixed([3, 37, 5], 50).map((it) => it - 24);
    using x = grid.tensor("float32", on);
    using view = x.permute([2, 0, 1]);
    const along = (keep: number[], order: number) =>
      Grid.of(keep.map((axis) => grid.shape[axis]!), (at) =>
        normOf(
          grid.values.filter((_, flat) => {
            const place = [Math.floor(flat / 185), Math.floor(flat / 5) % 37, flat % 5];
            return keep.every((axis, k) => place[axis] === at[k]);
          }),
          order,
        ));
    for (const ord of [1, 2, Infinity, -Infinity, 0, 3, 0.5, -2]) {
      await close(norm(x, { ord, axis: 1 }), along([0, 2], ord), `${ord}`);
      if (on !== device) continue;
      await close(norm(view, { ord, axis: [0, -1] }), along([0], ord), `${ord}, view`);
      await close(norm(x, { ord }), along([], ord), `${ord}, all`);
    }
    await close(norm(x, { ord: "fro", axis: [0, 1] }), along([2], 2), "fro");
    using kept = norm(x, { ord: 3, axis: -2, keepDims: true });
    assertEquals(kept.shape, [3, 1, 5]);
  });
}

Deno.test("norm() of float32 near its limits is finite, of 16-bit floats too", async () => {
  for (const scale of [1e20, 1e-20, 1e37]) {
    using x = tensor([3 * scale, -4 * scale], { device });
    for (
      const [ord, value] of [[2, 5], [3, 91 ** (1 / 3)], [-3, (27 * 64 / 91) ** (1 / 3)]] as const
    ) {
      await close(norm(x, { ord }), new Grid([], [value * scale]), `${ord} at ${scale}`);
    }
  }
  using narrow = tensor([300, 400], { device, dtype: "float16" });
  using five = norm(narrow);
  assertEquals([five.dtype, await five.item()], ["float16", 500]);
});

Deno.test("norm() has the special values of NumPy", async () => {
  // numpy.linalg.norm(x, ord) of NumPy 2.
  for (
    const [values, ord, expected] of [
      [[1, NaN], 2, NaN],
      [[1, NaN], 3, NaN],
      [[1, NaN], Infinity, NaN],
      [[1, -Infinity], 2, Infinity],
      [[1, -Infinity], 3, Infinity],
      [[0, 0], 3, 0],
      [[0, 2], -2, 0],
      [[Infinity, 2], -2, 2],
      [[Infinity, Infinity], -1, Infinity],
      [[], 2, 0],
      [[], 3, 0],
    ] as const
  ) {
    using x = new Grid([values.length], values).tensor("float32", device);
    await close(norm(x, { ord }), new Grid([], [expected]), `${ord} of ${values}`);
  }
  using integers = tensor([3, 4], { device, dtype: "int8" });
  using length = norm(integers);
  assertEquals([length.dtype, await length.item()], ["float64", 5]);
  assertThrows(() => norm(integers, { ord: "fro" }), RangeError, "there are 1");
  assertThrows(() => norm(integers, { ord: "nuc" as never }), TypeError, '"nuc"');
  assertThrows(() => norm(integers, { axis: 1 }), RangeError, "axis");
});

for (const [form, on] of forms) {
  Deno.test(`matrixNorm() is the largest or smallest sum of columns or rows, as in NumPy (${form})`, async () => {
    const sign = (k: number) => k % 2 === 0 ? 1 : -1;
    const grid = Grid.of([2, 3, 4], ([i, j, k]) => (i! * 12 + j! * 4 + k!) * sign(k!));
    using x = grid.tensor("float32", on);
    // numpy.linalg.norm(x, ord, axis=(-2, -1)) of NumPy 2.
    const norms = [
      ["fro", [Math.sqrt(506), Math.sqrt(3818)]],
      [1, [21, 57]],
      [-1, [12, 48]],
      [Infinity, [38, 86]],
      [-Infinity, [6, 54]],
    ] as const;
    for (const [ord, expected] of norms) {
      await close(matrixNorm(x, { ord }), new Grid([2], expected), `${ord}`);
      await close(matrixNorm(x, { ord, keepDims: true }), new Grid([2, 1, 1], expected), `${ord}`);
    }
    using view = x.permute([0, 2, 1]);
    await close(matrixNorm(view, { ord: 1 }), new Grid([2], [38, 86]), "view");
    using one = matrixNorm(tensor([[1, 2]], { device: on, dtype: "int32" }), { ord: 1 });
    assertEquals([one.dtype, await one.item()], ["float64", 2]);
  });
}

Deno.test("matrixNorm() refuses orders of singular values, vectors and nothing to choose", () => {
  using x = zeros([2, 3], { device });
  for (const ord of [2, -2, "nuc"]) {
    assertThrows(() => matrixNorm(x, { ord: ord as 1 }), RangeError, "It needs singular values");
  }
  assertThrows(() => matrixNorm(x, { ord: 3 as 1 }), RangeError, "it is 3");
  using line = zeros([3], { device });
  assertThrows(() => matrixNorm(line), RangeError, "at least 2 dimensions: it has 1");
  using nothing = zeros([2, 0], { device });
  assertThrows(() => matrixNorm(nothing, { ord: 1 }), RangeError, "must have columns");
});
