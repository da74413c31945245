// Automatic streams: which operations share one, and results as on one stream.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { device } from "../support/device.ts";
import {
  argsort,
  attention,
  cumulativeSum,
  full,
  matmul,
  softmax,
  sort,
  subtract,
  type Tensor,
  tensor,
  uniform,
} from "../../src/device/tensor.ts";
import { automaticStreamsOf } from "../../src/stream/automatic_streams.ts";
import { storageOf } from "../../src/tensor/tensor.ts";

const streamOf = (it: Tensor) => storageOf(it).stream;

/** Runs with automatic streams. */
async function automatically(run: () => Promise<void>): Promise<void> {
  device.streams("automatic");
  try {
    await run();
  } finally {
    device.streams("single");
  }
}

Deno.test("device.streams() gives independent operations streams of their own, and dependent ones one", async () => {
  await automatically(async () => {
    using x = full([1000], 2, { device }) as Tensor;
    using y = full([1000], 3, { device }) as Tensor;
    using left = x.add(1) as Tensor;
    using right = y.add(1) as Tensor;
    using more = left.multiply(2) as Tensor;
    using other = left.multiply(3) as Tensor;
    assert(streamOf(left) !== streamOf(right));
    assertEquals(streamOf(more), streamOf(left));
    assert(streamOf(other) !== streamOf(more), "another operation has continued there");
    const streams = automaticStreamsOf(device.context)!;
    const random = uniform([8], { device, seed: 1 }) as Tensor;
    const made = [
      left,
      right,
      more,
      other,
      sort(left),
      random,
      cumulativeSum(right),
      argsort(more),
    ];
    assert(made.every((it) => streams.has(streamOf(it as Tensor))));
    using named = left.add(right) as Tensor;
    assertEquals(await named.at(0).item(), 7);
  });
  using after = full([2], 1, { device }) as Tensor;
  using more = after.add(1) as Tensor;
  assertEquals(streamOf(more).id, device.stream.id);
  await more.ready();
});

Deno.test("device.streams() changes no result of any operations", async () => {
  // Random programs with views, results in place and memory that is given up early.
  const program = async (seed: number) => {
    let state = seed;
    const random = (below: number) => {
      state = Math.imul(state, 1664525) + 1013904223 >>> 0;
      return Math.floor(state / 2 ** 32 * below);
    };
    const size = 64;
    const make = (value: number) =>
      tensor(Array.from({ length: size }, (_, at) => (at + value) % 7 / 4), { device })
        .reshape([8, 8]) as Tensor;
    const pool = [make(1), make(2), make(3)];
    for (let step = 0; step < 60; step++) {
      const [x, y] = [pool[random(pool.length)]!, pool[random(pool.length)]!];
      const made = [
        () => x.add(y),
        () => x.multiply(0.5),
        () => matmul(x as Tensor<"float32">, y as Tensor<"float32">).clip(-2, 2),
        () => softmax(x as Tensor<"float32">),
        () => x.permute([1, 0]).maximum(y),
        () => x.add(x.sum({ axis: 0 }).multiply(0.01)).clip(-4, 4),
        () => sort(x, { axis: 0 }),
        () => cumulativeSum(x as Tensor<"float32">, { axis: 1 }).clip(-2, 2),
      ][random(8)]!() as Tensor;
      const place = random(6);
      if (place >= pool.length) pool.push(made);
      else {
        pool[place]!.dispose();
        pool[place] = made;
      }
    }
    const results = await Promise.all(pool.map((it) => it.toArray()));
    for (const it of pool) it.dispose();
    return results;
  };
  for (const seed of [1, 2, 3]) {
    const expected = await program(seed);
    await automatically(async () => {
      for (let round = 0; round < 5; round++) assertEquals(await program(seed), expected);
    });
  }
});

Deno.test("x.buffer comes after operations on automatic streams, and later ones after kernels", async () => {
  const n = 1 << 18;
  using copy = device.allocate("float32", n);
  using out = full([n], 0, { device });
  await automatically(async () => {
    for (let round = 1; round <= 20; round++) {
      using x = full([n], round, { device }).multiply(2).add(1);
      await x.ready();
      device.kernels.scale(x.buffer, 1, copy);
      device.kernels.scale(x.buffer, 10, x.buffer);
      using y = x.add(0.5);
      const z = subtract(y, 0.5, { out });
      const expected = 2 * round + 1;
      assertEquals((await copy.toArray())[n - 1], expected);
      assertEquals(await z.at(n - 1).item(), 10 * expected);
    }
  });
});

Deno.test("device.streams() overlaps products and attention of one tensor", async () => {
  await automatically(async () => {
    using x = full([1, 1, 4, 4], 0.5, { device });
    using q = matmul(x, x) as Tensor;
    using k = matmul(x, x.permute([0, 1, 3, 2])) as Tensor;
    using y = attention(q as Tensor<"float32">, k as Tensor<"float32">, x) as Tensor;
    assert(streamOf(q) !== streamOf(k));
    assert([streamOf(q), streamOf(k), streamOf(x as Tensor)].includes(streamOf(y)));
    assertEquals(await y.toNested(), [[new Array(4).fill([0.5, 0.5, 0.5, 0.5])]]);
  });
});

Deno.test("device.streams() refuses other modes", () => {
  for (const mode of ["many", 4, undefined]) {
    assertThrows(() => device.streams(mode as "single"), TypeError, "mode must be single or auto");
  }
});
