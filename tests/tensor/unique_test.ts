// The set functions against JavaScript, in both forms of kernels. NumPy 2 agrees: `np.unique_all()`
// takes each NaN as a value, `np.unique()` all of them as one.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  isFinite,
  isfinite,
  logAddExp,
  logaddexp,
  take,
  type Tensor,
  tensor,
  unique,
  uniqueAll,
  uniqueCounts,
  uniqueInverse,
  uniqueValues,
  var as variance,
  zeros,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

/** The results of `uniqueAll()`, found one by one. */
function reference(values: readonly number[]) {
  const groups: { value: number; first: number; count: number }[] = [];
  const group = values.map((value, first) => {
    const known = groups.find((it) => it.value === value);
    if (known !== undefined) known.count++;
    else groups.push({ value, first, count: 1 });
    return known ?? groups.at(-1)!;
  });
  const compare = (a: number, b: number) =>
    Number(Number.isNaN(a)) - Number(Number.isNaN(b)) || (a < b ? -1 : a > b ? 1 : 0);
  const order = groups.toSorted((a, b) => compare(a.value, b.value));
  const list = (values: number[]) => new Grid([values.length], values);
  return {
    values: list(order.map(({ value }) => value)),
    indices: list(order.map(({ first }) => first)),
    counts: list(order.map(({ count }) => count)),
    inverse: group.map((it) => order.indexOf(it)),
  };
}

for (const [form, on] of forms) {
  Deno.test(`uniqueAll() finds values, first positions, inverse and counts (${form})`, async () => {
    // Runs of the sort have 16 elements, segments 4096; one value, few, and many.
    for (
      const [shape, range] of [[[1, 1], 2], [[4, 4], 1], [[3, 11], 9], [[65, 67], 200]] as const
    ) {
      const grid = Grid.mixed(shape, range).map((it) =>
        it === 3 ? NaN : it === 5 ? Infinity : it === 7 ? -0 : it === 8 ? 0 : 4 - it
      );
      const { values, indices, counts, inverse } = reference(grid.values);
      const views = [...grid.views("float32", on)].slice(0, on === device ? 2 : 1);
      for (const x of views) {
        const all = await uniqueAll(x);
        await expect(take(all.values, all.inverseIndices), grid, "inverse");
        await expect(all.inverseIndices, new Grid(shape, inverse), "inverse");
        await expect(all.values, values, "values");
        await expect(all.indices, indices, "indices");
        await expect(all.counts, counts, "counts");
      }
    }
  });

  Deno.test(`uniqueCounts(), uniqueInverse() and uniqueValues() are parts of it (${form})`, async () => {
    using x = tensor([[2, NaN, 1], [2, 2, NaN]], { device: on });
    const counted = await uniqueCounts(x);
    await expect(counted.values, new Grid([4], [1, 2, NaN, NaN]));
    await expect(counted.counts, new Grid([4], [1, 3, 1, 1]));
    const inverted = await uniqueInverse(x);
    await expect(inverted.values, new Grid([4], [1, 2, NaN, NaN]));
    await expect(inverted.inverseIndices, new Grid([2, 3], [1, 2, 0, 1, 1, 3]));
    await expect(uniqueValues(x), new Grid([4], [1, 2, NaN, NaN]));
    await expect(unique(x), new Grid([3], [1, 2, NaN]));
  });
}

Deno.test("uniqueAll() takes no elements, one without dimensions, and large integers", async () => {
  using none = zeros([2, 0], { device });
  const empty = await uniqueAll(none);
  await expect(empty.inverseIndices, new Grid([2, 0], []));
  for (const name of ["values", "indices", "counts"] as const) {
    await expect(empty[name] as Tensor, new Grid([0], []), name);
  }
  using scalar = tensor(7, { device });
  const one = await uniqueAll(scalar);
  await expect(one.inverseIndices, new Grid([], [0]));
  assertEquals((await read(one.counts)).values, [1]);
  using large = tensor([2n ** 62n + 1n, 2n ** 62n, 2n ** 62n + 1n], { device });
  using values = await uniqueValues(large);
  assertEquals(await values.toNested(), [2n ** 62n, 2n ** 62n + 1n]);
  using narrow = zeros([3], { device, dtype: "float8_e4m3" });
  await assertRejects(
    () => uniqueAll(narrow),
    TypeError,
    "Cannot call uniqueAll() as x must be numbers",
  );
});

Deno.test("Functions with a name of the standard have their old one for a release", async () => {
  assertEquals([isFinite, logAddExp], [isfinite, logaddexp]);
  using x = tensor([1, 3], { device });
  assertEquals(await variance(x).item(), 1);
  using flags = zeros([1], { device, dtype: "bool" });
  assertThrows(() => isfinite(flags), TypeError, "Cannot call isfinite() as");
});
