// Disposal of tensors whose operations wait for a kernel, or whose work still runs.

import { device } from "../../support/device.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { openDevice } from "../../../mod.ts";
import * as T from "../../../src/device/tensor.ts";
import { WorkOrder } from "../../../src/stream/work_order.ts";
import { storageOf } from "../../../src/tensor/tensor.ts";

const MIB = 2 ** 20;
const place = { device };

Deno.test("A read that was called completes after the tensor is disposed", async () => {
  using x = T.tensor([[1, 2], [3, 4]], place);
  const read = <Result>(use: (q: T.Tensor<"float32">) => Promise<Result>) => {
    using q = x.add(1);
    return use(q);
  };
  // The first of them waits for its kernel, the others do not.
  for (let round = 0; round < 2; round++) {
    const [array, nested, view, item, text] = await Promise.all([
      read((q) => q.toArray()),
      read((q) => q.toNested()),
      read((q) => q.transpose().toNested()),
      read((q) => q.at(1, 1).item()),
      read((q) => q.toText()),
    ]);
    assertEquals([...array], [2, 3, 4, 5]);
    assertEquals([nested, view], [[[2, 3], [4, 5]], [[2, 4], [3, 5]]]);
    assertEquals([item, text], [5, "[[2. 3.]\n [4. 5.]]"]);
  }
});

Deno.test("buffer.toArray() completes after the buffer is freed", async () => {
  const read = () => {
    using buffer = device.upload(Float32Array.of(1, 2, 3));
    return buffer.toArray();
  };
  assertEquals([...await read()], [1, 2, 3]);
});

Deno.test("Disposed results give their memory back while their kernel is compiled", async () => {
  using own = openDevice(device.label);
  const live = () => own.pool.stats().currentUsage;
  {
    using x = T.zeros([MIB], { device: own });
    await x.ready();
    const before = live();
    for (let step = 0; step < 200; step++) T.cos(x).dispose();
    assertEquals([live(), WorkOrder.of(own).size], [before, 0]);
    // A chain, of which only the end is disposed: nothing before it is needed either.
    T.tidy(() => void x.sin().cos().tanh().exp());
    assertEquals([live(), WorkOrder.of(own).size], [before, 0]);
    // Operations that write the tensor that they read do not hold it.
    const z = T.full([MIB], 2, { device: own });
    for (let step = 0; step < 3; step++) T.cos(z, { out: z });
    z.dispose();
    assertEquals([live(), WorkOrder.of(own).size], [before, 0]);
    // The last result needs all before it, however often they are disposed.
    let y = x.add(1);
    for (let step = 0; step < 3; step++) {
      using last = y;
      y = last.multiply(2);
    }
    assertEquals(WorkOrder.of(own).size, 4);
    assertEquals((await y.toArray())[0], 8);
    y.dispose();
    assertEquals(live(), before);
    // Their kernels are compiled nevertheless.
    using last = T.tidy(() => T.cos(x).sin().tanh().exp());
    await last.toArray();
  }
  await own.done();
  assertEquals(live(), 0);
});

Deno.test("An operation is not abandoned while a view of its result, or a part of it, is held", async () => {
  using own = openDevice(device.label);
  using x = T.arange(6, undefined, 1, { device: own });
  const view = T.tidy(() => T.log1p(x).reshape([2, 3]).at(1));
  using target = T.zeros([6], { device: own });
  T.tidy(() => void T.square(x, { out: target }));
  const logarithms = await view.toArray();
  assert(logarithms.every((it, at) => Math.abs(it - Math.log1p(at + 3)) < 1e-6), `${logarithms}`);
  assertEquals([...await target.toArray()], [0, 1, 4, 9, 16, 25]);
});

Deno.test("An operation is not abandoned while one that waits reads and writes its result", async () => {
  using own = openDevice(device.label);
  // Sums of parts are disposed before the pass that adds them, and writes there, too.
  using sums = T.cumulativeSum(T.ones([20_001], { device: own }));
  assertEquals((await sums.toArray()).at(-1), 20_001);
  assertEquals((await T.cumulativeSum(sums.multiply(0)).toArray()).at(-1), 0);
});

Deno.test("An operation that waits reads a tensor that is overwritten and disposed later", async () => {
  using own = openDevice(device.label);
  const x = T.full([4], 2, { device: own });
  const y = x.exp();
  T.add(x, 1, { out: x });
  const z = x.multiply(10);
  x.dispose();
  assertEquals([...await z.toArray()], [30, 30, 30, 30]);
  assertEquals(
    (await y.toArray()).map((it) => Math.round(100 * it)),
    new Float32Array(4).fill(739),
  );
});

Deno.test("Memory of operations that wait is used again when a device is full", async () => {
  using own = openDevice(device.label, { memory: { maxPoolSize: "64MiB" } });
  let x = T.zeros([2 * MIB], { device: own });
  // Each step needs the one before, and 8 MiB.
  for (let step = 0; step < 40; step++) {
    using last = x;
    x = last.add(1);
  }
  assertEquals(await x.at(-1).item(), 40);
  x.dispose();
  await own.done();
});

/** Work on a stream that takes long after this returns: 30 additions of 1 to zeros. */
function longWork(stream: T.CreationOptions["stream"] & object) {
  const x = T.zeros([4 * MIB], { device, stream });
  for (let step = 0; step < 30; step++) T.add(x, 1, { out: x, stream });
  return x;
}

Deno.test("An operation that finds the queue full and cannot empty it holds nothing", async () => {
  const order = WorkOrder.of(device);
  const { prepareNow } = order;
  const x = T.full([3], 2, { device });
  await device.done();
  const storage = storageOf(x);
  const results: T.Tensor[] = [];
  order.prepareNow = () => {
    throw new TypeError("Cannot compile");
  };
  try {
    // A kernel of its own, which is not compiled yet.
    const f = T.fuse((it: T.Tensor<"float32">) => it.sin().multiply(it.tanh()).add(0.25));
    assertThrows(
      () => {
        for (;;) results.push(f(x));
      },
      TypeError,
      "Cannot compile",
    );
  } finally {
    order.prepareNow = prepareNow;
  }
  for (const result of results) result.dispose();
  x.dispose();
  await storage.work.settled();
  assert(storage.freed);
});

Deno.test("A tensor whose stream was disposed is read after its work", async () => {
  using warm = longWork(device.stream);
  await warm.toArray();
  const written = () => {
    using stream = device.createStream();
    return longWork(stream);
  };
  using x = written();
  assertEquals([...await x.slice([{ start: -2 }]).toArray()], [30, 30]);
  using y = written();
  using half = y.multiply(0.5);
  assertEquals(await half.at(-1).item(), 15);
});

Deno.test("A write waits for a reader whose stream was disposed", async () => {
  using x = T.full([4 * MIB], 1, place);
  await x.ready();
  const read = () => {
    using stream = device.createStream();
    using busy = longWork(stream);
    return T.add(x, T.multiply(busy, 0, { stream }), { stream });
  };
  for (let round = 0; round < 2; round++) {
    using copy = read();
    T.full([1], 0, place).dispose();
    T.multiply(x, 100, { out: x });
    assertEquals(await copy.at(-1).item(), 100 ** round);
    assert(await x.at(-1).item() === 100 ** (round + 1));
  }
});
