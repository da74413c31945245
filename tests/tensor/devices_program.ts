/**
 * Tensors on two devices. `devices_test.ts` starts it with the fakes of
 * `GRIDSTRIDE_FAKE=2x64MiB@8.9`.
 *
 * @module
 */

import "../support/cache_directory.ts";
import { assertEquals, assertNotStrictEquals, assertRejects, assertThrows } from "@std/assert";
import { NoDeviceError, openDevice } from "../../mod.ts";
import {
  add,
  arange,
  asarray,
  emptyLike,
  full,
  linspace,
  ones,
  take,
  tensor,
  uniform,
  zeros,
} from "../../src/device/tensor.ts";

using first = openDevice("host:0");
const other = { device: "host:1" };

// Creation by name.
for (
  const made of [
    tensor([1, 2], other),
    zeros([2], other),
    ones([2], other),
    full([2], 3, other),
    arange(0, 2, 1, other),
    linspace(0, 1, 2, other),
    uniform([2], other),
    asarray([1, 2], other),
    emptyLike(zeros([2]), other),
  ]
) assertEquals([made.device, made.context.ordinal, made.shape], ["host:1", 1, [2]]);
assertEquals(zeros([1], { device: "host" }).device, "host:0");
assertEquals(zeros([1], { device: first }).device, "host:0");
assertThrows(() => zeros([1], { device: "host:7" }), NoDeviceError, "must be in 0..1: it is 7");
assertThrows(() => zeros([1], { device: "gpu" }), RangeError, 'such as "cuda:1": it is "gpu"');

// A copy, also of views, and after operations that wait for a kernel.
const x = tensor([[1, 2, 3], [4, 5, 6]]);
const there = x.multiply(2).transpose().to("host:1");
assertEquals([there.device, there.isDense], ["host:1", true]);
x.multiply(0); // Does not change the copy.
assertEquals(await there.toNested(), [[2, 8], [4, 10], [6, 12]]);
const row = x.at(1).to("host:1");
add(x, 100, { out: x }); // Comes after the copy.
assertEquals(await row.toNested(), [4, 5, 6]);
assertEquals(await row.add(1).to(first).add(x.at(1)).toNested(), [109, 111, 113]);
assertEquals(await tensor(5).to("host:1").toNested(), 5);
assertEquals(zeros([0, 3]).to("host:1").shape, [0, 3]);
assertEquals(asarray(x, other).device, "host:1");

// To another device and back, read with the thread blocked, before and after the first returns.
using settled = tensor([1, 2, 3]);
const forth = settled.multiply(3).to("host:1");
const back = forth.subtract(1).to("host:0").divide(2);
settled.subtract(5, { out: settled });
assertEquals([...back.buffer.toArraySync()], [1, 2.5, 4]);
assertEquals([...forth.buffer.toArraySync()], [3, 6, 9]);
assertEquals(await settled.multiply(3).to("host:1").toNested(), [-12, -9, -6]);
using kept = tensor([1, 2], { dtype: "float64" });
using _waiting = kept.log1p(); // Its kernel is not compiled yet.
using early = kept.to("host:1");
kept.subtract(5, { out: kept });
assertEquals([...early.buffer.toArraySync()], [1, 2]);
tensor([1]).tanh().to("host:1").dispose(); // Abandoned before it has arrived.

// On the same device it is a view.
const view = x.to(first);
assertNotStrictEquals(view, x);
x.dispose();
add(view, 1, { out: view });
assertEquals(await view.at(0).toNested(), [102, 103, 104]);

// An operation that met a wrong index fails its copies.
const wrong = take(view, tensor([9], { dtype: "int32" }), { axis: 0 }).to("host:1");
await assertRejects(() => wrong.toArray(), RangeError, "9");

assertThrows(
  () => view.add(there.transpose()),
  TypeError,
  'they are on host:0 and host:1. Move one by to("host:0")',
);
