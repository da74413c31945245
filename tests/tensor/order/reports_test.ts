// An index out of range belongs to the tensors that have it, and to those computed from them.

import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { openDevice } from "../../../mod.ts";
import { storageOf } from "../../../src/tensor/tensor.ts";
import * as T from "../../../src/device/tensor.ts";

const place = { device };
const indices = (...values: number[]) => T.tensor(values, { ...place, dtype: "int32" });
const x = T.tensor([1, 2, 3, 4], place);
const wrong = indices(99);
const right = indices(2, 0);

const rejects = (tensor: T.Tensor) =>
  assertRejects(
    () => tensor.toArray(),
    RangeError,
    "Cannot call take() as indices must be in -4..3: one is 99",
  );

Deno.test("An index out of range is reported by its tensor, at each read, and by no other", async () => {
  using bad = T.take(x, wrong);
  using good = x.add(1);
  using also = T.take(x, right);
  const outcomes = await Promise.allSettled([good.toArray(), bad.toArray(), also.toArray()]);
  assertEquals(outcomes.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  for (let round = 0; round < 3; round++) {
    await rejects(bad);
    assertEquals([...await good.toArray()], [2, 3, 4, 5]);
    assertEquals([...await also.toArray()], [3, 1]);
  }
});

Deno.test("Tensors computed from a wrong one are wrong, before and after it is read", async () => {
  using bad = T.take(x, wrong);
  using sum = bad.add(x);
  using reduced = sum.multiply(2).sum();
  using view = sum.slice([{ step: -1 }]);
  using product = T.matmul(sum.reshape([2, 2]), T.ones([2, 2], place));
  using sorted = T.sort(sum);
  using joined = T.concat([x, bad]);
  for (let round = 0; round < 2; round++) {
    for (const each of [reduced, view, product, sorted, joined, bad]) await rejects(each);
  }
  using later = bad.multiply(3);
  await rejects(later.cos());
  await assertRejects(() => later.item(), RangeError, "one is 99");
  assertEquals(Deno.inspect(bad).includes("elements"), false);
});

Deno.test("The result of an operation that is overwritten as a whole is right again", async () => {
  using target = T.zeros([4], place);
  using bad = T.take(x, wrong);
  T.add(x, bad, { out: target });
  using before = target.add(0);
  // A part of the elements is still wrong.
  T.add(x.slice([{ stop: 2 }]), 1, { out: target.slice([{ stop: 2 }]) });
  await rejects(target);
  T.add(target, 1, { out: target });
  await rejects(target);
  T.add(x, 1, { out: target });
  assertEquals([...await target.toArray()], [2, 3, 4, 5]);
  await rejects(before);
});

Deno.test("A report on another stream belongs to its tensor", async () => {
  using stream = device.createStream();
  using bad = T.take(x, wrong, { stream });
  using good = T.take(x, right, { stream });
  using sum = T.add(bad, 1);
  assertEquals([...await good.toArray()], [3, 1]);
  await rejects(sum);
  await rejects(bad);
});

Deno.test("A report on a stream that was disposed belongs to its tensor", async () => {
  using gate = new Gate();
  const stream = device.createStream();
  gate.close(stream);
  using bad = T.take(x, wrong, { stream });
  stream[Symbol.dispose]();
  using opening = gate.openWhenBlocked();
  // They fill the page of reports, whose words are read then.
  T.tidy(() => {
    for (let step = 0; step < 300; step++) T.take(x, right);
  });
  gate.open();
  opening[Symbol.dispose]();
  // Without a read of the tensor.
  while (storageOf(bad).failure === undefined) {
    await new Promise((resolve) => setTimeout(resolve));
  }
  await rejects(bad);
});

Deno.test("Operations that check values are refused in a capture, and cost no other result", async () => {
  const logits = T.tensor([[1, 2, 3, 4]], place);
  const labels = indices(77);
  using before = T.crossEntropy(logits, indices(1));
  await before.toArray();
  using after = T.crossEntropy(logits, indices(1));
  for (
    const [name, call] of Object.entries({
      crossEntropy: () => T.crossEntropy(logits, labels),
      take: () => T.take(x, wrong),
    })
  ) {
    assertThrows(
      () => device.stream.capture(() => void call()),
      TypeError,
      `Cannot capture ${name} as its positions are checked`,
    );
  }
  assertEquals(await after.toArray(), await before.toArray());
});

Deno.test("Each of many reports belongs to its tensor, however many follow", async () => {
  const bad = [T.take(x, wrong)];
  const good: T.Tensor[] = [];
  for (let step = 0; step < 600; step++) {
    good.push(T.take(x, right));
    if (step % 200 === 0) bad.push(T.take(x, wrong));
  }
  const outcomes = await Promise.allSettled([...good, ...bad].map((it) => it.toArray()));
  assertEquals(outcomes.findIndex(({ status }) => status === "rejected"), good.length);
  assert(outcomes.slice(good.length).every(({ status }) => status === "rejected"));
  for (const each of bad) await rejects(each.add(1));
  for (const each of [...good, ...bad]) each.dispose();
});

Deno.test("Reports that nothing reads do not pile up", async () => {
  using own = openDevice(device.label);
  const there = { device: own };
  {
    using table = T.tensor([1, 2, 3, 4], there);
    using at = T.tensor([99], { ...there, dtype: "int32" });
    const bad = await T.take(table, at).ready();
    const before = own.pool.stats().currentUsage;
    for (let step = 0; step < 8000; step++) T.take(table, at).dispose();
    // 16 pages of 4 KiB at most wait to be read.
    assert(
      own.pool.stats().currentUsage - before <= 20 * 4096 + 512,
      `${own.pool.stats().currentUsage - before}`,
    );
    await own.done();
    await rejects(bad);
    // A sum over many steps carries no settled report.
    let sum = T.zeros([1], there);
    for (let step = 0; step < 1000; step++) {
      using last = sum;
      using place = T.tensor([step % 4], { ...there, dtype: "int32" });
      using one = T.take(table, place);
      sum = last.add(one);
      // A read settles the reports so far.
      if (step % 100 === 0) await sum.toArray();
    }
    assert(storageOf(sum).reports.length <= 100, `${storageOf(sum).reports.length} reports`);
    assertEquals(await sum.item(), 2500);
    sum.dispose();
    bad.dispose();
  }
  // A page remains for later reports; the others are read in the background.
  for (let turn = 0; own.pool.stats().currentUsage > 4096 && turn < 10_000; turn++) {
    await new Promise((next) => setTimeout(next, 1));
  }
  assertEquals(own.pool.stats().currentUsage, 4096);
});

Deno.test("Reports do not keep a device open", async () => {
  const own = openDevice(device.label);
  {
    using table = T.tensor([1, 2, 3, 4], { device: own });
    using at = T.tensor([1], { device: own, dtype: "int32" });
    using taken = T.take(table, at);
    assertEquals([...await taken.toArray()], [2]);
  }
  own[Symbol.dispose]();
  assert(own.context.closed);
});
