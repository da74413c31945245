import { assertEquals, assertStrictEquals } from "@std/assert";
import { DeviceBuffer, openDevice } from "../../mod.ts";
import { device } from "../support/device.ts";
import { assertRefused, type BadCall, makeFixture } from "./bad_input.ts";

/** Bad calls by what is wrong with them. */
type BadCalls = Readonly<Record<string, readonly BadCall[]>>;

const numbers = (length: number) => new Float32Array(length).fill(9);

const PAST_THE_END: readonly BadCall[] = [
  [({ x }) => x.copyFrom(numbers(101)), RangeError, "100 elements", "0 and 101"],
  [({ x }) => x.copyFrom(numbers(1), { offset: 100 }), RangeError, "offset", "100 and 1"],
  [({ x }) => x.copyFrom(numbers(51), { offset: 50 }), RangeError, "offset", "50 and 51"],
  [({ x, y }) => x.copyFrom(y, { offset: 1 }), RangeError, "offset", "1 and 100"],
  [({ x }) => x.copyTo(numbers(101)), RangeError, "100 elements", "0 and 101"],
  [({ x }) => x.copyTo(numbers(100), { offset: 1 }), RangeError, "offset", "1 and 100"],
  [({ x }) => x.copyToSync(numbers(2), { offset: 99 }), RangeError, "offset", "99 and 2"],
  [({ x }) => x.view(0, 101), RangeError, "end", "100", "101"],
  [({ x }) => x.view(60, 50), RangeError, "start", "60 and 50"],
  [({ x }) => x.view(10, 20).view(0, 11), RangeError, "end", "10", "11"],
  [({ x }) => x.view(10, 20).copyFrom(numbers(11)), RangeError, "10 elements", "11"],
  [({ x, pinned }) => pinned.copyTo(x, { length: 101 }), RangeError, "length", "0 and 101"],
  [({ x, pinned }) => pinned.copyTo(x, { offset: 101 }), RangeError, "offset", "101"],
  [
    ({ x, pinned }) => pinned.copyFrom(x, { offset: 1, length: 100 }),
    RangeError,
    "offset and length",
    "1 and 100",
  ],
  [
    ({ x, pinned }) => pinned.copyFrom(x.view(0, 10), { deviceOffset: 5, length: 6 }),
    RangeError,
    "deviceOffset and length",
    "5 and 6",
  ],
  [({ x }) => x.view(0, 3).as("float64"), RangeError, "float64", "12 bytes", "8"],
  [({ x }) => x.view(1, 3).as("float64"), RangeError, "float64", "8"],
];

const OVERLAPPING: readonly BadCall[] = [
  [({ x }) => x.copyFrom(x), RangeError, "overlap", "400 bytes", "0 bytes apart"],
  [
    ({ x }) => x.copyFrom(x.view(0, 99), { offset: 1 }),
    RangeError,
    "overlap",
    "396 bytes",
    "4 bytes apart",
  ],
  [({ x }) => x.view(0, 60).copyFrom(x.view(40)), RangeError, "overlap", "160 bytes apart"],
  [
    ({ device, x }) => device.kernels.add(x.view(0, 50), x.view(50), x.view(25, 75)),
    RangeError,
    "add",
    "out",
    "100 bytes apart",
  ],
  [
    ({ device, x }) => device.kernels.scale(x.view(0, 99), 2, x.view(1)),
    RangeError,
    "scale",
    "4 bytes apart",
  ],
  [
    ({ device, x }) => device.kernels.axpy(2, x.view(0, 99), x.view(1)),
    RangeError,
    "axpy",
    "4 bytes apart",
  ],
];

const WRONG_TYPES: readonly BadCall[] = [
  [
    ({ x }) => x.copyFrom(new Float64Array(3) as never),
    TypeError,
    "source",
    "Float32Array",
    "Float64Array",
  ],
  [({ x }) => x.copyFrom([1, 2] as never), TypeError, "source", "Float32Array", "an Array"],
  [({ x }) => x.copyFrom(undefined as never), TypeError, "source", "undefined"],
  [({ x, integers }) => x.copyFrom(integers as never), TypeError, "source", "float32", "int32"],
  [({ x }) => x.copyTo(new Uint8Array(3) as never), TypeError, "target", "Uint8Array"],
  [({ x }) => x.copyToSync(null as never), TypeError, "target", "null"],
  [({ x }) => x.copyFrom(numbers(1), null as never), TypeError, "options", "null"],
  [({ x }) => x.copyFrom(numbers(1), { stream: {} as never }), TypeError, "stream", "an Object"],
  [({ x }) => x.copyTo(numbers(1), 3 as never), TypeError, "options", "3"],
  [({ integers, pinned }) => pinned.copyTo(integers as never), TypeError, "float32", "int32"],
  [({ pinned }) => pinned.copyTo(numbers(3) as never), TypeError, "buffer", "Float32Array"],
  [({ device }) => device.allocate("float" as never, 1), TypeError, '"float"', "float32"],
  [({ device }) => device.upload([1, 2] as never), TypeError, "array", "an Array"],
  [
    ({ device }) => device.upload(new Uint16Array(2) as never),
    TypeError,
    "options.dtype",
    "Uint16Array",
  ],
  [
    ({ device }) => device.upload(new Float32Array(2), { dtype: "int8" as never }),
    TypeError,
    "Int8Array",
    "Float32Array",
  ],
  [({ device }) => device.allocate("int8", 1, { fill: 128 }), RangeError, "int8", "128"],
  [({ device }) => device.allocate("bool", 1, { fill: 2 as never }), RangeError, "bool", "2"],
  [({ x }) => x.as("double" as never), TypeError, '"double"'],
  [
    ({ device, x }) => DeviceBuffer.fromAddress(x.address + 2, 8, { device, dtype: "float32" }),
    RangeError,
    "address",
    "4",
  ],
  [
    ({ device, x }) => DeviceBuffer.fromAddress(x.address, 6, { device, dtype: "float32" }),
    RangeError,
    "bytes",
    "6",
  ],
  [
    ({ x }) => DeviceBuffer.fromAddress(x.address, 8, { device: {} as never }),
    TypeError,
    "options.device",
    "undefined",
  ],
];

const DETACHED: readonly BadCall[] = [
  [
    ({ x }) => {
      const array = numbers(10);
      structuredClone(array.buffer, { transfer: [array.buffer] });
      x.copyFrom(array);
    },
    TypeError,
    "source",
    "detached",
  ],
  [
    ({ x }) => {
      const array = numbers(10);
      const copied = x.copyTo(array);
      structuredClone(array.buffer, { transfer: [array.buffer] });
      return copied;
    },
    TypeError,
    "target",
    "40 bytes",
  ],
];

const CALLS: BadCalls = {
  "a copy past the end of a buffer": PAST_THE_END,
  "source and destination that overlap": OVERLAPPING,
  "a wrong type": WRONG_TYPES,
  "an array whose memory was transferred": DETACHED,
};

for (const [title, calls] of Object.entries(CALLS)) {
  Deno.test(`${title} is refused by name and value without writing`, async () => {
    using fixture = makeFixture(device);
    for (const call of calls) await assertRefused(fixture, call);
  });
}

/** Disposes something of the fixture's device and uses it. */
const DISPOSED: readonly BadCall[] = [
  [({ device }) => disposed(device.allocate("float32", 4)).address, TypeError, "float32", "dispos"],
  [({ device }) => disposed(device.allocate("int8", 4)).toArray(), TypeError, "int8", "disposed"],
  [({ device }) => disposed(device.allocate("int8", 4)).toArraySync(), TypeError, "disposed"],
  [
    ({ device }) => disposed(device.allocate("int8", 4)).copyFrom(new Int8Array(1)),
    TypeError,
    "disposed",
  ],
  [({ device, x }) => x.copyFrom(disposed(device.allocate("float32", 4))), TypeError, "disposed"],
  [({ device }) => disposed(device.allocate("int8", 4)).view(), TypeError, "disposed"],
  [({ device }) => disposed(device.allocate("int8", 4)).as("uint8"), TypeError, "disposed"],
  [
    ({ device }) => device.kernels.fill(disposed(device.allocate("float32", 4)), 1),
    TypeError,
    "out",
    "disposed",
  ],
  [
    ({ device, x }) => device.kernels.sum(x, disposed(device.allocate("float32", 1))),
    TypeError,
    "out",
    "disposed",
  ],
  [
    ({ device, x }) => {
      using buffer = device.allocate("float32", 100);
      const view = buffer.view();
      buffer.free();
      device.kernels.add(view, x, view);
    },
    TypeError,
    "disposed",
  ],
  [
    ({ device, x }) => disposed(device.allocatePinned("float32", 4)).copyTo(x),
    TypeError,
    "disposed",
  ],
  [
    ({ device, x }) => disposed(device.allocatePinned("float32", 4)).copyFrom(x),
    TypeError,
    "dispos",
  ],
  [({ device }) => disposed(device.createStream()).query(), TypeError, "stream", "disposed"],
  [({ device }) => disposed(device.createStream()).done(), TypeError, "stream", "disposed"],
  [({ device }) => disposed(device.createStream()).doneSync(), TypeError, "stream", "disposed"],
  [({ device }) => disposed(device.createStream()).record(), TypeError, "stream", "disposed"],
  [({ device }) => disposed(device.createStream()).handle, TypeError, "stream", "disposed"],
  [
    ({ device, x }) => x.copyFrom(numbers(1), { stream: disposed(device.createStream()) }),
    TypeError,
    "stream",
    "disposed",
  ],
  [
    ({ device, x }) => x.toArray({ stream: disposed(device.createStream()) }),
    TypeError,
    "stream",
    "disposed",
  ],
  [
    ({ device, x }) => device.kernels.fill(x, 1, { stream: disposed(device.createStream()) }),
    TypeError,
    "stream",
    "disposed",
  ],
  [
    ({ device, x }) =>
      device.kernels.sum(x, x.view(0, 1), { stream: disposed(device.createStream()) }),
    TypeError,
    "disposed",
  ],
  [
    ({ device, x, pinned }) => pinned.copyTo(x, { stream: disposed(device.createStream()) }),
    TypeError,
    "stream",
    "disposed",
  ],
  [({ device }) => disposed(device.createEvent()).query(), TypeError, "event", "disposed"],
  [({ device }) => disposed(device.createEvent()).done(), TypeError, "event", "disposed"],
  [({ device }) => disposed(device.createEvent()).doneSync(), TypeError, "event", "disposed"],
  [
    ({ device, stream }) => stream.wait(disposed(device.createEvent())),
    TypeError,
    "event",
    "disposed",
  ],
  [
    ({ device, stream }) => disposed(device.createEvent()).record(stream),
    TypeError,
    "event",
    "disposed",
  ],
  [
    ({ device, stream }) => {
      using start = stream.record({ timing: true });
      disposed(device.createEvent({ timing: true })).elapsedSince(start);
    },
    TypeError,
    "event",
    "disposed",
  ],
  ...[
    (gone: typeof device) => gone.allocate("float32", 1),
    (gone: typeof device) => gone.upload(new Float32Array(1)),
    (gone: typeof device) => gone.allocatePinned("float32", 1),
    (gone: typeof device) => gone.createStream(),
    (gone: typeof device) => gone.createEvent(),
    (gone: typeof device) => gone.stream,
    (gone: typeof device) => gone.memoryInfo(),
    (gone: typeof device) => gone.done(),
    (gone: typeof device) => gone.doneSync(),
    (gone: typeof device) => gone.canAccessPeer(device),
    (gone: typeof device) => gone.enablePeerAccess(device),
  ].map((use): BadCall => [
    ({ device }) => use(disposed(openDevice(device.label))),
    TypeError,
    device.label,
    "disposed",
  ]),
];

function disposed<T extends Disposable>(resource: T): T {
  resource[Symbol.dispose]();
  return resource;
}

Deno.test("Methods of disposed objects throw", async () => {
  using fixture = makeFixture(device);
  for (const call of DISPOSED) await assertRefused(fixture, call);
});

Deno.test("A second [Symbol.dispose]() has no effect", async () => {
  using fixture = makeFixture(device);
  const first = device.allocate("float32", 1000);
  const { address } = first;
  first.free();
  using second = device.allocate("float32", 1000, { fill: 6 });
  first.free();
  first[Symbol.dispose]();
  assertEquals(first.disposed, true);
  assertStrictEquals(second.disposed, false);
  assertEquals(new Set(await second.toArray()), new Set([6]), `it was at ${address}`);
  fixture.assertIntact("disposing twice");
});
