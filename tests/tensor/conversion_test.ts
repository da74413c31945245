// Tensors as JSON, as text, and as iterables.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { arange, tensor, zeros } from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";

Deno.test("JSON of a tensor has its element type, shape and device", () => {
  using x = tensor([[1, 2, 3]], { device, dtype: "int8" });
  assertEquals(JSON.parse(JSON.stringify({ x })), {
    x: { dtype: "int8", shape: [1, 3], device: device.label },
  });
});

Deno.test("String() of a tensor is what console.log() shows, and never throws", async () => {
  const x = tensor([[1, 2], [3, 4]], { device });
  await x.ready();
  assertEquals(String(x), Deno.inspect(x, { colors: false }));
  assertEquals(String(x).split("\n").slice(1).join("\n"), await x.toText());
  x.dispose();
  assertEquals(/^Tensor \{.*disposed: true/s.test(`${x}`), true);
});

Deno.test("A tensor iterates over views of its rows", async () => {
  using x = tensor([[1, 2], [3, 4], [5, 6]], { device });
  const rows = [];
  for (using row of x) rows.push(await row.toNested());
  assertEquals(rows, await x.toNested());
  const [first] = x;
  first!.multiply(10, { out: first! });
  first!.dispose();
  assertEquals(await x.at(0).toNested(), [10, 20]);
  using empty = zeros([0, 2], { device });
  assertEquals([...empty], []);
  using scalar = tensor(1, { device });
  assertThrows(() => [...scalar], TypeError, "must have at least 1 dimension: it has 0");
});

Deno.test("An asynchronous iteration reads the rows in parts", async () => {
  // Five rows are read at once, and the last part has two.
  using x = arange(0, 12 * 13_000, 1, { device }).reshape([12, 13_000]);
  const firsts = [];
  for await (const row of x) firsts.push((row as number[])[1]);
  assertEquals(firsts, Array.from({ length: 12 }, (_, row) => row * 13_000 + 1));
  using halves = tensor([0.5, 2], { device, dtype: "bfloat16" });
  assertEquals(await Array.fromAsync(halves), [0.5, 2]);
  using scalar = tensor(1, { device });
  await assertRejects(() => Array.fromAsync(scalar), TypeError, "at least 1 dimension");
});

Deno.test("tensor() takes the elements and the type of typed arrays", async () => {
  using floats = tensor(new Float32Array([1, 2]), { device });
  assertEquals([floats.dtype, await floats.toNested()], ["float32", [1, 2]]);
  for (
    const [array, dtype] of [
      [new Float64Array([0.1]), "float64"],
      [new Float16Array([0.5]), "float16"],
      [new Uint8ClampedArray([300]), "uint8"],
      [new Int16Array([-3]), "int16"],
      [new BigUint64Array([2n ** 64n - 1n]), "uint64"],
      [new Int32Array(0), "int32"],
    ] as const
  ) {
    using x = tensor(array, { device });
    assertEquals([x.dtype as string, [...await x.toArray()]], [dtype, [...array]]);
  }
  // Another type converts the values; rows may be typed, too.
  using narrow = tensor(new Float64Array([1, 200]), { device, dtype: "uint8" });
  assertEquals(await narrow.toNested(), [1, 200]);
  using wide = tensor(new Uint16Array([3]), { device, dtype: "bfloat16" });
  assertEquals(await wide.toNested(), [3]);
  using rows = tensor([[Int8Array.of(1, 2)], [Int8Array.of(3, 4)]], { device });
  assertEquals([rows.dtype, await rows.toNested()], ["int8", [[[1, 2]], [[3, 4]]]]);
  const ragged = [Int8Array.of(1, 2), Int8Array.of(3)];
  assertThrows(() => tensor(ragged, { device }), RangeError, "must have equal lengths: at depth 1");
  const mixed = [Int8Array.of(1), Float32Array.of(2)];
  assertThrows(() => tensor(mixed, { device }), TypeError, "they are int8 and float32");
  using common = tensor(mixed, { device, dtype: "float64" });
  assertEquals(await common.toNested(), [[1], [2]]);
  assertThrows(() => tensor(new Float32Array([1.5]), { dtype: "int8", device }), "1.5");
  assertThrows(() => tensor(new DataView(new ArrayBuffer(8)) as never, { device }), TypeError);
});
