import { assertEquals } from "@std/assert";
import { CudaError, type Kernel } from "../../mod.ts";
import { device } from "../support/device.ts";
import {
  assertAllRefused,
  assertRefused,
  type BadCall,
  type Fixture,
  makeFixture,
} from "./bad_input.ts";

const SIGNATURE = "axpy_float32(float a, const float* x, float* y, unsigned long long n)";
const axpy = device.kernels.load(SIGNATURE);
/** The same kernel without the types of its signature. */
const untyped = axpy as unknown as Kernel;
const ONE = { grid: 1, block: 1 };

const { info, kernels } = device;
const { maxGridDimensions, maxBlockDimensions, maxThreadsPerBlock } = info;

const launchWith = (config: unknown): BadCall => ({ x, y }) =>
  axpy.launch(config as typeof ONE, 1, x, y, 1);

Deno.test("Kernel.launch() names the field and value when a limit is exceeded", async () => {
  using fixture = makeFixture(device);
  const limits = { grid: maxGridDimensions, block: maxBlockDimensions };
  for (const [field, { x, y, z }] of Object.entries(limits)) {
    for (const [dimension, limit] of [x, y, z].entries()) {
      const name = `${field}.${"xyz"[dimension]}`;
      for (const extent of [0, -1, 1.5, NaN, limit + 1, 2 ** 32, 2 ** 53]) {
        const call = launchWith({ ...ONE, [field]: [1, 1, 1].with(dimension, extent) });
        const texts = `${name} … 1..${limit} … it is ${extent}`;
        await assertAllRefused(fixture, RangeError, texts, [call]);
      }
    }
  }
  const optIn = info.sharedMemoryPerBlockOptIn;
  await assertRefused(fixture, RangeError, {
    [`threads of block … 1..${maxThreadsPerBlock} … ${maxThreadsPerBlock / 2 * 3}`]: launchWith({
      grid: 1,
      block: [maxThreadsPerBlock / 2, 3],
    }),
    "threads of block … 2048": launchWith({ grid: 1, block: [32, 32, 2] }),
    [`sharedMemory … 0..${optIn} … ${optIn + 1}`]: launchWith({ ...ONE, sharedMemory: optIn + 1 }),
    "sharedMemory … it is -1": launchWith({ ...ONE, sharedMemory: -1 }),
  });
  await assertRefused(fixture, TypeError, {
    'sharedMemory … "16"': launchWith({ ...ONE, sharedMemory: "16" }),
    "grid … undefined": launchWith({ block: 1 }),
    "block … undefined": launchWith({ grid: 1 }),
    "grid … an array of 0": launchWith({ grid: [], block: 1 }),
    "grid … an array of 4": launchWith({ grid: [1, 1, 1, 1], block: 1 }),
    'grid … "1"': launchWith({ grid: "1", block: 1 }),
    "grid … an Object": launchWith({ grid: { x: 1 }, block: 1 }),
    "grid.x … 1n": launchWith({ grid: [1n], block: 1 }),
    "configuration … null": launchWith(null),
    "configuration … undefined": launchWith(undefined),
    "configuration … 7": launchWith(7),
    "stream … an Object": launchWith({ ...ONE, stream: {} }),
    "stream … null": launchWith({ ...ONE, stream: null }),
  });
});

/** Launches with arguments that the compiler would refuse. */
function launching(list: (fixture: Fixture) => readonly unknown[]): BadCall {
  return (fixture) => untyped.launch(ONE, ...list(fixture) as never[]);
}

Deno.test("Kernel.launch() names the parameter and value of a wrong argument", async () => {
  using fixture = makeFixture(device);
  const [a, x, y, n] = ["a (1", "x (2", "y (3", "n (4"].map((name) => `argument ${name} of 4)`);
  await assertRefused(fixture, TypeError, {
    "axpy_float32 … 4 arguments … are 0": launching(() => []),
    "4 arguments … are 3": launching(({ x, y }) => [1, x, y]),
    "4 arguments … are 5": launching(({ x, y }) => [1, x, y, 1, 1]),
    [`${a} … "1"`]: launching(({ x, y }) => ["1", x, y, 1]),
    [`${a} … undefined`]: launching(({ x, y }) => [undefined, x, y, 1]),
    [`${a} … 1n`]: launching(({ x, y }) => [1n, x, y, 1]),
    [`${x} … undefined`]: launching(({ y }) => [1, undefined, y, 1]),
    [`${x} … device memory`]: launching(({ x, y }) => [1, x.address, y, 1]),
    [`${x} … Float32Array, which lies in host memory`]: launching((
      { y },
    ) => [1, new Float32Array(100), y, 1]),
    [`${x} … PinnedBuffer`]: launching(({ y, pinned }) => [1, pinned, y, 1]),
    [`${x} … float32 … int32`]: launching(({ y, integers }) => [1, integers, y, 1]),
    [`${y} … float32 … int32`]: launching(({ x, integers }) => [1, x, integers, 1]),
    [`${y} … read-only`]: launching(({ x, y }) => {
      const { context, dtype, address, length, disposed } = y;
      return [1, x, { context, dtype, address, length, disposed, readOnly: true }, 1];
    }),
    [`${y} … disposed`]: launching(({ device, x }) => {
      const freed = device.allocate("float32", 100);
      freed.free();
      return [1, x, freed, 1];
    }),
    [`${n} … "1"`]: launching(({ x, y }) => [1, x, y, "1"]),
    [`${n} … true`]: launching(({ x, y }) => [1, x, y, true]),
    [`${n} … null`]: launching(({ x, y }) => [1, x, y, null]),
  });
  for (const value of [-1, 0.5, NaN, Infinity, 2 ** 53, -1n, 1n << 64n]) {
    const call = launching(({ x, y }) => [1, x, y, value]);
    await assertAllRefused(fixture, RangeError, `${n} … ${value}`, [call]);
  }
});

Deno.test("DeviceKernels.load() refuses a malformed or different signature", async () => {
  using fixture = makeFixture(device);
  const loading = (signature: unknown) => () => kernels.load(signature as never);
  await assertRefused(fixture, TypeError, {
    "nothing … no built-in kernel": loading("nothing(int)"),
    "4 parameters … there are 3": loading("axpy_float32(float, const float*, float*)"),
    "parameter 2 of 4 … const float*": loading(
      "axpy_float32(float, float*, float*, unsigned long long)",
    ),
    "parameter 1 of 4 … double": loading(
      "axpy_float32(double, const float*, float*, unsigned long long)",
    ),
    "signature … 7": loading(7),
    "signature … undefined": loading(undefined),
  });
  await assertRefused(fixture, SyntaxError, {
    "axpy_float32(float": loading("axpy_float32(float"),
    "pointer to a pointer": loading("axpy_float32(float**)"),
    "string": loading("axpy_float32(string)"),
    "name": loading(""),
  });
});

Deno.test("DeviceKernels operations name the operand or option that does not fit", async () => {
  using fixture = makeFixture(device);
  await assertRefused(fixture, TypeError, {
    "add … out … null": ({ x }) => kernels.add(x, x, null as never),
    "add … x … an Object": ({ x }) => kernels.add({} as never, x, x),
    "y must be float32 … int32": ({ x, integers }) => kernels.add(x, integers as never, x),
    "x must be float64, float32, float16, bfloat16 … int32": ({ integers }) =>
      kernels.scale(integers as never, 2, integers as never),
    'factor … "2"': ({ x }) => kernels.scale(x, "2" as never, x),
    'offset … "1"': ({ x }) => kernels.scale(x, 2, x, { offset: "1" as never }),
    "a … null": ({ x, y }) => kernels.axpy(null as never, x, y),
    "out … uint32": ({ x, bins }) => kernels.sum(x, bins.view(0, 1) as never),
    "options … undefined": ({ x, bins }) => kernels.histogram(x, bins, undefined as never),
    "kernel … an Object": () => device.launchFor({} as never, { elements: 1 }),
    "problem … null": () => device.launchFor(axpy, null as never),
  });
  await assertRefused(fixture, RangeError, {
    "y … 100 … 99": ({ x }) => kernels.add(x, x.view(1), x),
    "out … 100 … 9": ({ x, y }) => kernels.multiply(x, y, x.view(0, 9)),
    "out … 1 elements … 100": ({ x, y }) => kernels.sum(x, y),
    "min … x … empty": ({ x }) => kernels.min(x.view(0, 0), x.view(0, 1)),
    "max … x … empty": ({ x }) => kernels.max(x.view(0, 0), x.view(0, 1)),
    "out … 2 elements": ({ x, y }) => kernels.moments(x, y.view(0, 1)),
    "correction … -1": ({ x, y }) => kernels.moments(x, y.view(0, 2), { correction: -1 }),
    "low and high … 1 and 1": ({ x, bins }) => kernels.histogram(x, bins, { low: 1, high: 1 }),
    "low and high … NaN and 1": ({ x, bins }) => kernels.histogram(x, bins, { low: NaN, high: 1 }),
    "counts … 0": ({ x, bins }) => kernels.histogram(x, bins.view(0, 0), { low: 0, high: 1 }),
    "int32 … 0.5": ({ integers }) => kernels.fill(integers, 0.5),
    "int32 … 2147483648": ({ integers }) => kernels.fill(integers, 2 ** 31),
    'float32 … "1"': ({ x }) => kernels.fill(x, "1" as never),
  });
});

Deno.test("Event methods refuse events and streams that do not fit", async () => {
  using fixture = makeFixture(device);
  await assertRefused(fixture, TypeError, {
    "timing: true": ({ stream }) => {
      using start = stream.record();
      using end = stream.record({ timing: true });
      end.elapsedSince(start);
    },
    "timing … 1": () => device.createEvent({ timing: 1 as never }),
    "options … null": () => device.createEvent(null as never),
    "event … an Object": ({ stream }) => stream.wait({} as never),
    "stream … an Object": () => device.createEvent().record({} as never),
  });
  await assertRefused(fixture, CudaError, {
    [`measure the time between two events … ${device.label}`]: () => {
      using start = device.createEvent({ timing: true });
      using end = device.createEvent({ timing: true });
      end.elapsedSince(start);
    },
  });
});

Deno.test("Kernel.launch() computes correctly after refused launches", async () => {
  using fixture = makeFixture(device);
  axpy.launch(device.launchFor(axpy, { elements: 100 }), 2, fixture.x, fixture.y, 100);
  assertEquals([...await fixture.y.toArray()], Array.from({ length: 100 }, (_, index) => index));
});
