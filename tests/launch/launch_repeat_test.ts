/**
 * Launches that differ little from the one before: a kernel must not confuse remembered arguments
 * with new ones.
 */

import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  CudaError,
  defineStruct,
  DeviceBuffer,
  type LaunchConfig,
  occupancyOf,
  openDevice,
} from "../../mod.ts";
import { listen } from "../../src/stream/activity.ts";
import { device } from "../support/device.ts";
import { callTally, injectFault } from "../support/fault_injection.ts";

const OCCUPANCY = "cudaOccupancyMaxActiveBlocksPerMultiprocessor";

const COUNTS = [0, 1, 2, 5, 8, 33] as const;

function sumOf(count: number): string {
  const names = Array.from({ length: count }, (_, i) => `p${i}`);
  const parameters = ["long long* out", ...names.map((name) => `int ${name}`)].join(", ");
  const sum = names.map((name, i) => `${i + 1}LL * ${name}`).join(" + ");
  return `extern "C" __global__ void sum${count}(${parameters}) { *out = ${sum || "7"}; }`;
}

const Weight = defineStruct("Weight", { value: "float" });

const module = await device.compile(
  `
  ${COUNTS.map(sumOf).join("\n")}
  struct Weight { float value; };
  extern "C" __global__ void keep(double* out, double d, unsigned long long n, bool b,
                                  const float* x) {
    out[0] = d;
    out[1] = double(n >> 32);
    out[2] = b ? 1 : 0;
    out[3] = x == nullptr ? -1 : x[0];
    out[4] = gridDim.x * 1000.0 + blockDim.x;
  }
  extern "C" __global__ void nine(${
    Array.from({ length: 9 }, (_, i) => `float* p${i}`).join(", ")
  }) {}
  extern "C" __global__ void rest() {}
  extern "C" __global__ void weigh(float* out, Weight weight) {
    out[blockIdx.x] = weight.value;
  }`,
  { name: "launch_repeat.cu", structs: [Weight] },
);
const keep = module.kernel(
  "keep(double* out, double d, unsigned long long n, bool b, const float* x)",
);
const one = { grid: 1, block: 1 };

/** What the kernel was passed. */
function kept(
  config: { grid: number; block: number },
  ...[d, n, b, x]: [number, number | bigint, boolean, DeviceBuffer<"float32"> | null]
): number[] {
  using out = device.allocate("float64", 5, { fill: -7 });
  keep.launch(config, out, d, n, b, x);
  return [...out.toArraySync()];
}

Deno.test("launch() passes each argument that changes alone", () => {
  using out = device.allocate("int64", 1);
  for (const count of COUNTS) {
    const kernel = module.kernel(`sum${count}`);
    const values = Array.from({ length: count }, (_, i) => i);
    const sum = () => {
      kernel.launch(one, out, ...values);
      return Number(out.toArraySync()[0]);
    };
    const expected = () =>
      count === 0 ? 7 : values.reduce((total, value, i) => total + (i + 1) * value, 0);
    assertEquals([sum(), sum()], [expected(), expected()], `${count} integers`);
    for (let changed = 0; changed < count; changed++) {
      for (const value of [-(2 ** 31), 0, 2 ** 31 - 1]) {
        values[changed] = value;
        assertEquals([sum(), sum()], [expected(), expected()], `argument ${changed} of ${count}`);
      }
    }
  }
});

Deno.test("launch() refuses too few and too many arguments after valid launches", () => {
  using out = device.allocate("int64", 1, { fill: 0 });
  for (const count of COUNTS) {
    const kernel = module.kernel(`sum${count}`);
    const values: (number | undefined)[] = Array.from({ length: count }, () => 1);
    const launch = (...args: unknown[]) => kernel.launch(one, ...args as never[]);
    const valid = () => launch(out, ...values);
    const takes = `as it takes ${count + 1} argument${count === 0 ? "" : "s"}: there `;
    valid();
    for (const surplus of [[1], [null], [undefined, 1], Array.from({ length: 64 }, () => 1)]) {
      const told = `${takes}are ${count + 1 + surplus.length}`;
      assertThrows(() => launch(out, ...values, ...surplus), TypeError, told);
    }
    launch(out, ...values, undefined, undefined);
    for (let given = 0; given <= count; given++) {
      const told = takes + (given === 1 ? "is 1" : `are ${given}`);
      assertThrows(() => launch(...[out, ...values].slice(0, given)), TypeError, told);
    }
    for (let missing = 0; missing < count; missing++) {
      // An undefined argument at the end counts as not given.
      const told = missing === count - 1 ? takes : `p${missing} (${missing + 2} of ${count + 1})`;
      assertThrows(() => launch(out, ...values.with(missing, undefined)), Error, told);
      // A later argument that is wrong too leaves nothing behind.
      assertThrows(() => launch(undefined, ...values.with(missing, 0.5)), Error, "Cannot launch");
      valid();
    }
    assertEquals(out.toArraySync()[0], BigInt(count === 0 ? 7 : count * (count + 1) / 2));
  }
});

Deno.test("launch() distinguishes zeros of both signs, NaN and bigints from earlier arguments", () => {
  const doubles = [0, -0, 0, NaN, NaN, 0.1, -0, 1];
  for (const d of doubles) assertStrictEquals(kept(one, d, 0, true, null)[0], d);
  const high: [number | bigint, number][] = [
    [2n ** 63n, 2 ** 31],
    [1, 0],
    [2 ** 40, 2 ** 8],
    [2n ** 40n, 2 ** 8],
    [2 ** 40, 2 ** 8],
    [0, 0],
    [2n ** 64n - 1n, 2 ** 32 - 1],
    [2n ** 64n - 1n, 2 ** 32 - 1],
    [2 ** 52, 2 ** 20],
  ];
  for (const [n, expected] of high) assertEquals(kept(one, 0, n, false, null)[1], expected);
  for (const b of [true, true, false, true]) {
    assertEquals(kept(one, 0, 0, b, null)[2], b ? 1 : 0);
  }
  for (const bad of [1, "true", undefined, null]) {
    assertThrows(() => kept(one, 0, 0, bad as never, null), TypeError, "must be a boolean");
  }
});

Deno.test("launch() reads a configuration again that changed in place", () => {
  const config: Record<string, unknown> = { grid: 2, block: 3 };
  const extents = () => kept(config as never, 0, 0, true, null)[4];
  assertEquals([extents(), extents()], [2003, 2003]);
  config.grid = 5;
  assertEquals(extents(), 5003);
  config.block = [4];
  assertEquals([extents(), extents()], [5004, 5004]);
  config.block = 4;
  assertEquals([extents(), extents()], [5004, 5004]);
  for (
    const [field, value] of [
      ["grid", 0],
      ["grid", "5"],
      ["grid", undefined],
      ["block", 2 ** 20],
      ["block", NaN],
      ["sharedMemory", -1],
      ["cooperative", "yes"],
      ["cluster", 9],
      ["stream", {}],
    ] as const
  ) {
    const before = config[field];
    config[field] = value;
    for (let time = 0; time < 2; time++) assertThrows(extents, Error, "Cannot ", field);
    config[field] = before;
    assertEquals(extents(), 5004);
  }
  for (const nothing of [null, undefined, 1, "grid"]) {
    const launch = () => kept(nothing as never, 0, 0, true, null);
    assertThrows(launch, TypeError, "its configuration must be an object");
  }
});

Deno.test("launch() refuses memory that was freed since the last launch, however", () => {
  const bytes = device.allocate("uint8", 64, { fill: 0 });
  const foreign = () => DeviceBuffer.fromAddress(bytes.address, 64, { device, dtype: "float32" });
  const ways: [string, () => DeviceBuffer<"float32">, (buffer: DeviceBuffer<"float32">) => void][] =
    [
      ["free()", () => device.allocate("float32", 4), (buffer) => buffer.free()],
      ["by its address", () => device.allocate("float32", 4), (buffer) => {
        device.pool.free(buffer.address);
      }],
      ["foreign", foreign, (buffer) => buffer.free()],
      ["empty", () => device.allocate("float32", 0), (buffer) => buffer.free()],
    ];
  using out = device.allocate("float64", 5);
  const launch = (memory: DeviceBuffer<"float32">) => keep.launch(one, out, 1, 1, true, memory);
  for (const [way, make, giveBack] of ways) {
    const buffer = make();
    const view = buffer.view(0);
    for (const memory of [buffer, view]) {
      for (let time = 0; time < 2; time++) launch(memory);
    }
    launch(buffer);
    device.stream.doneSync();
    giveBack(buffer);
    for (const memory of [buffer, view, buffer]) {
      assertThrows(() => launch(memory), TypeError, "it is disposed", way);
    }
  }
  bytes.free();
});

Deno.test("launch() refuses freed memory at every position", () => {
  const kernel = module.kernel("nine");
  const buffers = Array.from({ length: 9 }, () => device.allocate("float32", 4));
  const launch = () => kernel.launch(one, ...buffers);
  for (const [index, buffer] of buffers.entries()) {
    launch();
    launch();
    buffer.free();
    assertThrows(launch, TypeError, `p${index} (${index + 1} of 9)`);
    buffers[index] = device.allocate("float32", 4);
  }
  for (const buffer of buffers) buffer.free();
});

Deno.test("launch() lets cooperative blocks be as many as their shared memory allows", () => {
  const kernel = module.kernel("rest");
  const [small, large] = [0, device.info.sharedMemoryPerBlock].map((sharedMemory) => {
    const { activeBlocks } = occupancyOf(kernel, { block: 32, sharedMemory });
    return {
      config: { block: 32, sharedMemory, cooperative: true },
      blocks: activeBlocks * device.info.multiprocessorCount,
    };
  });
  assert(small!.blocks > large!.blocks);
  for (const [one, other] of [[small!, large!], [large!, small!]] as const) {
    for (const { config, blocks } of [one, other, one]) {
      kernel.launch({ ...config, grid: blocks });
      const tooMany = () => kernel.launch({ ...config, grid: blocks + 1 });
      assertThrows(tooMany, RangeError, `1..${blocks}`);
    }
  }
});

Deno.test("launch() asks once for the occupancy of blocks that run at once", () => {
  using own = openDevice(device.label);
  const kernel = own.kernels.load("empty()");
  const { library } = device.context;
  const questions = (config: LaunchConfig) => {
    const before = callTally(library, OCCUPANCY);
    kernel.launch(config);
    return callTally(library, OCCUPANCY) - before;
  };
  const together = { grid: 2, block: 32, cooperative: true };
  const largest = { ...together, sharedMemory: device.info.sharedMemoryPerBlockOptIn };
  assertEquals([together, largest, together, largest].map(questions), [1, 1, 0, 0]);
  assertEquals([together, together, { ...together, block: 64 }].map(questions), [0, 0, 1]);
  // What was refused is refused again.
  const tooMany = { ...together, grid: 2 ** 24 };
  for (let time = 0; time < 2; time++) {
    assertThrows(() => kernel.launch(tooMany), RangeError, "they are 16777216");
  }
});

Deno.test("launch() asks again for an occupancy that CUDA did not give", () => {
  using own = openDevice(device.label);
  const kernel = own.kernels.load("empty()");
  const together = { grid: 1, block: 32, cooperative: true };
  {
    using _fault = injectFault(device.context.library, OCCUPANCY, 1, 46);
    assertThrows(() => kernel.launch(together), CudaError);
  }
  kernel.launch(together);
});

Deno.test("launch() uses the requested stream, and refuses a closed one", () => {
  using out = device.allocate("float64", 5, { fill: 0 });
  const stream = device.createStream();
  const noted: unknown[] = [];
  const { recordStream } = DeviceBuffer.prototype;
  DeviceBuffer.prototype.recordStream = function (used) {
    noted.push(used);
    recordStream.call(this, used);
  };
  const on = (used?: typeof stream) =>
    keep.launch({ ...one, ...(used === undefined ? {} : { stream: used }) }, out, 1, 1, true, null);
  try {
    for (const used of [undefined, stream, stream, undefined, stream]) on(used);
  } finally {
    DeviceBuffer.prototype.recordStream = recordStream;
  }
  // Twice a launch went from the buffer's own stream to the other one.
  assertEquals(noted, [stream, stream]);
  stream.doneSync();
  stream[Symbol.dispose]();
  for (let time = 0; time < 2; time++) assertThrows(() => on(stream), TypeError, "disposed");
  on();
  device.stream.doneSync();
});

Deno.test("launch() captures and reports a repeated launch", async () => {
  using out = device.allocate("float64", 5, { fill: 0 });
  using x = device.allocate("float32", 1, { fill: 3 });
  const launch = () => keep.launch(one, out, 2, 0, true, x);
  const first = async () => (await out.toArray())[3];
  launch();
  launch();
  using graph = device.stream.capture(() => {
    launch();
    launch();
  });
  assertEquals(graph.nodeCount, 2);
  launch();
  await device.stream.done();
  out.copyFrom(new Float64Array(5));
  assertEquals(await first(), 0);
  graph.launch();
  assertEquals(await first(), 3);
  let heard = 0;
  const stop = listen({
    context: device.context,
    work: (_work, _stream, enqueue) => {
      heard++;
      enqueue();
    },
    compiled: () => {},
  });
  launch();
  launch();
  stop();
  launch();
  assertEquals(heard, 2);
  await device.stream.done();
});

Deno.test("launch() refuses a kernel of a disposed module, also while a graph holds the module", async () => {
  const source = `extern "C" __global__ void mark(float* x) { *x = 1; }`;
  const marking = await device.compile(source, { name: "disposed.cu" });
  const mark = marking.kernel("mark");
  using x = device.allocate("float32", 1);
  const launch = () => mark.launch(one, x);
  launch();
  using graph = device.stream.capture(launch);
  launch();
  marking[Symbol.dispose]();
  for (let time = 0; time < 2; time++) {
    assertThrows(launch, TypeError, "Cannot launch mark as module disposed.cu is disposed");
  }
  graph.launch();
  assertEquals([...await x.toArray()], [1]);
});

Deno.test("launch() does not lower the shared memory of another kernel object", () => {
  using out = device.allocate("float64", 5);
  const { sharedMemoryPerBlock, sharedMemoryPerBlockOptIn } = device.info;
  const again = module.kernel("keep") as unknown as typeof keep;
  assert(again !== keep);
  const launch = (kernel: typeof keep, sharedMemory: number) =>
    kernel.launch({ ...one, sharedMemory }, out, 1, 1, true, null);
  launch(keep, sharedMemoryPerBlockOptIn);
  launch(again, sharedMemoryPerBlock + 1);
  launch(keep, sharedMemoryPerBlockOptIn);
  launch(again, sharedMemoryPerBlockOptIn);
  device.stream.doneSync();
});

Deno.test("launch() refuses a kernel of a closed device, also once the device is open again", () => {
  const opened = openDevice(device.label);
  const empty = opened.kernels.load("empty()");
  for (let time = 0; time < 2; time++) empty.launch(one);
  opened.doneSync();
  opened[Symbol.dispose]();
  assertThrows(() => empty.launch(one), TypeError, "is disposed");
  using reopened = openDevice(device.label);
  reopened.kernels.load("empty()").launch(one);
  assertThrows(() => empty.launch(one), TypeError, "is disposed");
  reopened.doneSync();
});

Deno.test("launch() fails if a getter launches in vain or frees memory", () => {
  using out = device.allocate("float32", 4, { fill: -1 });
  const other = device.allocate("float32", 4);
  const weigh = module.kernel("weigh(float* out, Weight weight)");
  const launch = (grid: number, value: () => number) =>
    weigh.launch({ grid, block: 1 }, out, {
      get value() {
        return value();
      },
    });
  launch(1, () => 5);
  const inVain = () => {
    try {
      launch(3, () => "heavy" as never);
      weigh.launch({ grid: 4, block: 0 }, out, { value: 1 });
    } catch {
      // It leaves its numbers behind.
    }
    return 6;
  };
  assertThrows(() => launch(1, inVain), TypeError, "a getter of its configuration or arguments");
  const freeing = () => {
    other.free();
    return 7;
  };
  assertThrows(() => launch(1, freeing), TypeError, "a getter of its arguments has freed memory");
  launch(2, () => 8);
  // Neither the refused nor the vain launches have run.
  assertEquals([...out.toArraySync()], [8, 8, -1, -1]);
});
