import { assertEquals } from "@std/assert";
import { DeviceBuffer, OutOfMemoryError, PinnedBuffer, Stream, validate } from "../../mod.ts";
import { device } from "../support/device.ts";
import { assertRefused, type Fixture, makeFixture } from "./bad_input.ts";

const AXPY = device.kernels.load(
  "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
);

/** What no size can be, and how a message shows it. */
const NO_SIZES: readonly (readonly [value: unknown, shown: string])[] = [
  [-1, "-1"],
  [0.5, "0.5"],
  [NaN, "NaN"],
  [Infinity, "Infinity"],
  [-Infinity, "-Infinity"],
  [2 ** 53, "9007199254740992"],
  [1e300, "1e+300"],
  ["3", '"3"'],
  [3n, "3n"],
  [null, "null"],
  [true, "true"],
  [{}, "an Object"],
];

/** Where a size is taken, what its name is there, and the classes of error it may be. */
type Taker = readonly [name: string, take: (fixture: Fixture, size: never) => unknown];

const TAKERS: Readonly<Record<string, Taker>> = {
  "device.allocate": ["length", ({ device }, size) => device.allocate("float32", size)],
  "device.allocate, alignment": [
    "alignment",
    ({ device }, alignment) => device.allocate("float32", 1, { alignment }),
  ],
  "DeviceBuffer.allocate": [
    "length",
    ({ device }, size) => DeviceBuffer.allocate(device.context, "float64", size),
  ],
  "DeviceBuffer.fromAddress, address": [
    "address",
    ({ device }, size) => DeviceBuffer.fromAddress(size, 8, { device }),
  ],
  "DeviceBuffer.fromAddress, bytes": [
    "bytes",
    ({ device, x }, size) => DeviceBuffer.fromAddress(x.address, size, { device }),
  ],
  "device.allocatePinned": ["length", ({ device }, size) => device.allocatePinned("int8", size)],
  "new PinnedBuffer": [
    "length",
    ({ device }, size) => new PinnedBuffer(device.context, "int8", size),
  ],
  "buffer.view, start": ["start", ({ x }, size) => x.view(size, 100)],
  "buffer.view, end": ["end", ({ x }, size) => x.view(0, size)],
  "buffer.copyFrom an array": [
    "offset",
    ({ x }, offset) => x.copyFrom(new Float32Array(1), { offset }),
  ],
  "buffer.copyFrom a buffer": [
    "offset",
    ({ x, y }, offset) => x.copyFrom(y.view(0, 1), { offset }),
  ],
  "buffer.copyTo": ["offset", ({ x }, offset) => x.copyTo(new Float32Array(1), { offset })],
  "buffer.copyToSync": ["offset", ({ x }, offset) => x.copyToSync(new Float32Array(1), { offset })],
  "pinned.copyTo, offset": ["offset", ({ x, pinned }, offset) => pinned.copyTo(x, { offset })],
  "pinned.copyTo, length": ["length", ({ x, pinned }, length) => pinned.copyTo(x, { length })],
  "pinned.copyFrom, deviceOffset": [
    "deviceOffset",
    ({ x, pinned }, deviceOffset) => pinned.copyFrom(x, { deviceOffset }),
  ],
  "pinned.copyFrom, length": ["length", ({ x, pinned }, length) => pinned.copyFrom(x, { length })],
  "device.launchFor, elements": [
    "elements",
    ({ device }, elements) => device.launchFor(AXPY, { elements }),
  ],
  "device.launchFor, elementsPerThread": [
    "elementsPerThread",
    ({ device }, elementsPerThread) => device.launchFor(AXPY, { elements: 1, elementsPerThread }),
  ],
  "device.launchFor, sharedMemory": [
    "sharedMemory",
    ({ device }, sharedMemory) => device.launchFor(AXPY, { elements: 1, sharedMemory }),
  ],
  "kernel.launch, grid": [
    "grid",
    ({ x, y }, grid) => AXPY.launch({ grid, block: 1 }, 1, x, y, 1),
  ],
  "kernel.launch, block": [
    "block",
    ({ x, y }, block) => AXPY.launch({ grid: 1, block }, 1, x, y, 1),
  ],
  "kernel.launch, sharedMemory": [
    "sharedMemory",
    ({ x, y }, sharedMemory) => AXPY.launch({ grid: 1, block: 1, sharedMemory }, 1, x, y, 1),
  ],
  "device.createStream, priority": [
    "priority",
    ({ device }, priority) =>
      device.createStream({ priority: (priority as unknown) === -1 ? -100 as never : priority }),
  ],
  "Stream.fromHandle": ["handle", ({ device }, handle) => Stream.fromHandle(device, handle)],
  "validate, sizes": [
    "sizes",
    ({ device }, size) => validate(device, { kernels: ["fill"], sizes: [size] }),
  ],
  "validate, seed": ["seed", ({ device }, seed) => validate(device, { kernels: ["fill"], seed })],
};

for (const [title, [name, take]] of Object.entries(TAKERS)) {
  Deno.test(`${title} names a malformed size`, async () => {
    using fixture = makeFixture(device);
    for (const [value, shown] of NO_SIZES) {
      // An option that is null counts as given, one that takes its default is tested elsewhere.
      const isPriority = title.includes("priority");
      const text = isPriority && value === -1 ? "-100" : shown;
      const call = (target: Fixture) => take(target, value as never);
      await assertRefused(fixture, [call, Error, name, text]);
    }
  });
}

Deno.test("Device.allocate() throws OutOfMemoryError with the figures when memory is short", async () => {
  using fixture = makeFixture(device);
  for (const length of [2 ** 45, 2 ** 50]) {
    const bytes = String(length * 4);
    await assertRefused(fixture, [
      ({ device }) => device.allocate("float32", length),
      OutOfMemoryError,
      `allocate ${bytes} bytes`,
      device.label,
    ]);
  }
});

Deno.test("DeviceBuffer.toArray() refuses an array that JavaScript cannot hold", async () => {
  using fixture = makeFixture(device);
  // Nothing is there: the buffer only says so.
  using far = DeviceBuffer.fromAddress(4096, 2 ** 50, { device, dtype: "float64" });
  await assertRefused(fixture, [() => far.toArray(), RangeError, String(2 ** 50)]);
  await assertRefused(fixture, [() => far.toArraySync(), RangeError, String(2 ** 50)]);
});

Deno.test("Device.allocate() and its operations accept a size of 0", async () => {
  using fixture = makeFixture(device);
  using empty = device.allocate("float32", 0);
  empty.copyFrom(new Float32Array(0));
  empty.copyFrom(fixture.x.view(50, 50));
  device.kernels.fill(empty, 1);
  assertEquals((await empty.toArray()).length, 0);
  fixture.pinned.copyTo(fixture.x, { length: 0 });
  fixture.assertIntact("nothing was copied");
});
