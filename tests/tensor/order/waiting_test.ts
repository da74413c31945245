// Calls that come after operations whose kernels are being compiled.

import { device } from "../../support/device.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { openDevice } from "../../../mod.ts";
import * as T from "../../../src/device/tensor.ts";
import { storageOf } from "../../../src/tensor/tensor.ts";
import { type Preparation, WorkOrder } from "../../../src/stream/work_order.ts";

const order = WorkOrder.of(device);

/** An operation that waits until `prepareNow()` or `finish()`. */
function waiting(log: string[], run: () => void = () => {}) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const preparation = { isSettled: false, settled: promise };
  const finish = () => {
    preparation.isSettled = true;
    resolve();
  };
  const operation = {
    preparation,
    run() {
      log.push("operation");
      run();
    },
  };
  order.append(operation, device.context);
  return { preparation, finish, abandon: () => order.abandon(operation) };
}

const settle = (preparation: Preparation) => void Object.assign(preparation, { isSettled: true });

/** Runs a test with a replaced compiler. */
async function withCompiler(prepare: (all: readonly Preparation[]) => void, act: () => unknown) {
  const { prepareNow } = order;
  order.prepareNow = prepare;
  try {
    await act();
  } finally {
    order.prepareNow = prepareNow;
  }
}

const buffer = device.allocate("float32", 4, { fill: 1 });
const other = device.allocate("float32", 4, { fill: 2 });
const pinned = device.allocatePinned("float32", 4);
const pitched = device.allocate2d("float32", 2, 3, { fill: 1 });
const event = device.createEvent();
const graph = device.stream.capture(() => device.kernels.scale(buffer, 1, buffer));
const array = new Float32Array(4);

const SYNCHRONOUS: Record<string, () => unknown> = {
  "device.doneSync()": () => device.doneSync(),
  "stream.doneSync()": () => device.stream.doneSync(),
  "stream.query()": () => device.stream.query(),
  "stream.record()": () => device.stream.record()[Symbol.dispose](),
  "event.record()": () => event.record(device.stream),
  "stream.capture()": () => device.stream.capture(() => {})[Symbol.dispose](),
  "graph.launch()": () => graph.launch(),
  "kernels.scale()": () => device.kernels.scale(buffer, 1, other),
  "buffer.copyFrom(array)": () => buffer.copyFrom(array),
  "buffer.copyFrom(buffer)": () => buffer.copyFrom(other),
  "buffer.copyFrom(pinned)": () => buffer.copyFrom(pinned),
  "pinned.copyFrom(buffer)": () => pinned.copyFrom(buffer),
  "buffer.copyToSync()": () => buffer.copyToSync(array),
  "buffer.toArraySync()": () => buffer.toArraySync(),
};

for (const [name, act] of Object.entries(SYNCHRONOUS)) {
  Deno.test(`${name} comes after operations that wait for a kernel`, async () => {
    const log: string[] = [];
    await withCompiler((all) => {
      all.forEach(settle);
      log.push(`compile ${all.length}`);
    }, () => {
      const { finish } = waiting(log);
      act();
      log.push("call");
      finish();
    });
    assertEquals(log, ["compile 1", "operation", "call"]);
    await device.done();
  });
}

Deno.test("A kernel that is launched again and again notices operations that wait", async () => {
  const log: string[] = [];
  const prepare = (all: readonly Preparation[]) => all.forEach(settle);
  for (let round = 0; round < 3; round++) device.kernels.scale(buffer, 1, other);
  await withCompiler(prepare, () => {
    waiting(log).finish();
    device.kernels.scale(buffer, 1, other);
    log.push("launch");
  });
  assertEquals(log, ["operation", "launch"]);
  await device.done();
});

Deno.test("A kernel that an operation has launched comes after those behind the operation", async () => {
  const log: string[] = [];
  const scale = () => device.kernels.scale(buffer, 1, other);
  await withCompiler((all) => all.forEach(settle), async () => {
    const first = waiting(log, scale);
    waiting(log);
    first.finish();
    while (log.length === 0) await Promise.resolve();
    assertEquals(order.size, 1);
    scale();
    log.push("launch");
  });
  assertEquals(log, ["operation", "operation", "launch"]);
  await device.done();
});

Deno.test("Operations behind an abandoned one do not wait for its kernel", async () => {
  const log: string[] = [];
  const { abandon, finish } = waiting(log);
  const done = device.stream.done();
  assert(abandon());
  await done;
  assertEquals(log, []);
  finish();
});

Deno.test("console.log() of a tensor does not wait for kernels of others", async () => {
  using x = T.tensor([1, 2], { device });
  await x.toArray();
  const log: string[] = [];
  await withCompiler(() => log.push("compile"), async () => {
    const { finish } = waiting(log);
    assert(Deno.inspect(x).includes("[1. 2.]"));
    assertEquals(log, []);
    finish();
    await device.done();
  });
});

const ASYNCHRONOUS: Record<string, () => Promise<unknown>> = {
  "device.done()": () => device.done(),
  "stream.done()": () => device.stream.done(),
  "buffer.toArray()": () => buffer.toArray(),
  "buffer.copyTo()": () => buffer.copyTo(array),
  "pitched.toArray()": () => pitched.toArray(),
  "tensor.toArray()": () => T.ones([3], { device }).toArray(),
  "tensor.ready()": () => T.ones([3], { device }).ready(),
};

for (const [name, act] of Object.entries(ASYNCHRONOUS)) {
  Deno.test(`${name} comes after operations that wait for a kernel, and blocks nothing`, async () => {
    const log: string[] = [];
    await withCompiler(() => log.push("compile"), async () => {
      const { finish } = waiting(log);
      const done = act().then(() => log.push("call"));
      await new Promise((resolve) => setTimeout(resolve, 1));
      assertEquals(log, []);
      finish();
      await done;
    });
    assertEquals(log, ["operation", "call"]);
  });
}

Deno.test("A copy to an array has its place in the order where it is called", async () => {
  const log: string[] = [];
  using memory = device.allocate("float32", 2, { fill: 3 });
  await withCompiler(
    (all) => all.forEach(settle),
    async () => {
      const { finish } = waiting(log);
      const read = memory.toArray();
      const filled = device.allocate("float32", 2, { fill: 7 });
      memory.copyFrom(filled);
      filled.free();
      assertEquals([...await read], [3, 3]);
      finish();
    },
  );
  assertEquals([...await memory.toArray()], [7, 7]);
});

Deno.test("A copy that was called keeps the memory of a buffer that is freed before it is enqueued", async () => {
  using own = openDevice(device.label);
  const log: string[] = [];
  const { finish } = waiting(log);
  const read = (() => {
    using memory = own.upload(Float32Array.of(1, 2, 3));
    return memory.toArray();
  })();
  // Memory that is free now would be used again here.
  using _next = own.upload(Float32Array.of(7, 8, 9));
  finish();
  assertEquals([...await read], [1, 2, 3]);
  assertEquals(log, ["operation"]);
});

Deno.test("A stream that is disposed ends after the operations that wait", async () => {
  const log: string[] = [];
  const { finish } = waiting(log);
  const stream = device.createStream();
  stream[Symbol.dispose]();
  assertEquals(stream.disposed, false);
  finish();
  await device.done();
  assertEquals(stream.disposed, true);
});

Deno.test("Where nothing can compile, a synchronous call says so and how to go on", async () => {
  await withCompiler((_all) => {
    throw new TypeError("Cannot wait: await device.done() first");
  }, async () => {
    const { finish } = waiting([]);
    assertThrows(() => device.doneSync(), TypeError, "await device.done()");
    finish();
    await device.done();
  });
});

Deno.test("device.doneSync() compiles and launches an operation at its first use", () => {
  using own = openDevice(device.label);
  using a = T.full([4], 2, { device: own });
  using sum = T.add(a, 40);
  assert(storageOf(sum).isPending);
  own.doneSync();
  assert(!storageOf(sum).isPending);
  assertEquals([...sum.buffer.toArraySync()], [42, 42, 42, 42]);
});

Deno.test("device.doneSync() names the permission that compiling at once needs", async () => {
  const program = new URL("./blocking_program.ts", import.meta.url);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", "--allow-ffi", "--allow-env", program.href],
  }).output();
  const text = new TextDecoder().decode(stdout);
  const message = /Cannot wait for \w+:0 as tensor operations wait .* --allow-read=.* or await/i;
  assert(message.test(text), text + new TextDecoder().decode(stderr));
});

Deno.test("tensor.buffer has an operation's result at its first use", () => {
  using own = openDevice(device.label);
  using product = T.full([2], 3, { device: own }).multiply(5).add(1);
  const { buffer } = product;
  // Its address may be passed on to other libraries.
  assert(!storageOf(product).isPending);
  assertEquals([...buffer.toArraySync()], [16, 16]);
});

Deno.test("A loop that never awaits does not collect operations without end", () => {
  using own = openDevice(device.label);
  using x = T.zeros([1], { device: own });
  let most = 0;
  for (let step = 0; step < 3000; step++) {
    T.add(x, 1, { out: x });
    most = Math.max(most, order.size);
  }
  assert(most <= 1024, `${most} operations waited`);
  assertEquals([...x.buffer.toArraySync()], [3000]);
});
