// Operations that another device takes over. A host device with the kind "cuda" stands in for a GPU.

import { device } from "../support/device.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { configureSync, type LogRecord, resetSync } from "@logtape/logtape";
import {
  CompileError,
  CompilerUnavailableError,
  CudaError,
  Device,
  openDevice,
  OutOfMemoryError,
} from "../../mod.ts";
import { DeviceFallback, fuse, type Tensor, zeros } from "../../src/device/tensor.ts";
import { DeviceContext } from "../../src/hardware/device_context.ts";
import { DeviceStatistics, OperationRecorder } from "../../src/device/device_statistics.ts";
import { injectFault } from "../support/fault_injection.ts";
import { runProgram } from "../support/subprocess.ts";

const { library, ordinal, info } = device.context;

/** The device under test as a GPU. */
const gpu = new Device(new DeviceContext(library, ordinal, { ...info, kind: "cuda" }));
const small = openDevice(device.label, { memory: { maxPoolSize: "4MiB" } });

/** The labels of the devices that an operation runs on. */
function traced<Result>(operation: (device: Device) => Result) {
  const devices: Device[] = [];
  return {
    devices,
    run(it: Device) {
      devices.push(it);
      return operation(it);
    },
  };
}

async function warnings(work: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const sink = ({ level, message }: LogRecord) => lines.push(`${level}: ${message.join("")}`);
  configureSync({
    reset: true,
    sinks: { lines: sink },
    loggers: [
      { category: ["gridstride", "device"], lowestLevel: "warning", sinks: ["lines"] },
      { category: ["logtape", "meta"], lowestLevel: null },
    ],
  });
  await work().finally(() => resetSync());
  return lines;
}

Deno.test("run() repeats an operation for which the device has no memory, and reports it", async () => {
  using runner = new DeviceFallback({ device: small, fallback: device });
  const { devices, run } = traced((it) => {
    using x = zeros([2 << 20], { device: it });
    return x.size;
  });
  const lines = await warnings(async () => assertEquals(await runner.run("make", run), 2 << 20));
  assertEquals(devices, [small, device]);
  assertEquals(lines.length, 1);
  assertMatch(lines[0]!, /^warning: make falls back from \w+:0.* to \w+:0.*: out of memory: /);
  assertEquals(await runner.run("make", () => 5), 5);
  const { operations, fallbackCount, byKind, lastCpuError, lastGpuError } = runner.stats();
  assertEquals([operations, fallbackCount, byKind.make!.operations], [2, 1, 2]);
  assertMatch(String(info.kind === "cuda" ? lastGpuError : lastCpuError), /allocate/);
  assertEquals(info.kind === "cuda" ? lastCpuError : lastGpuError, undefined);
});

Deno.test("run() repeats what lacks a capability or cannot be launched, and nothing else", async () => {
  const repeated = [2, 35, 46, 98, 209, 221, 222, 701, 702, 719, 801, -7];
  const thrown = [1, 4, 200, 400, 700, 710, 716, -1, -2, -5, -15];
  for (const code of [...repeated, ...thrown]) {
    using runner = new DeviceFallback({ device: gpu, fallback: device });
    let calls = 0;
    const fail = () => {
      if (calls++ === 0) throw new CudaError({ action: "compute", code });
      return "done";
    };
    if (repeated.includes(code)) assertEquals(await runner.run("x", fail), "done", `code ${code}`);
    else await assertRejects(() => runner.run("x", fail), CudaError, `(${code})`);
    const { fallbackCount, operations, lastGpuError } = runner.stats();
    const expected = Number(repeated.includes(code));
    assertEquals([fallbackCount, operations], [expected, expected], `code ${code}`);
    assertEquals(lastGpuError !== undefined, expected === 1);
  }
  const errors = [
    new TypeError("a"),
    new RangeError("b"),
    new CompileError("s.cu", "c++", [], "log"),
    new Error("c"),
  ];
  using runner = new DeviceFallback({ device: gpu, fallback: device });
  for (const error of errors) {
    const { devices, run } = traced(() => Promise.reject(error));
    assertEquals(await runner.run("x", run).catch((it) => it), error);
    assertEquals(devices, [gpu]);
  }
  assertEquals([runner.stats().fallbackCount, runner.stats().lastGpuError], [0, undefined]);
  let attempts = 0;
  await runner.run("x", () => {
    if (attempts++ === 0) throw new CompilerUnavailableError("no compiler");
  });
  assertEquals(runner.stats().lastGpuError, "no compiler");
});

Deno.test("run() awaits a tensor, whose launch fails later, and opens the host device", async () => {
  using runner = new DeviceFallback({ device: gpu });
  const double = fuse((x: Tensor<"float32">) => x.add(x).add(41));
  const { devices, run } = traced((it) => double(zeros([3], { device: it })));
  // The zeros are launched first, the other kernel when it is compiled.
  using fault = injectFault(library, "cudaLaunchKernel", 2, 701);
  using result = await runner.run("double", run);
  fault[Symbol.dispose]();
  assertEquals(await result.toArray(), Float32Array.of(41, 41, 41));
  const [first, second] = devices;
  assertEquals([first, second!.info.kind, devices.length], [gpu, "host", 2]);
  assert(second !== device && !second!.disposed);
  const { fallbackCount, gpuOperations, cpuOperations, lastGpuError, provider } = runner.stats();
  assertEquals([fallbackCount, gpuOperations, cpuOperations], [1, 0, 1]);
  assertMatch(String(lastGpuError), /cudaErrorLaunchOutOfResources/);
  assertEquals([provider, runner.provider], ["cuda", "cuda"]);
  runner[Symbol.dispose]();
  assert(second!.disposed && !gpu.disposed);
});

Deno.test("stats() counts time in which operations overlap once", async () => {
  using runner = new DeviceFallback({ device, fallback: null });
  const begun = performance.now();
  await Promise.allSettled(
    Array.from(
      { length: 10 },
      (_, index) =>
        runner.run(index % 2 === 0 ? "even" : "odd", async () => {
          await new Promise((resolve) => setTimeout(resolve, 5 + index));
          if (index === 9) throw new Error("fails");
        }),
    ),
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
  await runner.run("odd", () => 1);
  const passed = performance.now() - begun;
  const { milliseconds, byKind, operations } = runner.stats();
  assertEquals([operations, byKind.even!.operations, byKind.odd!.operations], [10, 5, 5]);
  assert(
    byKind.even!.milliseconds > 0 && milliseconds <= passed,
    `${milliseconds} of ${passed}`,
  );
});

Deno.test("run() awaits the work behind a tensor, which fails after its launch", async () => {
  using runner = new DeviceFallback({ device: gpu, fallback: device });
  const { devices, run } = traced((it) => {
    using x = zeros([3], { device: it });
    return x.add(x);
  });
  (await runner.run("add", run)).dispose();
  using fault = injectFault(library, "cudaStreamQuery", 1, 701);
  using result = await runner.run("add", run);
  fault[Symbol.dispose]();
  assertEquals(devices, [gpu, gpu, device]);
  assertEquals(await result.toArray(), new Float32Array(3));
  assertEquals([runner.stats().fallbackCount, runner.stats().operations], [1, 2]);
});

Deno.test("run() throws the error of the fallback with the first as its cause", async () => {
  using runner = new DeviceFallback({ device: small, fallback: gpu });
  const failure = (it: Device) =>
    new OutOfMemoryError({ action: "fit", requested: it === small ? 1 : 2, free: 0, total: 0 });
  const fail = (it: Device) => Promise.reject(failure(it));
  const error: unknown = await runner.run("x", fail).catch((it) => it);
  assert(error instanceof OutOfMemoryError && error.cause instanceof OutOfMemoryError);
  assertEquals([error.requested, error.cause.requested], [2, 1]);
  assertEquals([runner.stats().operations, runner.stats().fallbackCount], [0, 1]);
  using alone = new DeviceFallback({ device: gpu, fallback: null });
  await assertRejects(() => alone.run("x", fail), OutOfMemoryError);
  assertEquals(alone.stats().fallbackCount, 0);
});

Deno.test("run() leaves a device that an earlier fault has lost, but throws the fault", async () => {
  const program = `
    import { openDevice } from "@gridstride/cuda";
    import { DeviceFallback } from "@gridstride/cuda/tensor";
    using runner = new DeviceFallback({ device: openDevice("host:0"), fallback: openDevice("host:1") });
    const fault = await runner.run("fault", async (device) => {
      using nowhere = device.allocate("float32", 0);
      device.kernels.load("fault_null_write(float* address)").launch({ grid: 1, block: 1 }, nowhere);
      await device.done();
    }).catch(({ codeName }) => codeName);
    const sum = await runner.run("add", async (device) => {
      using x = device.upload(Float32Array.of(1, 2));
      device.kernels.add(x, x, x);
      return (await x.toArray()).join();
    });
    const { fallbackCount, operations, device, fallback } = runner.stats();
    console.log(JSON.stringify([fault, sum, fallbackCount, operations, device, fallback]));
    Deno.exit(0);`;
  const { code, stdout, stderr } = await runProgram(program, {
    environment: { GRIDSTRIDE_FAKE: "2x64MiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
  assertEquals(JSON.parse(stdout), [
    ...["cudaErrorIllegalAddress", "2,4", 1, 1],
    ...["host:0 (fake)", "host:1 (fake)"],
  ]);
});

Deno.test("provider names the vector instructions of a host device", async () => {
  const program = `
    import { openDevice } from "@gridstride/cuda";
    import { DeviceFallback } from "@gridstride/cuda/tensor";
    using runner = new DeviceFallback({ device: openDevice("host") });
    console.log(runner.provider, runner.stats().provider);`;
  const narrow = { GRIDSTRIDE_HOST_VECTORS: "portable", GRIDSTRIDE_DEVICE: undefined };
  const { code, stdout, stderr } = await runProgram(program, { environment: narrow });
  assertEquals([code, stderr, stdout], [0, "", "portable portable\n"]);
  if (info.kind === "cuda" || Deno.env.has("GRIDSTRIDE_HOST_VECTORS")) return;
  if (Deno.build.arch !== "x86_64" || Deno.build.os !== "linux") return;
  using runner = new DeviceFallback({ device });
  const flags = await Deno.readTextFile("/proc/cpuinfo");
  const own = / avx512vl\b/.test(flags) ? "avx512" : / avx2\b/.test(flags) ? "avx2" : "portable";
  assertEquals(runner.provider, own);
});

Deno.test("DeviceStatistics has shares, averages and a summary, 0 without operations", () => {
  const recorder = new OperationRecorder();
  const stats = () => new DeviceStatistics("cuda:0", "host:0", "cuda", recorder);
  const none = stats();
  assertEquals([none.averageMilliseconds, none.gpuEfficiency, none.milliseconds], [0, 0, 0]);
  assert(!none.isGpuEffective());
  for (let at = 0; at < 4; at++) recorder.complete("quantize", "cuda", 3);
  recorder.complete("matmul", "host", 8);
  const most = stats();
  assertEquals([most.gpuEfficiency, most.isGpuEffective()], [0.8, false]);
  recorder.complete("matmul", "cuda", 4);
  recorder.fallbackCount = 1;
  const all = stats();
  assertEquals([all.operations, all.gpuOperations, all.cpuOperations], [6, 5, 1]);
  assertEquals([all.milliseconds, all.averageMilliseconds, all.isGpuEffective()], [24, 4, true]);
  assertEquals(all.byKind.matmul, { operations: 2, milliseconds: 12, averageMilliseconds: 6 });
  assertEquals(most.operations, 5, "earlier statistics stay");
  const { used, total } = all.hostMemory!;
  assert(used > 0 && used < total);
  assertMatch(
    all.summary(),
    /^Device: cuda:0\+host:0 \| Total: 6 operations \(4 quantize, 2 matmul\) \| Time: 24\.00 ms \| GPU: 83\.3 % \| Fallbacks: 1 \| Host memory: [\d.]+\/[\d.]+ GiB \([\d.]+ %\)$/,
  );
});

Deno.test("DeviceFallback refuses wrong devices and operations by name", async () => {
  assertThrows(() => new DeviceFallback({ device: 5 } as never), TypeError, "options.device");
  assertThrows(() => new DeviceFallback({ fallback: {} } as never), TypeError, "options.fallback");
  assertThrows(() => new DeviceFallback({ device, fallback: device }), TypeError, "another device");
  using runner = new DeviceFallback({ device });
  await assertRejects(() => runner.run(5 as never, () => 5), TypeError, "kind must be a string");
  await assertRejects(() => runner.run("x", 5 as never), TypeError, "operation a function");
  assertEquals(runner.stats().fallback, info.kind === "cuda" ? "host" : undefined);
});
