// Special values of elementwise operations and reductions against NumPy and tables.

import { assert, assertEquals } from "@std/assert";
import * as tensors from "../../src/device/tensor.ts";
import { fromTypedArray, type Tensor, tensor } from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { python } from "../support/python.ts";
import { forms, Grid } from "../support/tensor_forms.ts";

const { fround } = Math;

type Binary = (x: Tensor, y: Tensor) => Tensor;

/** The results for all pairs of numbers. */
async function pairs(
  operation: Binary,
  xs: readonly number[],
  ys: readonly number[],
  dtype: "float32" | "float64" | "float16" | "int32",
): Promise<number[][]> {
  using x = tensor(xs.map((it) => [it]), { dtype, device });
  using y = tensor([ys], { dtype, device });
  using result = operation(x as Tensor, y as Tensor);
  return await result.toNested() as number[][];
}

/** The algorithm of npy_divmod() in NumPy's npy_math, rounded by `f` after each operation. */
function divmod(x: number, y: number, f: (x: number) => number): readonly [number, number] {
  let rest = x % y;
  if (y === 0) return [f(x / y), rest];
  let quotient = f(f(x - rest) / y);
  if (rest === 0) rest = y < 0 || Object.is(y, -0) ? -0 : 0;
  else if ((y < 0) !== (rest < 0)) [rest, quotient] = [f(rest + y), f(quotient - 1)];
  if (quotient === 0) return [Math.sign(f(x / y)) < 0 || Object.is(f(x / y), -0) ? -0 : 0, rest];
  const floored = Math.floor(quotient);
  return [quotient - floored > 0.5 ? floored + 1 : floored, rest];
}

const SPECIAL = [
  ...[0, 0.1, 0.3, 0.5, 1, 1.1, 2, 3, 4.4, 7, 1e-30, 1e-45, 16777217, 1e20, 3.4e38, Infinity],
  ...[2097151.5, 2097152.5, 6.5, 9.75, 100, 1 / 3],
].flatMap((it) => [it, -it]).concat(NaN);

Deno.test("floorDivide() and remainder() of floats have the bits of NumPy's algorithm", async () => {
  for (const dtype of ["float64", "float32"] as const) {
    const f = dtype === "float32" ? fround : (x: number) => x;
    const values = SPECIAL.map(f);
    const quotients = await pairs(tensors.floorDivide as Binary, values, values, dtype);
    const rests = await pairs(tensors.remainder as Binary, values, values, dtype);
    values.forEach((x, i) =>
      values.forEach((y, j) => {
        const wanted = divmod(x, y, f);
        const actual = [quotients[i]![j]!, rests[i]![j]!];
        assertEquals(actual, [...wanted], `${x} by ${y} of ${dtype}`);
        assert(actual.every((it, k) => Object.is(it, wanted[k])), `signs of ${x} by ${y}`);
      })
    );
  }
});

Deno.test("floorDivide(), remainder() and logaddexp() equal NumPy's for random and special floats", async () => {
  const seeded = Grid.mixed([300], 65536).values.map((it, i) =>
    fround((it - 32768) * 2 ** (i % 40 - 30))
  );
  const values = [...SPECIAL, ...seeded];
  const program = `
import json, sys
import numpy as np
np.seterr(all="ignore")
values = [float(it) for it in json.loads(sys.argv[1])]
show = lambda x: [repr(float(it)) for it in x.ravel()]
result = {}
for name in ("float32", "float64", "float16"):
    x = np.array(values, dtype=name)
    a, b = x[:, None], x[None, ::7]
    result[name] = [show(np.floor_divide(a, b)), show(np.remainder(a, b))]
x = np.array([0, 1, -1, np.inf, -np.inf, np.nan, 88, -1e30])
result["logaddexp"] = show(np.logaddexp(x[:, None], x[None, :]))
print(json.dumps(result))`;
  const output = await python(
    "numpy",
    program,
    JSON.stringify(values.map((it) => Object.is(it, -0) ? "-0" : String(it))),
  );
  if (output === undefined) return;
  const wanted = JSON.parse(output) as Record<string, string[][]> & { logaddexp: string[] };
  const toNumber = (text: string) => Number(text.replace("inf", "Infinity"));
  const columns = values.filter((_, i) => i % 7 === 0);
  for (const dtype of ["float32", "float64", "float16"] as const) {
    for (const [k, operation] of [tensors.floorDivide, tensors.remainder].entries()) {
      const actual = (await pairs(operation as Binary, values, columns, dtype)).flat();
      const different = actual.findIndex((it, at) =>
        !Object.is(it, toNumber(wanted[dtype]![k]![at]!))
      );
      const at = `${values[Math.floor(different / columns.length)]}, ${
        columns[different % columns.length]
      }`;
      const what = `${k === 0 ? "floorDivide" : "remainder"}(${at}) of ${dtype}`;
      assertEquals(
        different,
        -1,
        `${what} is ${actual[different]}, not ${wanted[dtype]![k]![different]}`,
      );
    }
  }
  const some = [0, 1, -1, Infinity, -Infinity, NaN, 88, -1e30];
  const sums = (await pairs(tensors.logaddexp as Binary, some, some, "float64")).flat();
  wanted.logaddexp.map(toNumber).forEach((value, at) => {
    const isNear = Object.is(sums[at], value) || Math.abs(sums[at]! - value) < 1e-14;
    assert(isNear, `logaddexp ${some[at >> 3]}, ${some[at & 7]} is ${sums[at]}, not ${value}`);
  });
});

Deno.test("pow() of integers and logaddexp() of infinities have their special values", async () => {
  const pow = await pairs(tensors.pow as Binary, [-1, 0, 1, 2, -2], [-3, -2, -1, 0, 1, 3], "int32");
  assertEquals(pow, [
    [-1, 1, -1, 1, -1, -1],
    [0, 0, 0, 1, 0, 0],
    [1, 1, 1, 1, 1, 1],
    [0, 0, 0, 1, 2, 8],
    [0, 0, 0, 1, -2, -8],
  ]);
  const ends = [Infinity, -Infinity, NaN];
  assertEquals(await pairs(tensors.logaddexp as Binary, ends, ends, "float64"), [
    [Infinity, Infinity, NaN],
    [Infinity, -Infinity, NaN],
    [NaN, NaN, NaN],
  ]);
});

/** Elements that are 0 but at some places. */
const marked = (count: number, places: readonly number[], value = NaN) =>
  Float64Array.from({ length: count }, (_, i) => places.includes(i) ? value : 0);

for (const [form, on] of forms) {
  Deno.test(`max(), min(), argmax() and argmin() find NaN anywhere (${form})`, async () => {
    // The threads form shares the merges, so two of its kernels are enough.
    const names = form === "block" || on === device
      ? ["max", "min", "argmax", "argmin"] as const
      : ["max", "argmin"] as const;
    const reduce = (name: typeof names[number], x: Tensor, axis: number) =>
      (tensors[name] as (x: Tensor, options: object) => Tensor)(x, { axis });
    const expectNaN = (name: string, actual: number | bigint, first: number, what: string) => {
      const wanted = name.startsWith("arg") ? BigInt(first) : NaN;
      assertEquals(actual, wanted, `${name} of NaN at ${what}`);
    };
    const width = 70;
    const places = [[0], [35], [69], [1, 32], [33, 34], [0, 69], [31, 63]];
    const values = places.flatMap((own) => [...marked(width, own)]);
    using rows = fromTypedArray(Float64Array.from(values), [places.length, width], { device: on });
    // 20 columns, so that these are reduced side by side.
    const tall = Grid.of([width, 20], ([i, j]) => values[j! % places.length * width + i!]!);
    using columns = tall.tensor("float64", on);
    for (const name of names) {
      const [inRows, inColumns] = await Promise.all(
        [[rows, 1], [columns, 0]].map(([x, axis]) =>
          reduce(name, x as Tensor, axis as number).toNested()
        ),
      ) as (number | bigint)[][];
      places.forEach((own, k) => {
        expectNaN(name, inRows![k]!, own[0]!, `${own} in rows`);
        expectNaN(name, inColumns![k]!, own[0]!, `${own} in columns`);
      });
    }
    const long = form === "block" ? 262_151 : 16_411;
    for (const own of [[0], [long >> 1], [long - 1], [5, long - 2], [long - 2, long - 1]]) {
      using x = fromTypedArray(marked(long, own), [1, long], { device: on });
      for (const name of names) {
        const [actual] = await reduce(name, x as Tensor, 1).toNested() as (number | bigint)[];
        expectNaN(name, actual!, own[0]!, `${own} in parts`);
      }
    }
  });

  Deno.test(`scatterAdd() adds up 16-bit floats beyond their precision (${form})`, async () => {
    // float16 stops counting by ones at 2048.
    using x = tensors.zeros([3], { dtype: "float16", device: on });
    using places = tensors.full([4096], 1, { dtype: "int32", device: on });
    using ones = tensors.ones([4096], { dtype: "float16", device: on });
    assertEquals(await tensors.scatterAdd(x, places, ones).toNested(), [0, 4096, 0]);
  });
}

Deno.test("astype() saturates exactly at the limits of integers", async () => {
  const limits = { int8: 7, uint8: 8, int16: 15, int32: 31, uint32: 32, int64: 63 } as const;
  for (const [dtype, bits] of Object.entries(limits) as ["int8" | "int64", number][]) {
    const [highest, isSigned] = [2n ** BigInt(bits) - 1n, dtype.startsWith("i")];
    const lowest = isSigned ? -(2n ** BigInt(bits)) : 0n;
    const limit = 2 ** bits;
    const below = limit - limit * 2 ** -53;
    using x = tensor([limit, below, -limit, -limit * 2, limit + 1, -1], {
      dtype: "float64",
      device,
    });
    const wanted = [
      highest,
      BigInt(Math.trunc(below)),
      lowest,
      lowest,
      highest,
      isSigned ? -1n : 0n,
    ];
    const actual = await x.astype(dtype).toNested() as (number | bigint)[];
    assertEquals(actual.map(BigInt), wanted, dtype);
  }
});
