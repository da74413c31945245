// Making, viewing, reading and freeing tensors.

import { device } from "../support/device.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { openDevice } from "../../mod.ts";
import {
  arange,
  fromBuffer,
  fromTypedArray,
  full,
  linspace,
  ones,
  Tensor,
  tensor,
  tidy,
  zeros,
} from "../../src/device/tensor.ts";

Deno.test("tensor() takes nested arrays of numbers, booleans and big integers", async () => {
  const x = tensor([[1, 2], [3, 4]], { device });
  assertEquals([x.dtype, x.shape, x.strides, x.size], ["float32", [2, 2], [2, 1], 4]);
  assertEquals(await x.toNested(), [[1, 2], [3, 4]]);
  assertEquals(await x.toArray(), Float32Array.of(1, 2, 3, 4));
  assertEquals(await tensor(5, { device }).item(), 5);
  assertEquals(tensor([true, false], { device }).dtype, "bool");
  assertEquals(await tensor([1n << 60n], { device }).item(), 1n << 60n);
  assertEquals(tensor([[], []], { device }).shape, [2, 0]);
  for (const dtype of ["bfloat16", "float8_e4m3", "float16"] as const) {
    assertEquals(await tensor([1, -0.5, NaN], { device, dtype }).toNested(), [1, -0.5, NaN]);
  }
  assertThrows(() => tensor([[1, 2], [3]], { device }), RangeError, "must have equal lengths");
  assertThrows(() => tensor([1, [2]] as never, { device }), RangeError, "must have equal lengths");
  assertThrows(() => tensor(["1"] as never, { device }), TypeError, "must be numbers");
  assertThrows(() => tensor([1, undefined] as never, { device }), TypeError, "one is undefined");
  const endless: never[] = [];
  endless[0] = endless as never;
  assertThrows(() => tensor(endless, { device }), RangeError, "at most 8 dimensions");
  assertThrows(() => tensor([300], { device, dtype: "int8" }), RangeError, "-128..127");
  assertThrows(() => tensor([1], { device: 5 as never }), TypeError, "options.device");
});

Deno.test("zeros(), ones(), full(), arange() and linspace() fill tensors", async () => {
  assertEquals(await zeros([2, 2], { device }).toNested(), [[0, 0], [0, 0]]);
  assertEquals(await ones([2], { device, dtype: "bool" }).toNested(), [true, true]);
  assertEquals(await full([3], -7, { device, dtype: "int64" }).toNested(), [-7n, -7n, -7n]);
  assertEquals(await arange(5, undefined, 1, { device }).toNested(), [0, 1, 2, 3, 4]);
  assertEquals(await arange(5, 0, -2, { device, dtype: "int32" }).toNested(), [5, 3, 1]);
  assertEquals(arange(5, 1, 1, { device }).shape, [0]);
  assertEquals(await linspace(0, 1, 5, { device }).toNested(), [0, 0.25, 0.5, 0.75, 1]);
  assertEquals(await linspace(3, 9, 1, { device }).toNested(), [3]);
  // 49 · (1 / 49) is below 1, and 83 · (7 / 83) below 7.
  assertEquals(await linspace(0, 1, 50, { device, dtype: "float64" }).at(-1).item(), 1);
  assertEquals(await linspace(0, 7, 84, { device, dtype: "int32" }).at(-1).item(), 7);
  assertEquals(await linspace(-1, 0, 3, { device, dtype: "int8" }).toNested(), [-1, -1, 0]);
  assertThrows(() => zeros([-1], { device }), RangeError, "integers of at least 0: it has -1");
  assertThrows(() => zeros([2 ** 40, 2 ** 20], { device }), RangeError, "fewer than 2^50 elements");
  assertThrows(() => zeros(Array(9).fill(1), { device }), RangeError, "at most 8 dimensions");
  assertThrows(() => full([1], 1.5, { device, dtype: "int32" }), RangeError, "integer");
  const bytes = { device, dtype: "uint8" } as const;
  assertThrows(() => arange(250, 257, 1, bytes), RangeError, "in 0..255 for uint8: one is 256");
  assertThrows(() => linspace(-1, 9, 3, bytes), RangeError, "in 0..255 for uint8: one is -1");
  const large = { device, dtype: "uint64" } as const;
  assertEquals(await arange(2 ** 63, 2 ** 63 - 4096, -2048, large).toNested(), [
    2n ** 63n,
    2n ** 63n - 2048n,
  ]);
  assertThrows(() => arange(0, 1, 0, { device }), RangeError, "step must be a finite number other");
  assertThrows(() => linspace(0, Infinity, 2, { device }), RangeError, "finite");
});

Deno.test("fromTypedArray() and fromBuffer() take elements of JavaScript and of kernels", async () => {
  const elements = Int16Array.of(1, 2, 3, 4, 5, 6);
  const x = fromTypedArray(elements, [2, 3], { device });
  elements.fill(0);
  assertEquals([x.dtype, await x.toNested()], ["int16", [[1, 2, 3], [4, 5, 6]]]);
  const bits = fromTypedArray(Uint16Array.of(0x3f80), [1], { device, dtype: "bfloat16" });
  assertEquals(await bits.toNested(), [1]);
  const buffer = device.upload(Float32Array.of(1, 2, 3, 4));
  const y = fromBuffer(buffer, [2, 2]);
  device.kernels.scale(y.buffer, 10, y.buffer);
  assertEquals(await y.add(1).toNested(), [[11, 21], [31, 41]]);
  y.dispose();
  assert(buffer.disposed, "the tensor frees the buffer");
  assertThrows(() => fromBuffer(buffer), TypeError, "live DeviceBuffer");
  assertThrows(() => fromTypedArray(elements, [5], { device }), RangeError, "must have 6 elements");
  assertThrows(() => fromTypedArray([1] as never), TypeError, "must be a typed array");
});

/** The elements of a view by a function of positions. */
const cube = (at: (i: number, j: number, k: number) => number, ...shape: number[]) =>
  Array.from(
    { length: shape[0]! },
    (_, i) =>
      Array.from(
        { length: shape[1]! },
        (_, j) => Array.from({ length: shape[2]! }, (_, k) => at(i, j, k)),
      ),
  );

Deno.test("Views share memory: slice, permute, reshape, squeeze, flip, broadcastTo", async () => {
  const x = arange(24, undefined, 1, { device }).reshape([2, 3, 4]);
  const value = (i: number, j: number, k: number) => 12 * i + 4 * j + k;
  assertEquals(
    await x.permute([2, 0, 1]).toNested(),
    cube((k, i, j) => value(i, j, k), 4, 2, 3),
  );
  assertEquals(
    await x.slice([{}, { step: -2 }, { start: 1, stop: -1 }]).toNested(),
    cube((i, j, k) => value(i, 2 - 2 * j, k + 1), 2, 2, 2),
  );
  assertEquals(await x.at(1, -1).toNested(), [20, 21, 22, 23]);
  assertEquals(await x.slice([0, { start: 5 }]).toNested(), []);
  assertEquals(await x.flip(1).toNested(), cube((i, j, k) => value(i, 2 - j, k), 2, 3, 4));
  assertEquals(await x.transpose().at(1, 3).toNested(), [15, 19, 23]);
  assertEquals(await x.reshape([4, -1]).at(2).toNested(), [12, 13, 14, 15, 16, 17]);
  assertEquals(await x.transpose().flatten().slice([{ stop: 4 }]).toNested(), [0, 4, 8, 1]);
  assertEquals(x.permute([1, 0, 2]).reshape([3, 2, 2, 2]).strides, [4, 12, 2, 1]);
  assertEquals(x.expandDims(1).expandDims(-1).shape, [2, 1, 3, 4, 1]);
  assertEquals(x.expandDims(0).squeeze().shape, [2, 3, 4]);
  assertEquals(x.at(0, 0).broadcastTo([2, 4]).strides, [0, 1]);
  const part = x.at(0, 0);
  x.add(100); // an unused result is freed by the garbage collector
  assertEquals(await part.add(part.flip()).toNested(), [3, 3, 3, 3]);
  assertThrows(() => x.slice([5]), RangeError, "index[0] must be a range or a position in -2..1");
  assertThrows(() => x.slice([{ step: 0 }]), RangeError, "step must be an integer other than 0");
  assertThrows(() => x.slice([0, 0, 0, 0]), RangeError, "at most 3 entries");
  assertThrows(() => x.permute([0, 1]), RangeError, "name each of the 3 axes once");
  assertThrows(() => x.permute([0, 0, 1]), RangeError, "must not repeat");
  assertThrows(() => x.reshape([5, -1]), RangeError, "must have 24 elements");
  assertThrows(() => x.squeeze(0), RangeError, "the extent of axis 0 must be 1: it is 2");
  assertThrows(() => x.broadcastTo([2, 3]), RangeError, "broadcast");
  assertThrows(() => part.transpose(), RangeError, "at least 2 dimensions");
});

Deno.test("Nothing changes a tensor's shape, strides or place from outside", async () => {
  const shape = [2, 3];
  const x = zeros(shape, { device }) as { -readonly [Name in keyof Tensor]: Tensor[Name] };
  for (const it of [x, x.permute([1, 0]), x.slice([0]), x.add(1), x.sum({ axis: 0 })]) {
    assertThrows(() => (it.shape as number[])[0] = 1000, TypeError);
    assertThrows(() => (it.strides as number[]).push(1), TypeError);
    for (const name of ["shape", "strides", "offset", "size", "dtype", "context"] as const) {
      assertThrows(() => (it as unknown as Record<string, unknown>)[name] = [7], TypeError);
    }
    await it.ready();
  }
  // The program's own array stays its own.
  shape[0] = 7;
  assertEquals([...x.shape], [2, 3]);
});

Deno.test("slice() refuses what is neither a position nor a range", async () => {
  using x = zeros([2, 3], { device });
  using mask = x.equal(0);
  await mask.ready();
  for (
    const [entry, message] of [
      [{ begin: 1 }, "with begin"],
      [mask, "it is a Tensor. Call await x.select(index)"],
      [Promise.resolve(mask), "index[0] must be a position or a range"],
      [new Date(), "index[0] must be a position or a range"],
      [[1], "index[0] must be a position or a range with start, stop and step"],
      [new Uint8Array(2), "index[0] must be a position or a range"],
      [new Set([1]), "index[0] must be a position or a range"],
      [{ start: 0, end: 1 }, "with end"],
    ] as const
  ) {
    assertThrows(() => x.slice([entry as never]), TypeError, message);
  }
  assertThrows(() => x.slice(["1" as never]), RangeError, "must be a range or a position");
});

Deno.test("Elementwise operations take sizes around a block, and layouts of all kinds", async () => {
  for (const size of [0, 1, 2, 31, 16383, 16384, 16385, 100_003]) {
    const x = arange(size, undefined, 1, { device });
    const expected = Float32Array.from({ length: size }, (_, i) => 2 * i + 1);
    assertEquals(await x.add(x).add(1).toArray(), expected);
    assertEquals(await x.flip().multiply(2).add(1).flip().toArray(), expected);
  }
  const x = arange(129 * 131, undefined, 1, { device }).reshape([129, 131]);
  const sums = await x.transpose().add(x.flip().transpose()).toArray();
  assert(sums.every((it) => it === 129 * 131 - 1), "opposite elements have one sum");
});

Deno.test("Memory is freed with the last view, and tidy() frees what it does not return", async () => {
  using own = openDevice("host", { memory: { preset: "development" } });
  const live = () => own.pool.stats().allocatedBytes.all.current;
  const x = zeros([1000], { device: own });
  const view = x.at(3);
  x.dispose();
  x.dispose();
  assert(live() > 0);
  assertEquals(await view.item(), 0);
  view.dispose();
  assertEquals(live(), 0);
  assertThrows(() => x.add(1), TypeError, "it is, disposed at");
  const kept = tidy(() => {
    const y = ones([10], { device: own });
    tidy(() => y.add(1).add(2));
    return { y, sum: [y.add(1).sum()] };
  });
  assertEquals(await kept.sum[0]!.item(), 20);
  using total = kept.y.sum();
  assertEquals(await total.item(), 10);
  total.dispose();
  kept.y.dispose();
  kept.sum[0]!.dispose();
  assertThrows(() => tidy(() => Promise.resolve(1)), TypeError, "must be synchronous");
  assertThrows(() => tidy(5 as never), TypeError, "f must be a function");
  await own.done();
  assertEquals(live(), 0);
});

Deno.test("Tensor reads, prints and names misuse", async () => {
  const x = tensor([[1, 2.5], [3, 4]], { device });
  assertEquals(await x.toText(), "[[1.  2.5]\n [3.  4. ]]");
  const heading = `on ${device.label}`;
  assertEquals(Deno.inspect(x), `Tensor float32 (2, 2) ${heading}\n[[1.  2.5]\n [3.  4. ]]`);
  assertEquals(Deno.inspect(x.flip(0).at(0)), `Tensor float32 (2,) ${heading}\n[3. 4.]`);
  assertEquals(Deno.inspect(zeros([1001], { device })).includes('shape: "(1001,)"'), true);
  await assertRejects(() => x.item(), RangeError, "must have 1 element: its shape is (2, 2)");
  assertThrows(() => x.transpose().buffer, TypeError, "must be dense");
  const y = x.cos().sin();
  await y.ready();
  assertEquals(y.buffer.length, 4);
  // deno-lint-ignore no-explicit-any
  assertThrows(() => new (Tensor as any)(), TypeError, "Cannot make a Tensor by new");
});

Deno.test("Operations wait for kernels in order, also on other streams", async () => {
  using stream = device.createStream();
  const x = arange(1000, undefined, 1, { device, stream });
  const y = x.multiply(1.25).sin();
  const z = y.add(x.slice([{ step: -1 }]));
  x.dispose();
  y.dispose();
  const values = await z.toArray();
  const expected = Float32Array.from(
    { length: 1000 },
    (_, i) => Math.fround(Math.sin(Math.fround(i * 1.25))) + (999 - i),
  );
  assert(values.every((value, i) => Math.abs(value - expected[i]!) < 1e-4));
});

Deno.test("Tensors outlive the stream that wrote them", async () => {
  const write = () => {
    using stream = device.createStream();
    return zeros([3], { device, stream });
  };
  assertEquals(await write().toNested(), [0, 0, 0]);
  assertEquals(await write().add(1).toNested(), [1, 1, 1]);
  assertEquals(Deno.inspect(write()).endsWith("[0. 0. 0.]"), true);
});

Deno.test("A captured operation needs a compiled kernel, and is repeated by its graph", async () => {
  const x = tensor([1, 2], { device });
  assertThrows(
    () => device.stream.capture(() => void x.multiply(3).log()),
    TypeError,
    "must be compiled before",
  );
  await x.multiply(3).log().ready(); // compiled by now
  const out = x.add(5);
  await out.ready();
  const { add } = await import("../../src/device/tensor.ts");
  using graph = device.stream.capture(() => void add(x, 5, { out }));
  const doubled = add(x, x, { out: x });
  assertEquals(await doubled.toNested(), [2, 4]);
  graph.launch(device.stream);
  assertEquals(await out.toNested(), [7, 9]);
});

Deno.test("An operation on a stream waits before it overwrites a tensor that others still read", async () => {
  using slow = device.createStream();
  using fast = device.createStream();
  using zero = zeros([16], { device });
  using large = zeros([2 ** 20], { device });
  const { add, exp } = await import("../../src/device/tensor.ts");
  for (let round = 0; round < 5; round++) {
    using x = full([16], 1, { device });
    await x.ready();
    for (let step = 0; step < 8; step++) exp(large, { out: large, stream: slow });
    using read = add(x, 1, { stream: slow });
    add(zero, 5, { out: x, stream: fast });
    assertEquals(new Set(await read.toArray()), new Set([2]));
    assertEquals(new Set(await x.toArray()), new Set([5]));
  }
});
