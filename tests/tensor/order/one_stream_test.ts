// All work of a device runs in the order of the program, however often the device is opened.

import { device } from "../../support/device.ts";
import { assert, assertEquals } from "@std/assert";
import { openDevice } from "../../../mod.ts";
import { cos, full, log1p, ones, tensor } from "../../../src/device/tensor.ts";

Deno.test("openDevice() shares the default stream of a device until the last one is disposed", async () => {
  const first = openDevice(device.label);
  using second = openDevice(device.label);
  const { handle } = first.stream;
  assertEquals([second.stream.handle, second.stream.isDefault], [handle, true]);
  assert(first.context !== second.context);
  first[Symbol.dispose]();
  assertEquals(second.stream.handle, handle);
  using x = second.upload(Float32Array.of(1, 2));
  second.kernels.scale(x, 2, x);
  await second.stream.done();
  assertEquals([...await x.toArray()], [2, 4]);
});

Deno.test("Kernels of one Device read what a tensor of another one has written", async () => {
  const elements = 2 ** 18;
  using own = openDevice(device.label);
  using total = own.allocate("float32", 1);
  for (let round = 1; round <= 40; round++) {
    using x = full([elements], round, { device }).sin().cos().add(1);
    await x.ready();
    own.kernels.mean(x.buffer, total);
    const [mean] = await total.toArray();
    assertEquals(Math.abs(mean! - 1 - Math.cos(Math.sin(round))) < 1e-5, true, `${round}: ${mean}`);
  }
});

Deno.test("device.kernels of one Device follow uploads of another one", async () => {
  using a = openDevice(device.label);
  using b = openDevice(device.label);
  using counts = a.allocate("uint32", 4);
  for (let round = 0; round < 40; round++) {
    using x = b.upload(new Float32Array(2 ** 18).fill(round % 4));
    a.kernels.histogram(x, counts, { low: 0, high: 4 });
    const expected = [0, 0, 0, 0].with(round % 4, 2 ** 18);
    assertEquals([...await counts.toArray()], expected);
  }
});

Deno.test("A tensor operation waits for that of another Device whose kernel is not compiled", async () => {
  // Its kernels are not loaded yet.
  using other = openDevice(device.label);
  await ones([4], { device }).add(ones([4], { device })).toArray();
  const a = log1p(full([4], 3, { device: other }));
  const sum = ones([4], { device }).add(a);
  const sums = await sum.toArray();
  assert(sums.every((it) => Math.abs(it - 1 - Math.log1p(3)) < 1e-5), `${sums}`);
  const b = cos(full([4], 0, { device: other }));
  assertEquals([...await b.add(ones([4], { device })).toArray()], [2, 2, 2, 2]);
});

Deno.test("Kernels of the program follow an operation whose kernel is not compiled, at the first use", async () => {
  const elements = 2 ** 16;
  for (let round = 1; round <= 3; round++) {
    using writer = openDevice(device.label);
    using reader = openDevice(device.label);
    using y = reader.allocate("float32", elements, { fill: -1 });
    using x = tensor(Array(elements).fill(round), { device: writer }).multiply(2);
    reader.kernels.scale(x.buffer, 0.5, y);
    assertEquals(new Set(await y.toArray()), new Set([round]));
  }
});
