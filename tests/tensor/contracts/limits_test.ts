// Both sides of the limits beyond which another path runs: parts of rows, tiles, chunks and blocks.
// Elements are small integers, whose sums are exact in every order, and the largest is marked.

import { assertEquals } from "@std/assert";
import {
  cumulativeSum,
  matmul,
  rotaryEmbedding,
  softmax,
  sort,
  type Tensor,
  zeros,
} from "../../../src/device/tensor.ts";
import { fromTypedArray } from "../../../src/device/tensor.ts";
import { device } from "../../support/device.ts";

const around = (...limits: readonly number[]) =>
  limits.flatMap((limit) => [limit - 1, limit, limit + 1]);

const small = (length: number, range = 7) =>
  Float32Array.from({ length }, (_, at) => (at * 31 + (at >> 5)) % range - 3);

const total = (values: Float32Array, begin = 0, end = values.length) => {
  let sum = 0;
  for (let at = begin; at < end; at++) sum += values[at]!;
  return sum;
};

const upload = (values: Float32Array, shape: readonly number[] = [values.length]) =>
  fromTypedArray(values, shape, { device });

/** `assertEquals()` for long arrays. */
function assertSame(actual: ArrayLike<number>, wanted: (at: number) => number, text: string): void {
  for (let at = 0; at < actual.length; at++) {
    if (actual[at] !== wanted(at)) {
      assertEquals(actual[at], wanted(at), `${text}: element ${at} of ${actual.length}`);
    }
  }
}

/**
 * Lengths of rows: accumulators, a warp, a part of threads and of the block form, twice that (beyond
 * which a row is split), and accumulators that are emptied.
 */
const LENGTHS = [1, 2, ...around(32, 1024, 8192, 16384, 131072, 262144)];

Deno.test("sum() of rows is exact around every length at which rows are divided", async () => {
  const longest = small(LENGTHS.at(-1)!);
  const all = upload(longest);
  for (const length of LENGTHS) {
    // From 256 rows on, rows are not split. The rows of this view are one.
    for (const rows of [1025, 131073, 262145].includes(length) ? [1, ...around(256)] : [1]) {
      using view = all.slice([{ stop: length }]).broadcastTo([rows, length]);
      using sums = view.sum({ axis: 1 });
      const wanted = total(longest, 0, length);
      assertSame(await sums.toArray(), () => wanted, `${rows} rows of ${length}`);
    }
  }
});

Deno.test("argmax() of rows finds the largest element on both sides of every limit", async () => {
  const values = small(LENGTHS.at(-1)!);
  const places = [0, ...around(32, 1024, 8192, 131072).filter((at) => at > 0), values.length - 1];
  const found: [Tensor<"int64">, number][] = [];
  for (const place of places) {
    const marked = Float32Array.from(values);
    marked[place] = 10;
    using x = upload(marked);
    found.push([x.argmax(), place]);
    if (place !== 131072) continue;
    using rows = x.broadcastTo([256, values.length]);
    using all = rows.argmax({ axis: 1 });
    found.push([all.at(255), place]);
  }
  for (const [result, place] of found) assertEquals(Number(await result.item()), place);
});

Deno.test("sum() of columns is exact around tiles, parts and the least number of columns", async () => {
  // Below 16 columns rows are reduced, and beyond 262144 steps of a tile columns are split.
  const cases = [
    ...around(16, 32, 256, 512).map((columns) => [3, columns]),
    ...around(512).map((columns) => [512, columns]),
    ...around(16384).map((rows) => [rows, 16]),
    ...around(512).map((rows) => [rows, 513]),
  ];
  for (const [rows, columns] of cases as [number, number][]) {
    const values = small(rows * columns);
    using x = upload(values, [rows, columns]);
    using sums = x.sum({ axis: 0 });
    const wanted = new Float32Array(columns);
    values.forEach((value, at) => wanted[at % columns]! += value);
    assertSame(await sums.toArray(), (at) => wanted[at]!, `${rows} x ${columns}`);
  }
  // 256 tiles are enough, so their columns are not split.
  for (const outer of around(256)) {
    const values = small(8193 * 32);
    using x = upload(values, [8193, 32]).broadcastTo([outer, 8193, 32]);
    using sums = x.sum({ axis: 1 });
    const wanted = new Float32Array(32);
    values.forEach((value, at) => wanted[at % 32]! += value);
    assertSame(await sums.toArray(), (at) => wanted[at % 32]!, `${outer} tiles`);
  }
});

Deno.test("softmax() adds up to 1 around the length and the columns at which it runs in steps", async () => {
  const cases = [
    ...around(32768).map((length) => [[1, length], 1] as const),
    ...around(16).map((columns) => [[5, columns], 0] as const),
  ];
  for (const [shape, axis] of cases) {
    const values = small(shape[0]! * shape[1]!);
    using y = softmax(upload(values, shape), { axis });
    const actual = await y.toArray();
    const [step, count] = axis === 1 ? [1, shape[1]!] : [shape[1]!, shape[0]!];
    const lanes = axis === 1 ? 1 : shape[1]!;
    for (let lane = 0; lane < lanes; lane++) {
      let sum = 0;
      for (let at = 0; at < count; at++) sum += Math.exp(values[lane + at * step]!);
      assertSame(
        Array.from({ length: count }, (_, at) => {
          const wanted = Math.exp(values[lane + at * step]!) / sum;
          return Math.abs(actual[lane + at * step]! - wanted) <= 1e-5 * wanted ? 0 : 1;
        }),
        () => 0,
        `(${shape}) along ${axis}`,
      );
    }
  }
});

Deno.test("cumulativeSum() and sort() are exact around runs, segments and parts", async () => {
  for (const length of around(16, 32, 4096, 8192, 16384)) {
    const values = small(length, 1009);
    using x = upload(values);
    using sorted = sort(x);
    const wanted = values.toSorted();
    assertSame(await sorted.toArray(), (at) => wanted[at]!, `${length} sorted elements`);
  }
  for (const rows of [1, ...around(256)]) {
    for (const length of rows === 1 ? around(4096, 8192) : [8193]) {
      const values = small(length);
      using x = upload(values).broadcastTo([rows, length]);
      using sums = cumulativeSum(x, { axis: 1 });
      const wanted = values.slice();
      for (let at = 1; at < length; at++) wanted[at]! += wanted[at - 1]!;
      assertSame(await sums.toArray(), (at) => wanted[at % length]!, `${rows} rows of ${length}`);
    }
  }
});

/** The product of integers, element by element. */
function product(a: ArrayLike<number>, b: ArrayLike<number>, n: number, k: number) {
  return (at: number) => {
    const [row, column] = [Math.floor(at / n), at % n];
    let sum = 0;
    for (let l = 0; l < k; l++) sum += a[row * k + l]! * b[l * n + column]!;
    return sum;
  };
}

Deno.test("matmul() is exact around tiles, parts of k and blocks of columns", async () => {
  const cases: [number, number, number][] = [
    ...around(336).map((m): [number, number, number] => [m, 2, 3]),
    ...around(256).map((n): [number, number, number] => [2, n, 3]),
    ...around(256).map((k): [number, number, number] => [2, 17, k]),
    ...around(14, 64).map((m): [number, number, number] => [m, m + 1, 5]),
    ...around(2048).map((n): [number, number, number] => [1, n, 40]),
    ...around(2048).map((m): [number, number, number] => [m, 1, 40]),
  ];
  for (const [m, n, k] of cases) {
    const [a, b] = [small(m * k), small(k * n, 5)];
    using result = matmul(upload(a, [m, k]), upload(b, [k, n]));
    assertSame(await result.toArray(), product(a, b, n, k), `${m} x ${n} x ${k}`);
  }
  const bytes: [number, number, number][] = [
    ...around(256, 512).map((k): [number, number, number] => [3, 5, k]),
    ...around(512).map((n): [number, number, number] => [2, n, 3]),
    ...around(336).map((m): [number, number, number] => [m, 2, 3]),
  ];
  for (const [m, n, k] of bytes) {
    const [a, b] = [small(m * k, 200), small(k * n, 130)].map((it) => Int8Array.from(it));
    const x = fromTypedArray(a!, [m, k], { device });
    const y = fromTypedArray(b!, [k, n], { device });
    using result = matmul(x, y, { dtype: "int32" });
    assertSame(await result.toArray(), product(a!, b!, n, k), `${m} x ${n} x ${k} of int8`);
  }
});

Deno.test("rotaryEmbedding() turns every pair around the pairs of a block", async () => {
  for (const length of around(2048, 4096)) {
    const values = Float32Array.from({ length: 2 * length }, (_, at) => 1 - at % 2);
    using result = rotaryEmbedding(upload(values, [length, 2]), { positions: 5 });
    const actual = await result.toArray();
    assertSame(
      actual.map((it, at) => {
        const angle = 5 + (at >> 1);
        return Math.abs(it - (at % 2 === 0 ? Math.cos(angle) : Math.sin(angle))) < 1e-6 ? 0 : 1;
      }),
      () => 0,
      `${length} pairs`,
    );
  }
});

Deno.test("A tensor of up to 1000 elements is printed with them", async () => {
  for (const [size, isShown] of [[999, true], [1000, true], [1001, false]] as const) {
    using x = zeros([size], { device });
    assertEquals(Deno.inspect(x).includes("0. 0."), isShown, String(size));
    assertEquals((await x.toText()).includes("..."), size > 1000, String(size));
  }
});
