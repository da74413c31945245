import { assert, assertEquals, assertThrows } from "@std/assert";
import type { DeviceBuffer } from "../../mod.ts";
import { device } from "../support/device.ts";

const { kernels } = device;

function ramp(length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, (_, i) => i % 251);
}

Deno.test("elementwise operations work in place", async () => {
  const values = ramp(10_007);
  using x = device.upload(values);
  kernels.add(x, x, x);
  kernels.multiply(x, x, x);
  kernels.scale(x, 0.5, x, { offset: 1 });
  assertEquals(await x.toArray(), values.map((value) => 0.5 * (2 * value) ** 2 + 1));
});

Deno.test("operations work on views that are not aligned for vector loads", async () => {
  const values = ramp(5000);
  using x = device.upload(values);
  using y = device.allocate("float32", 5000, { fill: 7 });
  using total = device.allocate("float64", 1);
  for (const [from, to] of [[1, 4999], [3, 4], [2, 2], [5, 1029]] as const) {
    kernels.fill(y, 7);
    kernels.axpy(2, x.view(from, to), y.view(from, to));
    const expected = new Float32Array(5000).fill(7);
    for (let i = from; i < to; i++) expected[i] = 2 * values[i]! + 7;
    assertEquals(await y.toArray(), expected);
    kernels.sum(x.view(from, to), total);
    assertEquals((await total.toArray())[0], values.subarray(from, to).reduce((a, b) => a + b, 0));
  }
});

Deno.test("min() and max() return NaN when an element is NaN", async () => {
  for (const at of [0, 777, 9999]) {
    const values = ramp(10_000);
    values[at] = NaN;
    using x = device.upload(values);
    using out = device.allocate("float32", 2);
    kernels.min(x, out.view(0, 1));
    kernels.max(x, out.view(1, 2));
    assertEquals([...await out.toArray()], [NaN, NaN]);
  }
});

Deno.test("sum() of nothing is 0, mean() NaN, and min() throws", async () => {
  using x = device.allocate("float32", 0);
  using sum = device.allocate("float64", 1);
  using mean = device.allocate("float64", 1);
  using min = device.allocate("float32", 1);
  kernels.sum(x, sum);
  kernels.mean(x, mean);
  assertEquals([(await sum.toArray())[0], (await mean.toArray())[0]], [0, NaN]);
  assertThrows(() => kernels.min(x, min), RangeError, "x must have an element: it is empty");
});

Deno.test("moments() keeps its digits when the mean is large", async () => {
  const values = Float32Array.from({ length: 100_000 }, (_, i) => 1e4 + (i % 2 === 0 ? 1 : -1));
  using x = device.upload(values);
  using out = device.allocate("float64", 2);
  kernels.moments(x, out, { correction: 0 });
  const [mean, variance] = await out.toArray();
  assert(Math.abs(mean! - 1e4) < 1e-6, `the mean is ${mean}`);
  assert(Math.abs(variance! - 1) < 1e-4, `the variance is ${variance}`);
});

Deno.test("moments() subtracts the correction from n", async () => {
  using x = device.upload(Float64Array.of(1, 2, 4));
  using out = device.allocate("float64", 2);
  const variances: number[] = [];
  for (const correction of [0, 1, 2, 3]) {
    kernels.moments(x, out, { correction });
    variances.push((await out.toArray())[1]!);
  }
  const squares = 14 / 3;
  assertEquals(variances.map((v) => v.toFixed(12)), [
    (squares / 3).toFixed(12),
    (squares / 2).toFixed(12),
    squares.toFixed(12),
    "NaN",
  ]);
});

Deno.test("histogram() counts edges by its formula and ignores elements outside", async () => {
  using x = device.upload(Float32Array.of(-1, -0.001, 0, 0.5, 1, 1.5, 2, 2.001, NaN, Infinity));
  using counts = device.allocate("uint32", 4);
  kernels.histogram(x, counts, { low: 0, high: 2 });
  assertEquals([...await counts.toArray()], [1, 1, 1, 2]);
});

Deno.test("sum() gives the same bits twice", async () => {
  const values = Float32Array.from({ length: 300_001 }, (_, i) => Math.sin(i) * 1e3);
  using x = device.upload(values);
  using out = device.allocate("float64", 2);
  kernels.sum(x, out.view(0, 1));
  kernels.sum(x, out.view(1, 2));
  const [first, second] = await out.toArray();
  assertEquals(first, second);
});

Deno.test("reductions on two streams at once do not share scratch memory", async () => {
  const length = 400_000;
  using ones = device.allocate("float32", length, { fill: 1 });
  using twos = device.allocate("float32", length, { fill: 2 });
  await device.stream.done();
  using first = device.createStream();
  using second = device.createStream();
  using out = device.allocate("float64", 40);
  for (let i = 0; i < 20; i++) {
    kernels.sum(ones, out.view(2 * i, 2 * i + 1), { stream: first });
    kernels.sum(twos, out.view(2 * i + 1, 2 * i + 2), { stream: second });
  }
  await Promise.all([first.done(), second.done()]);
  const expected = Array.from({ length: 40 }, (_, i) => i % 2 === 0 ? length : 2 * length);
  assertEquals([...await out.toArray()], expected);
});

Deno.test({
  name: "kernels handle more than 2^31 bytes and elements",
  // A native test program fills 2^32 bytes of the host device.
  ignore: device.info.kind === "host" || device.memoryInfo().usable < 3 * 2 ** 30,
  async fn() {
    const length = 2 ** 31 + 13;
    using x: DeviceBuffer<"uint8"> = device.allocate("uint8", length, { fill: 1 });
    kernels.fill(x.view(length - 3), 5);
    assertEquals([...await x.view(length - 5).toArray()], [1, 1, 5, 5, 5]);
    using total = device.allocate("int64", 1);
    kernels.sum(x, total);
    assertEquals((await total.toArray())[0], BigInt(length) + 12n);
  },
});

Deno.test("histogram() refuses counts that overlap its input", () => {
  using memory = device.upload(Uint32Array.of(1, 2, 3, 4));
  const options = { low: 0, high: 4 };
  for (const counts of [memory, memory.view(3, 4)]) {
    assertThrows(
      () => device.kernels.histogram(memory, counts, options),
      RangeError,
      "counts must not overlap x",
    );
  }
  assertEquals([...memory.toArraySync()], [1, 2, 3, 4]);
  device.kernels.histogram(memory.view(0, 2), memory.view(2, 4), options);
  assertEquals([...memory.toArraySync()], [1, 2, 1, 1]);
});

Deno.test("operations refuse an output that partly overlaps an input by name", () => {
  using x = device.allocate("float32", 10);
  assertThrows(() => device.kernels.axpy(1, x.view(0, 5), x.view(2, 7)), RangeError, "y must be x");
  assertThrows(
    () => device.kernels.scale(x.view(2, 7), 1, x.view(0, 5)),
    RangeError,
    "out must be x",
  );
});

Deno.test("uint64 and uint16 operations treat the highest bit as a digit", async () => {
  const high = 2n ** 63n;
  using x = device.upload(BigUint64Array.of(high, 2n ** 64n - 1n, 5n));
  using least = device.allocate("uint64", 1);
  using most = device.allocate("uint64", 1);
  using total = device.allocate("uint64", 1);
  using mean = device.allocate("float64", 1);
  using words = device.upload(Uint16Array.of(65535, 1));
  using sums = device.allocate("uint16", 2);
  using total16 = device.allocate("int64", 1);
  device.kernels.min(x, least);
  device.kernels.max(x, most);
  device.kernels.sum(x, total);
  device.kernels.mean(x.view(0, 2), mean);
  device.kernels.add(words, words, sums);
  device.kernels.sum(words, total16);
  assertEquals([...await least.toArray(), ...await most.toArray()], [5n, 2n ** 64n - 1n]);
  assertEquals([...await total.toArray(), ...await total16.toArray()], [high + 4n, 65536n]);
  // The sum of the two is beyond 2^64.
  assertEquals([...await mean.toArray()], [1.5 * 2 ** 63]);
  assertEquals([...await sums.toArray()], [65534, 2]);
});
