import { assertEquals } from "@std/assert";
import { CudaError, type Kernel } from "../../mod.ts";
import { device } from "../support/device.ts";
import { assertRefused, type BadCall, type Fixture, makeFixture } from "./bad_input.ts";

const SIGNATURE = "axpy_float32(float a, const float* x, float* y, unsigned long long n)";
const axpy = device.kernels.load(SIGNATURE);
/** The same kernel for calls that the types of its signature would not compile. */
const untyped = axpy as unknown as Kernel;
const ONE = { grid: 1, block: 1 };

const { info } = device;
const { maxGridDimensions: maxGrid, maxBlockDimensions: maxBlock, maxThreadsPerBlock } = info;

/** Extents of 1 but for one of them. */
function only(dimension: number, extent: number): [number, number, number] {
  const extents: [number, number, number] = [1, 1, 1];
  extents[dimension] = extent;
  return extents;
}

/** For each dimension: nothing, less than nothing, a part, and one beyond the limit. */
function badExtents(field: "grid" | "block", limits: readonly number[]): BadCall[] {
  return limits.flatMap((limit, dimension) =>
    [0, -1, 1.5, NaN, limit + 1, 2 ** 32, 2 ** 53].map((extent): BadCall => [
      ({ x, y }) => axpy.launch({ ...ONE, [field]: only(dimension, extent) }, 1, x, y, 1),
      RangeError,
      `${field}.${"xyz"[dimension]}`,
      `1..${limit}`,
      `it is ${extent}`,
    ])
  );
}

const launchWith = (config: unknown): BadCall[0] => ({ x, y }) =>
  axpy.launch(config as typeof ONE, 1, x, y, 1);

const CONFIGURATIONS: readonly BadCall[] = [
  ...badExtents("grid", [maxGrid.x, maxGrid.y, maxGrid.z]),
  ...badExtents("block", [maxBlock.x, maxBlock.y, maxBlock.z]),
  [
    launchWith({ grid: 1, block: [maxThreadsPerBlock / 2, 3] }),
    RangeError,
    "threads of block",
    `1..${maxThreadsPerBlock}`,
    `${maxThreadsPerBlock / 2 * 3}`,
  ],
  [launchWith({ grid: 1, block: [32, 32, 2] }), RangeError, "threads of block", "2048"],
  [
    launchWith({ ...ONE, sharedMemory: info.sharedMemoryPerBlockOptIn + 1 }),
    RangeError,
    "sharedMemory",
    `0..${info.sharedMemoryPerBlockOptIn}`,
    String(info.sharedMemoryPerBlockOptIn + 1),
  ],
  [launchWith({ ...ONE, sharedMemory: -1 }), RangeError, "sharedMemory", "it is -1"],
  [launchWith({ ...ONE, sharedMemory: "16" }), TypeError, "sharedMemory", '"16"'],
  [launchWith({ block: 1 }), TypeError, "grid", "undefined"],
  [launchWith({ grid: 1 }), TypeError, "block", "undefined"],
  [launchWith({ grid: [], block: 1 }), TypeError, "grid", "an array of 0"],
  [launchWith({ grid: [1, 1, 1, 1], block: 1 }), TypeError, "grid", "an array of 4"],
  [launchWith({ grid: "1", block: 1 }), TypeError, "grid", '"1"'],
  [launchWith({ grid: { x: 1 }, block: 1 }), TypeError, "grid", "an Object"],
  [launchWith({ grid: [1n], block: 1 }), TypeError, "grid.x", "1n"],
  [launchWith(null), TypeError, "configuration", "null"],
  [launchWith(undefined), TypeError, "configuration", "undefined"],
  [launchWith(7), TypeError, "configuration", "7"],
  [launchWith({ ...ONE, stream: {} }), TypeError, "stream", "an Object"],
  [launchWith({ ...ONE, stream: null }), TypeError, "stream", "null"],
];

Deno.test("Kernel.launch() names the field and value when a limit is exceeded", async () => {
  using fixture = makeFixture(device);
  for (const call of CONFIGURATIONS) await assertRefused(fixture, call);
});

/** Launches with arguments that the compiler would refuse. */
function launching(list: (fixture: Fixture) => readonly unknown[]): BadCall[0] {
  return (fixture) => untyped.launch(ONE, ...list(fixture) as never[]);
}

const ARGUMENTS: readonly BadCall[] = [
  [launching(() => []), TypeError, "axpy_float32", "4 arguments", "are 0"],
  [launching(({ x, y }) => [1, x, y]), TypeError, "4 arguments", "are 3"],
  [launching(({ x, y }) => [1, x, y, 1, 1]), TypeError, "4 arguments", "are 5"],
  [launching(({ x, y }) => ["1", x, y, 1]), TypeError, "argument a (1 of 4)", '"1"'],
  [launching(({ x, y }) => [undefined, x, y, 1]), TypeError, "argument a (1 of 4)", "undefined"],
  [launching(({ x, y }) => [1n, x, y, 1]), TypeError, "argument a (1 of 4)", "1n"],
  [launching(({ y }) => [1, undefined, y, 1]), TypeError, "argument x (2 of 4)", "undefined"],
  [
    launching(({ x, y }) => [1, x.address, y, 1]),
    TypeError,
    "argument x (2 of 4)",
    "device memory",
  ],
  [
    launching(({ y }) => [1, new Float32Array(100), y, 1]),
    TypeError,
    "argument x (2 of 4)",
    "Float32Array, which lies in host memory",
  ],
  [
    launching(({ y, pinned }) => [1, pinned, y, 1]),
    TypeError,
    "argument x (2 of 4)",
    "PinnedBuffer",
  ],
  [
    launching(({ y, integers }) => [1, integers, y, 1]),
    TypeError,
    "argument x (2 of 4)",
    "float32",
    "int32",
  ],
  [
    launching(({ x, integers }) => [1, x, integers, 1]),
    TypeError,
    "argument y (3 of 4)",
    "float32",
    "int32",
  ],
  [
    launching(({ x, y }) => {
      const { context, dtype, address, length, disposed } = y;
      return [1, x, { context, dtype, address, length, disposed, readOnly: true }, 1];
    }),
    TypeError,
    "argument y (3 of 4)",
    "read-only",
  ],
  [
    launching(({ device, x }) => {
      const gone = device.allocate("float32", 100);
      gone.free();
      return [1, x, gone, 1];
    }),
    TypeError,
    "argument y (3 of 4)",
    "disposed",
  ],
  ...([
    [-1, RangeError, "-1"],
    [0.5, RangeError, "0.5"],
    [NaN, RangeError, "NaN"],
    [Infinity, RangeError, "Infinity"],
    [2 ** 53, RangeError, "9007199254740992"],
    [-1n, RangeError, "-1n"],
    [1n << 64n, RangeError, "18446744073709551616n"],
    ["1", TypeError, '"1"'],
    [true, TypeError, "true"],
    [null, TypeError, "null"],
  ] as const).map(([n, errorClass, shown]): BadCall => [
    launching(({ x, y }) => [1, x, y, n]),
    errorClass,
    "argument n (4 of 4)",
    shown,
  ]),
];

Deno.test("Kernel.launch() names the parameter and value of a wrong argument", async () => {
  using fixture = makeFixture(device);
  for (const call of ARGUMENTS) await assertRefused(fixture, call);
});

const loading = (signature: unknown): BadCall[0] => ({ device }) =>
  device.kernels.load(signature as never);

const SIGNATURES: readonly BadCall[] = [
  [loading("nothing(int)"), TypeError, "nothing", "no built-in kernel"],
  [loading("axpy_float32(float, const float*, float*)"), TypeError, "4 parameters", "there are 3"],
  [
    loading("axpy_float32(float, float*, float*, unsigned long long)"),
    TypeError,
    "parameter 2 of 4",
    "const float*",
  ],
  [
    loading("axpy_float32(double, const float*, float*, unsigned long long)"),
    TypeError,
    "parameter 1 of 4",
    "double",
  ],
  [loading("axpy_float32(float"), SyntaxError, "axpy_float32(float"],
  [loading("axpy_float32(float**)"), SyntaxError, "pointer to a pointer"],
  [loading("axpy_float32(string)"), SyntaxError, "string"],
  [loading(""), SyntaxError, "name"],
  [loading(7), TypeError, "signature", "7"],
  [loading(undefined), TypeError, "signature", "undefined"],
];

Deno.test("DeviceKernels.load() refuses a malformed or different signature", async () => {
  using fixture = makeFixture(device);
  for (const call of SIGNATURES) await assertRefused(fixture, call);
});

const OPERATIONS: readonly BadCall[] = [
  [({ device, x }) => device.kernels.add(x, x, null as never), TypeError, "add", "out", "null"],
  [({ device, x }) => device.kernels.add({} as never, x, x), TypeError, "add", "x", "an Object"],
  [
    ({ device, x, integers }) => device.kernels.add(x, integers as never, x),
    TypeError,
    "y must be float32",
    "int32",
  ],
  [({ device, x }) => device.kernels.add(x, x.view(1), x), RangeError, "y", "100", "99"],
  [
    ({ device, x, y }) => device.kernels.multiply(x, y, x.view(0, 9)),
    RangeError,
    "out",
    "100",
    "9",
  ],
  [
    ({ device, integers }) => device.kernels.scale(integers as never, 2, integers as never),
    TypeError,
    "x must be float64, float32, float16, bfloat16",
    "int32",
  ],
  [({ device, x }) => device.kernels.scale(x, "2" as never, x), TypeError, "factor", '"2"'],
  [
    ({ device, x }) => device.kernels.scale(x, 2, x, { offset: "1" as never }),
    TypeError,
    "offset",
    '"1"',
  ],
  [({ device, x, y }) => device.kernels.axpy(null as never, x, y), TypeError, "a", "null"],
  [({ device, x, y }) => device.kernels.sum(x, y), RangeError, "out", "1 elements", "100"],
  [
    ({ device, x, bins }) => device.kernels.sum(x, bins.view(0, 1) as never),
    TypeError,
    "out",
    "uint32",
  ],
  [({ device, x }) => device.kernels.min(x.view(0, 0), x.view(0, 1)), RangeError, "x", "empty"],
  [({ device, x }) => device.kernels.max(x.view(0, 0), x.view(0, 1)), RangeError, "x", "empty"],
  [({ device, x, y }) => device.kernels.moments(x, y.view(0, 1)), RangeError, "out", "2 elements"],
  [
    ({ device, x, y }) => device.kernels.moments(x, y.view(0, 2), { correction: -1 }),
    RangeError,
    "correction",
    "-1",
  ],
  [
    ({ device, x, bins }) => device.kernels.histogram(x, bins, { low: 1, high: 1 }),
    RangeError,
    "low and high",
    "1 and 1",
  ],
  [
    ({ device, x, bins }) => device.kernels.histogram(x, bins, { low: NaN, high: 1 }),
    RangeError,
    "low and high",
    "NaN and 1",
  ],
  [
    ({ device, x, bins }) => device.kernels.histogram(x, bins.view(0, 0), { low: 0, high: 1 }),
    RangeError,
    "counts",
    "0",
  ],
  [
    ({ device, x, bins }) => device.kernels.histogram(x, bins, undefined as never),
    TypeError,
    "options",
    "undefined",
  ],
  [({ device, integers }) => device.kernels.fill(integers, 0.5), RangeError, "int32", "0.5"],
  [
    ({ device, integers }) => device.kernels.fill(integers, 2 ** 31),
    RangeError,
    "int32",
    "2147483648",
  ],
  [({ device, x }) => device.kernels.fill(x, "1" as never), RangeError, "float32", '"1"'],
  [
    ({ device }) => device.launchFor({} as never, { elements: 1 }),
    TypeError,
    "kernel",
    "an Object",
  ],
  [({ device }) => device.launchFor(axpy, null as never), TypeError, "problem", "null"],
];

Deno.test("DeviceKernels operations name the operand or option that does not fit", async () => {
  using fixture = makeFixture(device);
  for (const call of OPERATIONS) await assertRefused(fixture, call);
});

const TIMING: readonly BadCall[] = [
  [
    ({ stream }) => {
      using start = stream.record();
      using end = stream.record({ timing: true });
      end.elapsedSince(start);
    },
    TypeError,
    "timing: true",
  ],
  [
    ({ device }) => {
      using start = device.createEvent({ timing: true });
      using end = device.createEvent({ timing: true });
      end.elapsedSince(start);
    },
    CudaError,
    "measure the time between two events",
    device.label,
  ],
  [({ device }) => device.createEvent({ timing: 1 as never }), TypeError, "timing", "1"],
  [({ device }) => device.createEvent(null as never), TypeError, "options", "null"],
  [({ stream }) => stream.wait({} as never), TypeError, "event", "an Object"],
  [({ device }) => device.createEvent().record({} as never), TypeError, "stream", "an Object"],
];

Deno.test("Event methods refuse events and streams that do not fit", async () => {
  using fixture = makeFixture(device);
  for (const call of TIMING) await assertRefused(fixture, call);
});

Deno.test("Kernel.launch() computes correctly after refused launches", async () => {
  using fixture = makeFixture(device);
  axpy.launch(device.launchFor(axpy, { elements: 100 }), 2, fixture.x, fixture.y, 100);
  assertEquals([...await fixture.y.toArray()], Array.from({ length: 100 }, (_, index) => index));
});
