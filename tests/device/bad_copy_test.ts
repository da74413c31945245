import { assertEquals, assertStrictEquals } from "@std/assert";
import { type Device, DeviceBuffer, openDevice } from "../../mod.ts";
import { device } from "../support/device.ts";
import { assertAllRefused, assertRefused, makeFixture } from "./bad_input.ts";

const numbers = (length: number) => new Float32Array(length).fill(9);

Deno.test("DeviceBuffer methods name the range when it exceeds a buffer", async () => {
  using fixture = makeFixture(device);
  await assertRefused(fixture, RangeError, {
    "copy into … 100 elements … 0 and 101": ({ x }) => x.copyFrom(numbers(101)),
    "offset … 100 and 1": ({ x }) => x.copyFrom(numbers(1), { offset: 100 }),
    "offset … 50 and 51": ({ x }) => x.copyFrom(numbers(51), { offset: 50 }),
    "offset … 1 and 100": ({ x, y }) => x.copyFrom(y, { offset: 1 }),
    "copy from … 100 elements … 0 and 101": ({ x }) => x.copyTo(numbers(101)),
    "100 elements … 1 and 100": ({ x }) => x.copyTo(numbers(100), { offset: 1 }),
    "offset … 99 and 2": ({ x }) => x.copyToSync(numbers(2), { offset: 99 }),
    "end … 100 … 101": ({ x }) => x.view(0, 101),
    "start … 60 and 50": ({ x }) => x.view(60, 50),
    "end … 10 … 11": ({ x }) => x.view(10, 20).view(0, 11),
    "10 elements … 11": ({ x }) => x.view(10, 20).copyFrom(numbers(11)),
    "length … 0 and 101": ({ x, pinned }) => pinned.copyTo(x, { length: 101 }),
    "offset … 101": ({ x, pinned }) => pinned.copyTo(x, { offset: 101 }),
    "offset and length … 1 and 100": ({ x, pinned }) =>
      pinned.copyFrom(x, { offset: 1, length: 100 }),
    "deviceOffset and length … 5 and 6": ({ x, pinned }) =>
      pinned.copyFrom(x.view(0, 10), { deviceOffset: 5, length: 6 }),
    "float64 … 12 bytes … 8": ({ x }) => x.view(0, 3).as("float64"),
    "float64 … 8": ({ x }) => x.view(1, 3).as("float64"),
  });
});

Deno.test("DeviceBuffer.copyFrom() and kernels refuse operands that overlap", async () => {
  using fixture = makeFixture(device);
  await assertRefused(fixture, RangeError, {
    "overlap … 400 bytes … 0 bytes apart": ({ x }) => x.copyFrom(x),
    "overlap … 396 bytes … 4 bytes apart": ({ x }) => x.copyFrom(x.view(0, 99), { offset: 1 }),
    "overlap … 160 bytes apart": ({ x }) => x.view(0, 60).copyFrom(x.view(40)),
    "add … out … 100 bytes apart": ({ device, x }) =>
      device.kernels.add(x.view(0, 50), x.view(50), x.view(25, 75)),
    "scale … 4 bytes apart": ({ device, x }) => device.kernels.scale(x.view(0, 99), 2, x.view(1)),
    "axpy … 4 bytes apart": ({ device, x }) => device.kernels.axpy(2, x.view(0, 99), x.view(1)),
  });
});

Deno.test("Copies and allocations name an argument of a wrong type", async () => {
  using fixture = makeFixture(device);
  await assertRefused(fixture, TypeError, {
    "source … Float32Array … Float64Array": ({ x }) => x.copyFrom(new Float64Array(3) as never),
    "source … Float32Array … [1, 2]": ({ x }) => x.copyFrom([1, 2] as never),
    "source … undefined": ({ x }) => x.copyFrom(undefined as never),
    "source … float32 … int32": ({ x, integers }) => x.copyFrom(integers as never),
    "target … Uint8Array": ({ x }) => x.copyTo(new Uint8Array(3) as never),
    "target … null": ({ x }) => x.copyToSync(null as never),
    "options … null": ({ x }) => x.copyFrom(numbers(1), null as never),
    "stream … an Object": ({ x }) => x.copyFrom(numbers(1), { stream: {} as never }),
    "options … 3": ({ x }) => x.copyTo(numbers(1), 3 as never),
    "float32 … int32": ({ integers, pinned }) => pinned.copyTo(integers as never),
    "buffer … Float32Array": ({ pinned }) => pinned.copyTo(numbers(3) as never),
    '"float" … float32': ({ device }) => device.allocate("float" as never, 1),
    "array … [1, 2]": ({ device }) => device.upload([1, 2] as never),
    "options.dtype … DataView": ({ device }) =>
      device.upload(new DataView(new ArrayBuffer(2)) as never),
    "Int8Array … Float32Array": ({ device }) =>
      device.upload(new Float32Array(2), { dtype: "int8" as never }),
    '"double"': ({ x }) => x.as("double" as never),
    "options.device … undefined": ({ x }) =>
      DeviceBuffer.fromAddress(x.address, 8, { device: {} as never }),
  });
  await assertRefused(fixture, RangeError, {
    "int8 … 128": ({ device }) => device.allocate("int8", 1, { fill: 128 }),
    "bool … 2": ({ device }) => device.allocate("bool", 1, { fill: 2 as never }),
    "address … 4": ({ device, x }) =>
      DeviceBuffer.fromAddress(x.address + 2, 8, { device, dtype: "float32" }),
    "bytes … 6": ({ device, x }) =>
      DeviceBuffer.fromAddress(x.address, 6, { device, dtype: "float32" }),
  });
});

Deno.test("DeviceBuffer copies refuse an array when its memory was transferred", async () => {
  using fixture = makeFixture(device);
  const detach = ({ buffer }: Float32Array<ArrayBuffer>) =>
    structuredClone(buffer, { transfer: [buffer] });
  await assertRefused(fixture, TypeError, {
    "source … detached": ({ x }) => {
      const array = numbers(10);
      detach(array);
      x.copyFrom(array);
    },
    "target … 40 bytes": ({ x }) => {
      const array = numbers(10);
      const copied = x.copyTo(array);
      detach(array);
      return copied;
    },
  });
});

function disposed<T extends Disposable>(resource: T): T {
  resource[Symbol.dispose]();
  return resource;
}

Deno.test("Methods of disposed objects throw", async () => {
  using fixture = makeFixture(device);
  const buffer = () => disposed(device.allocate("float32", 4));
  const pinned = () => disposed(device.allocatePinned("float32", 4));
  const stream = () => disposed(device.createStream());
  const event = () => disposed(device.createEvent());
  await assertAllRefused(fixture, TypeError, "dispos", [
    () => buffer().address,
    () => buffer().toArray(),
    () => buffer().toArraySync(),
    () => buffer().copyFrom(numbers(1)),
    () => buffer().view(),
    () => buffer().as("uint8"),
    ({ x }) => x.copyFrom(buffer()),
    () => device.kernels.fill(buffer(), 1),
    ({ x }) => device.kernels.sum(x, buffer()),
    ({ x }) => {
      using buffer = device.allocate("float32", 100);
      const view = buffer.view();
      buffer.free();
      device.kernels.add(view, x, view);
    },
    ({ x }) => pinned().copyTo(x),
    ({ x }) => pinned().copyFrom(x),
  ]);
  await assertAllRefused(fixture, TypeError, "stream … disposed", [
    () => stream().query(),
    () => stream().done(),
    () => stream().doneSync(),
    () => stream().record(),
    () => stream().handle,
    ({ x }) => x.copyFrom(numbers(1), { stream: stream() }),
    ({ x }) => x.toArray({ stream: stream() }),
    ({ x }) => device.kernels.fill(x, 1, { stream: stream() }),
    ({ x }) => device.kernels.sum(x, x.view(0, 1), { stream: stream() }),
    ({ x, pinned }) => pinned.copyTo(x, { stream: stream() }),
  ]);
  await assertAllRefused(fixture, TypeError, "event … disposed", [
    () => event().query(),
    () => event().done(),
    () => event().doneSync(),
    ({ stream }) => stream.wait(event()),
    ({ stream }) => event().record(stream),
    ({ stream }) => {
      using start = stream.record({ timing: true });
      disposed(device.createEvent({ timing: true })).elapsedSince(start);
    },
  ]);
  const uses: ((closed: Device) => unknown)[] = [
    (closed) => closed.allocate("float32", 1),
    (closed) => closed.upload(new Float32Array(1)),
    (closed) => closed.allocatePinned("float32", 1),
    (closed) => closed.createStream(),
    (closed) => closed.createEvent(),
    (closed) => closed.stream,
    (closed) => closed.memoryInfo(),
    (closed) => closed.done(),
    (closed) => closed.doneSync(),
    (closed) => closed.canAccessPeer(device),
    (closed) => closed.enablePeerAccess(device),
  ];
  const calls = uses.map((use) => () => use(disposed(openDevice(device.label))));
  await assertAllRefused(fixture, TypeError, `${device.label} … disposed`, calls);
});

Deno.test("A second [Symbol.dispose]() has no effect", async () => {
  using fixture = makeFixture(device);
  const first = device.allocate("float32", 1000);
  first.free();
  using second = device.allocate("float32", 1000, { fill: 6 });
  first.free();
  first[Symbol.dispose]();
  assertEquals(first.disposed, true);
  assertStrictEquals(second.disposed, false);
  assertEquals(new Set(await second.toArray()), new Set([6]));
  fixture.assertIntact("disposing twice");
});
