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
