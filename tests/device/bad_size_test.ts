import { assertEquals } from "@std/assert";
import { DeviceBuffer, OutOfMemoryError, PinnedBuffer, Stream } from "../../mod.ts";
import { validate } from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { assertAllRefused, type Fixture, makeFixture } from "./bad_input.ts";

const AXPY = device.kernels.load(
  "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
);

/** Values that are no sizes, and their texts in a message. */
const NO_SIZES: readonly (readonly [value: unknown, shown: string])[] = [
  ...[-1, 0.5, NaN, Infinity, -Infinity, 2 ** 53, 1e300, null, true].map((value) =>
    [value, `${value}`] as const
  ),
  ["3", '"3"'],
  [3n, "3n"],
  [{}, "an Object"],
];

/** Functions that take a size, by its name and their own. */
const TAKERS: Readonly<Record<string, (fixture: Fixture, size: never) => unknown>> = {
  "length of allocate": (_, size) => device.allocate("float32", size),
  "alignment of allocate": (_, alignment) => device.allocate("float32", 1, { alignment }),
  "length of DeviceBuffer": (_, size) => DeviceBuffer.allocate(device.context, "float64", size),
  "address of fromAddress": (_, size) => DeviceBuffer.fromAddress(size, 8, { device }),
  "bytes of fromAddress": ({ x }, size) => DeviceBuffer.fromAddress(x.address, size, { device }),
  "length of allocatePinned": (_, size) => device.allocatePinned("int8", size),
  "length of PinnedBuffer": (_, size) => new PinnedBuffer(device.context, "int8", size),
  "start of view": ({ x }, size) => x.view(size, 100),
  "end of view": ({ x }, size) => x.view(0, size),
  "offset of copyFrom": ({ x }, offset) => x.copyFrom(new Float32Array(1), { offset }),
  "offset between buffers": ({ x, y }, offset) => x.copyFrom(y.view(0, 1), { offset }),
  "offset of copyTo": ({ x }, offset) => x.copyTo(new Float32Array(1), { offset }),
  "offset of copyToSync": ({ x }, offset) => x.copyToSync(new Float32Array(1), { offset }),
  "offset of a pinned copyTo": ({ x, pinned }, offset) => pinned.copyTo(x, { offset }),
  "length of a pinned copyTo": ({ x, pinned }, length) => pinned.copyTo(x, { length }),
  "deviceOffset of copyFrom": ({ x, pinned }, deviceOffset) => pinned.copyFrom(x, { deviceOffset }),
  "length of a pinned copyFrom": ({ x, pinned }, length) => pinned.copyFrom(x, { length }),
  "elements of launchFor": (_, elements) => device.launchFor(AXPY, { elements }),
  "elementsPerThread of launchFor": (_, elementsPerThread) =>
    device.launchFor(AXPY, { elements: 1, elementsPerThread }),
  "sharedMemory of launchFor": (_, sharedMemory) =>
    device.launchFor(AXPY, { elements: 1, sharedMemory }),
  "grid of launch": ({ x, y }, grid) => AXPY.launch({ grid, block: 1 }, 1, x, y, 1),
  "block of launch": ({ x, y }, block) => AXPY.launch({ grid: 1, block }, 1, x, y, 1),
  "sharedMemory of launch": ({ x, y }, sharedMemory) =>
    AXPY.launch({ grid: 1, block: 1, sharedMemory }, 1, x, y, 1),
  "priority of createStream": (_, priority) => device.createStream({ priority }),
  "handle of fromHandle": (_, handle) => Stream.fromHandle(device, handle),
  "sizes of validate": (_, size) => validate(device, { operations: ["fill"], sizes: [size] }),
  "seed of validate": (_, seed) => validate(device, { operations: ["fill"], seed }),
};

Deno.test("Functions that take a size name the argument when it is malformed", async () => {
  using fixture = makeFixture(device);
  for (const [title, take] of Object.entries(TAKERS)) {
    const [name] = title.split(" ") as [string];
    for (const [value, shown] of NO_SIZES) {
      // A stream can have the priority -1.
      const [bad, text] = name === "priority" && value === -1 ? [-100, "-100"] : [value, shown];
      const call = (target: Fixture) => take(target, bad as never);
      await assertAllRefused(fixture, Error, `${name} … ${text}`, [call]);
    }
  }
});

Deno.test("Device.allocate() throws OutOfMemoryError with the figures when memory is short", async () => {
  using fixture = makeFixture(device);
  for (const length of [2 ** 45, 2 ** 50]) {
    const texts = `allocate ${length * 4} bytes … ${device.label}`;
    const call = () => device.allocate("float32", length);
    await assertAllRefused(fixture, OutOfMemoryError, texts, [call]);
  }
});

Deno.test("DeviceBuffer.toArray() refuses an array that JavaScript cannot hold", async () => {
  using fixture = makeFixture(device);
  // No memory lies behind this buffer.
  using far = DeviceBuffer.fromAddress(4096, 2 ** 50, { device, dtype: "float64" });
  const calls = [() => far.toArray(), () => far.toArraySync()];
  await assertAllRefused(fixture, RangeError, String(2 ** 50), calls);
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
