// Sorting, searching and running sums against JavaScript, in both forms of kernels.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  argsort,
  cumulativeProd,
  cumulativeSum,
  nonzero,
  searchsorted,
  sort,
  takeAlongAxis,
  tensor,
  topk,
  unique,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

/** Sizes around the lengths of runs, segments and parts. */
const SIZES = [0, 1, 2, 15, 16, 17, 31, 33, 257, 4097, 8193, 16_411, 40_009];
// One of each kind; `gridstride validate` has all types.
const SORTED_TYPES = ["float64", "float32", "bfloat16", "int8", "uint64", "bool"] as const;

const order = (x: number, y: number) =>
  Number.isNaN(x) || Number.isNaN(y) ? Number(Number.isNaN(x)) - Number(Number.isNaN(y)) : x - y;
const descending = (x: number, y: number) =>
  Number.isNaN(x) || Number.isNaN(y) ? order(x, y) : y - x;

/** The lines of a grid along an axis, replaced by a function of them. */
function alongAxis(grid: Grid, axis: number, f: (line: number[]) => number[]): Grid {
  const extent = grid.shape[axis]!;
  const lineAt = (p: number[]) =>
    f(Array.from({ length: extent }, (_, index) => grid.at(p.with(axis, index))));
  const length = lineAt(grid.shape.map(() => 0)).length;
  return Grid.of(grid.shape.with(axis, length), (p) => lineAt(p)[p[axis]!]!);
}

/** Stable positions of a sorted line. */
const placesOf = (line: readonly number[], compare = order) =>
  [...line.keys()].sort((a, b) => compare(line[a]!, line[b]!) || a - b);

/** Numbers with repetitions, infinities and NaN. */
const special = (shape: number[], range: number) =>
  Grid.mixed(shape, range).map((it) =>
    it === 3 ? NaN : it === 4 ? Infinity : it === 5 ? -Infinity : it - 6
  );

const running = (line: readonly number[]) => {
  let sum = 0;
  return line.map((it) => sum += it);
};

/** Products that wrap as `int64`. */
const runningProduct = (line: readonly bigint[]) => {
  let product = 1n;
  return line.map((it) => product = BigInt.asIntN(64, product * it));
};

for (const [form, on] of forms) {
  Deno.test(`sort() and argsort() are stable at every size, NaN last (${form})`, async () => {
    const checks = SIZES.flatMap((size, k) => {
      const grid = special([size], k % 2 === 0 ? 20 : 100_000);
      using x = grid.tensor("float32", on);
      return [order, descending].flatMap((compare) => {
        const options = { descending: compare === descending };
        const places = placesOf(grid.values, compare);
        return [
          expect(argsort(x, options), new Grid([size], places), `argsort ${size}`),
          expect(
            sort(x, options),
            new Grid([size], places.map((at) => grid.values[at]!)),
            `${size}`,
          ),
        ];
      });
    });
    await Promise.all(checks);
  });

  Deno.test(`sort(), argsort() and topk() work along every axis of views (${form})`, async () => {
    const grid = special([6, 35, 3], 40);
    // All views, and in the other form one along the innermost axis and one along another.
    const views = [...grid.views("float32", on)];
    const cases = on === device
      ? views.flatMap((x) => [0, 1, -1].map((axis) => [x, axis] as const))
      : [[views[0]!, 1], [views[1]!, -1]] as const;
    await Promise.all(
      cases.flatMap(([x, axis]) => {
        const at = (axis + 3) % 3;
        const largest = alongAxis(grid, at, (line) => line.toSorted(descending).slice(0, 2));
        const { values, indices } = topk(x, 2, { axis });
        const chosen = takeAlongAxis(x, indices, { axis });
        return [
          expect(sort(x, { axis }), alongAxis(grid, at, (line) => line.toSorted(order))),
          expect(argsort(x, { axis }), alongAxis(grid, at, placesOf)),
          expect(values, largest),
          expect(chosen, largest),
        ];
      }),
    );
  });

  Deno.test(`cumulativeSum() adds up every size (${form})`, async () => {
    const checks = [...SIZES, 300_007].map((size) => {
      const grid = Grid.mixed([size], 100);
      using x = grid.tensor("int32", on);
      const sums = cumulativeSum(x);
      assertEquals(sums.dtype, "int64");
      return expect(sums, new Grid([size], running(grid.values)), `${size}`);
    });
    await Promise.all(checks);
  });

  Deno.test(`cumulativeSum() adds up along every axis, with an initial 0 (${form})`, async () => {
    const grid = Grid.mixed([5, 4, 70]);
    const checks = [...grid.views("float32", on)].slice(0, on === device ? 4 : 1).flatMap((x) =>
      [0, 1, 2].flatMap((axis) => [
        expect(cumulativeSum(x, { axis }), alongAxis(grid, axis, running)),
        expect(
          cumulativeSum(x, { axis, includeInitial: true }),
          alongAxis(grid, axis, (line) => [0, ...running(line)]),
        ),
      ])
    );
    const many = Grid.mixed([400, 9]);
    using x = many.tensor("float32", on);
    checks.push(expect(cumulativeSum(x, { axis: -1 }), alongAxis(many, 1, running)));
    await Promise.all(checks);
  });

  Deno.test(`cumulativeProd() multiplies every size, and along every axis (${form})`, async () => {
    const checks = SIZES.map((size) => {
      const line = Grid.mixed([size], 5).map((it) => it - 2 || -1);
      using x = line.tensor("int32", on);
      const products = cumulativeProd(x);
      assertEquals(products.dtype, "int64");
      const exact = runningProduct(line.values.map(BigInt));
      return products.toArray().then((values) => {
        products.dispose();
        const wrong = exact.findIndex((it, at) => it !== values[at]);
        assert(wrong < 0, `${size}: element ${wrong} is ${values[wrong]}, not ${exact[wrong]}`);
      });
    });
    const grid = Grid.mixed([5, 4, 7], 3).map((it) => it - 2 || 0.5);
    for (const [axis, x] of [...grid.views("float32", on)].slice(0, 3).entries()) {
      checks.push(expect(
        cumulativeProd(x, { axis, includeInitial: true }),
        alongAxis(grid, axis, (line) => {
          let product = 1;
          return [1, ...line.map((it) => product *= it)];
        }),
        `axis ${axis}`,
      ));
    }
    await Promise.all(checks);
  });

  Deno.test(`cumulativeSum() and cumulativeProd() convert to a type first (${form})`, async () => {
    using x = tensor([100.9, 100.9, 2, 3], { device: on });
    // As np.cumsum() and np.cumprod() of x.astype(np.int16).
    await expect(cumulativeSum(x, { dtype: "int16" }), new Grid([4], [100, 200, 202, 205]));
    await expect(cumulativeProd(x, { dtype: "int16" }), new Grid([4], [100, 10000, 20000, -5536]));
  });

  Deno.test(`sort() and cumulativeSum() take the element types (${form})`, async () => {
    const types = form === "block" ? SORTED_TYPES : (["float16"] as const);
    const checks = types.flatMap((dtype) => {
      const isSigned = /^(int|float|bfloat)/.test(dtype);
      const grid = Grid.mixed([67], dtype === "bool" ? 2 : 9).map((it) => isSigned ? it - 4 : it);
      using x = grid.tensor(dtype, on);
      return [
        expect(sort(x), new Grid([67], grid.values.toSorted(order)), dtype),
        expect(cumulativeSum(x), new Grid([67], running(grid.values)), dtype),
      ];
    });
    await Promise.all(checks);
  });

  Deno.test(`unique() and nonzero() find elements of views (${form})`, async () => {
    const grid = special([37, 30], 50);
    const distinct = [...new Set(grid.values)].sort(order);
    const sparse = Grid.mixed([37, 30], 4).map((it) => it === 1 ? NaN : it === 2 ? -0 : it % 3);
    const places = Grid.of([37, 30], ([r, c]) => r! * 30 + c!).values
      .filter((at) => sparse.values[at] !== 0);
    const views = (own: Grid) => [...own.views("float32", on)].slice(0, on === device ? 4 : 2);
    const checks = views(grid).map((x) => expect(unique(x), new Grid([distinct.length], distinct)));
    for (const x of views(sparse)) {
      const [rows, columns] = await nonzero(x);
      const count = [places.length];
      checks.push(expect(rows!, new Grid(count, places.map((at) => Math.floor(at / 30)))));
      checks.push(expect(columns!, new Grid(count, places.map((at) => at % 30))));
    }
    await Promise.all(checks);
  });

  Deno.test(`searchsorted() finds the first and the last position (${form})`, async () => {
    const line = [...special([301], 90).values].sort(order);
    const wanted = special([17, 9], 200);
    using x1 = new Grid([301], line).tensor("float32", on);
    const views = [...wanted.views("float64", on)].slice(0, on === device ? 2 : 1);
    const checks = views.flatMap((x2) => [
      expect(
        searchsorted(x1, x2),
        wanted.map((it) => line.filter((own) => order(own, it) < 0).length),
      ),
      expect(
        searchsorted(x1, x2, { side: "right" }),
        wanted.map((it) => line.filter((own) => !(order(own, it) > 0)).length),
      ),
    ]);
    await Promise.all(checks);
  });
}

Deno.test("sort() keeps 64-bit integers exact, and -0 and 0 in their order", async () => {
  const values = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n - 2n, 0n];
  using x = tensor(values, { device });
  assertEquals(await sort(x).toNested(), [-(2n ** 63n), 0n, 2n ** 63n - 2n, 2n ** 63n - 1n]);
  using zeros = tensor([0, -0, 0, -0], { device });
  const signs = Array.from(await sort(zeros).toArray(), (it) => Object.is(it, -0));
  assertEquals(signs, [false, true, false, true]);
});

Deno.test("Sorting functions take tensors without elements, and with one", async () => {
  using none = new Grid([0, 3], []).tensor("float32", device);
  await expect(sort(none, { axis: 0 }), new Grid([0, 3], []));
  await expect(cumulativeSum(none, { axis: 0, includeInitial: true }), new Grid([1, 3], [0, 0, 0]));
  await expect(unique(none), new Grid([0], []));
  const [rows, columns] = await nonzero(none);
  await expect(rows!, new Grid([0], []));
  await expect(columns!, new Grid([0], []));
  using one = tensor([5], { device });
  await expect(topk(one, 1).indices, new Grid([1], [0]));
  await expect(topk(one, 0).values, new Grid([0], []));
  await expect(unique(one), new Grid([1], [5]));
  await expect(searchsorted(none.reshape([0]), one), new Grid([1], [0]));
  await expect(searchsorted(one, none), new Grid([0, 3], []));
});

Deno.test("cumulativeSum() of positive floats never falls, and is near the exact sums", async () => {
  const grid = Grid.mixed([100_003], 1000).map((it) => Math.fround(it / 7));
  using x = grid.tensor("float32", device);
  const { values } = await read(cumulativeSum(x));
  running(grid.values).forEach((exact, at) => {
    assert(at === 0 || values[at]! >= values[at - 1]!);
    assert(Math.abs(values[at]! - exact) <= 1e-5 * exact, `${at}: ${values[at]}, not ${exact}`);
  });
});

Deno.test("Sorting functions refuse bad arguments", async () => {
  using x = tensor([[1, 2, 3], [4, 5, 6]], { device });
  using narrow = tensor([1], { device, dtype: "float8_e5m2" });
  const cases: [() => unknown, string][] = [
    [() => sort(narrow), "x must be numbers, not 8-bit floats: it is float8_e5m2"],
    [() => sort(x, { axis: 2 }), "axis must be in -2..1: it is 2"],
    [() => argsort(x, { descending: 1 as never }), "options.descending must be true or false"],
    [() => topk(x, 4), "k must be an integer in 0..3: it is 4"],
    [() => searchsorted(x, x), "x1 must have 1 dimension: its shape is (2, 3)"],
    [() => searchsorted(x.flatten(), x, { side: "up" as never }), "must be left or right"],
    [() => cumulativeSum(x), "options.axis must be given unless x has 1 dimension: it has 2"],
    [() => cumulativeSum(narrow), "8-bit floats"],
    [() => cumulativeProd(x.flatten(), { dtype: "bool" }), "must be a type of numbers"],
  ];
  for (const [run, message] of cases) assertThrows(run, Error, message);
  await assertRejects(() => unique(narrow), TypeError, "8-bit floats");
  await assertRejects(() => nonzero(tensor(1, { device })), RangeError, "must have dimensions");
});
