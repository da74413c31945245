import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type Device, openDevice } from "../../../mod.ts";
import {
  type CopyRecord,
  DeviceTrace,
  type KernelRecord,
  type TraceRecording,
} from "../../../src/lab/trace/mod.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { SCALE } from "../../../src/kernels/elementwise.ts";
import { problemsOf } from "./trace_file_rules.ts";
import { traceFile } from "../../../src/lab/trace/trace_file.ts";
import { device } from "../../support/device.ts";
import { runFile } from "../../support/subprocess.ts";

const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";
const ONE_THREAD = { grid: 1, block: 1 };

/** The recording of what a body does. */
async function recordingOf(body: (trace: DeviceTrace) => unknown): Promise<TraceRecording> {
  using trace = new DeviceTrace(device);
  await body(trace);
  const recording = await trace.stop();
  assertEquals(problemsOf(JSON.parse([...traceFile([recording])].join(""))), []);
  return recording;
}

function kernels({ work }: TraceRecording): KernelRecord[] {
  return work.filter((each) => each.kind === "kernel");
}

function copies({ work }: TraceRecording): CopyRecord[] {
  return work.filter((each) => each.kind === "copy");
}

Deno.test("DeviceTrace records launch parameters, start and duration of kernels", async () => {
  using out = device.allocate("float32", 100, { fill: 0 });
  using side = device.createStream();
  const spin = device.kernels.load(SPIN);
  const recording = await recordingOf(() => {
    spin.launch({ grid: [2, 1, 1], block: [32, 2], sharedMemory: 256 }, out, 5e6, 1);
    spin.launch({ ...ONE_THREAD, stream: side }, out, 20e6, 1);
  });
  // Records are in the order of their starts, which a device may choose for two streams.
  const [first, second, ...more] = kernels(recording).toSorted((a, b) => a.stream - b.stream);
  assertEquals(more, []);
  assertEquals([first!.name, first!.grid, first!.block], ["spin_float32", [2, 1, 1], [32, 2, 1]]);
  assertEquals([first!.dynamicSharedMemory, first!.bytes], [256, 400]);
  assertEquals([first!.stream, second!.stream], [0, 1]);
  assertEquals(recording.streams, ["default stream", "stream 2"]);
  assert(first!.duration >= 5 && second!.duration >= 20, Deno.inspect([first, second]));
  assert(first!.occupancy > 0 && first!.occupancy <= 1);
  const slack = 2 * recording.clockError;
  for (const { enqueued, enqueueTime, start, duration } of [first!, second!]) {
    assert(enqueued >= 0 && enqueueTime >= 0 && start >= enqueued - slack);
    assert(start + duration <= recording.duration + slack);
  }
});

Deno.test("DeviceTrace has one default stream, however often the device is opened", async () => {
  using again = openDevice(device.label);
  using own = device.allocate("float32", 4, { fill: 1 });
  using other = again.allocate("float32", 4, { fill: 1 });
  const recording = await recordingOf(() => {
    device.kernels.scale(own, 2, own);
    again.kernels.scale(other, 2, other);
  });
  assertEquals(recording.streams, ["default stream"]);
  assertEquals(kernels(recording).map(({ stream }) => stream), [0, 0]);
});

Deno.test("DeviceTrace.stats() sums launches per kernel and in total", async () => {
  using out = device.allocate("float32", 1000, { fill: 1 });
  const spin = device.kernels.load(SPIN);
  const recording = await recordingOf(() => {
    for (let i = 0; i < 3; i++) spin.launch(ONE_THREAD, out, 2e6, 1);
    device.kernels.scale(out, 2, out);
  });
  const { kernels: [first, second, ...more], launches } = recording.statistics;
  assertEquals(more, []);
  assertEquals([first!.kernel, first!.launches, first!.bytes], ["spin_float32", 3, 12000]);
  const { name } = SCALE.of(device.context, "float32");
  assertEquals([second!.kernel, second!.launches, second!.bytes], [name, 1, 4000]);
  const times = kernels(recording).filter(({ name }) => name === "spin_float32")
    .map(({ duration }) => duration);
  const time = times.reduce((sum, duration) => sum + duration, 0);
  assertEquals([first!.time, first!.mean], [time, time / 3]);
  assertEquals([first!.min, first!.max], [Math.min(...times), Math.max(...times)]);
  // Bytes per second of a kernel are its own bytes by its own time.
  assertEquals(first!.bytesPerSecond, 12000 / (time / 1000));
  assertEquals([launches.launches, launches.bytes], [4, 16000]);
  assertEquals(launches.time, time + second!.time);
});

Deno.test("DeviceTrace records copies of every direction with their rates", async () => {
  using x = device.allocate("float32", 1000);
  using y = device.allocate("float32", 1000);
  using pinned = device.allocatePinned("float32", 10);
  const recording = await recordingOf(async () => {
    x.copyFrom(new Float32Array(1000));
    pinned.copyTo(x);
    pinned.copyFrom(x);
    y.copyFrom(x);
    await y.toArray();
    y.toArraySync();
  });
  assertEquals(
    copies(recording).map(({ direction, hostMemory, bytes }) => [direction, hostMemory, bytes]),
    [
      ["hostToDevice", "staged", 4000],
      ["hostToDevice", "pinned", 40],
      ["deviceToHost", "pinned", 40],
      ["deviceToDevice", "none", 4000],
      ["deviceToHost", "staged", 4000],
      ["deviceToHost", "pageable", 4000],
    ],
  );
  const { hostToDevice, deviceToHost, deviceToDevice, peer } = recording.statistics;
  assertEquals([hostToDevice.copies, hostToDevice.bytes], [2, 4040]);
  assertEquals([deviceToHost.copies, deviceToHost.bytes], [3, 8040]);
  assertEquals([deviceToDevice.copies, peer.copies], [1, 0]);
  assert(hostToDevice.time > 0);
  assertEquals(hostToDevice.bytesPerSecond, 4040 / (hostToDevice.time / 1000));
  assertEquals(hostToDevice.small.copies, 2);
});

Deno.test("DeviceTrace counts captured work and times each graph launch", async () => {
  using x = device.allocate("float32", 100, { fill: 1 });
  using y = device.allocate("float32", 100);
  const recording = await recordingOf(() => {
    using graph = device.stream.capture(() => {
      device.kernels.scale(x, 2, x);
      y.copyFrom(x);
    });
    graph.launch();
    graph.launch();
  });
  assertEquals(recording.work.map(({ kind }) => kind), ["graph", "graph"]);
  const { kernels: [scale], graphs, deviceToDevice } = recording.statistics;
  assertEquals([scale!.launches, scale!.captured, scale!.time, scale!.mean], [1, 1, 0, 0]);
  assertEquals([scale!.limiter, scale!.bytesPerSecond], [null, 0]);
  assertEquals([graphs.launches, graphs.captured], [2, 0]);
  assertEquals([deviceToDevice.copies, deviceToDevice.captured], [0, 1]);
});

Deno.test("DeviceTrace sums the memory of all pools, including later ones", async () => {
  using before = device.createPool();
  using held = before.allocate("uint8", 1000);
  const recording = await recordingOf(() => {
    using pool = device.createPool();
    using x = pool.allocate("uint8", 5000);
    before.allocate("uint8", 300).free();
    assert(x.length > 0);
  });
  const { allocations, allocatedBytes, frees, growths, shrinks } = recording.statistics.memory;
  assertEquals([allocations, allocatedBytes, frees], [2, 5300, 2]);
  assert(growths >= 1 && shrinks >= 1, "the pool took memory and gave it back at its end");
  const live = recording.memory.map((sample) => sample.live - recording.memory[0]!.live);
  assertEquals([Math.max(...live), live.at(-1)], [5300, 0]);
  const { peakLive, peakReserved, initialReserved } = recording.statistics.memory;
  assertEquals(peakLive - recording.memory[0]!.live, 5300);
  assertEquals(initialReserved, recording.memory[0]!.reserved);
  assertEquals(peakReserved, Math.max(...recording.memory.map(({ reserved }) => reserved)));
  assert(held.length > 0);
});

Deno.test("DeviceTrace records compilations and cache hits", async () => {
  const source = "__global__ void traced(int n) {}";
  const recording = await recordingOf(async () => {
    for (let round = 0; round < 2; round++) {
      (await device.compile(source, { name: "traced.cu" }))[Symbol.dispose]();
    }
  });
  const { compilations } = recording;
  assertEquals(compilations.map(({ name }) => name), ["traced.cu", "traced.cu"]);
  assertEquals(compilations[1]!.cached, true);
  const { compiled, cached, cachedTime } = recording.statistics.compilations;
  assertEquals(compiled + cached, 2);
  assert(cached >= 1 && cachedTime >= compilations[1]!.duration);
});

Deno.test("DeviceTrace.range() nests and measures the work of a stream", async () => {
  using out = device.allocate("float32", 1);
  const spin = device.kernels.load(SPIN);
  const recording = await recordingOf((trace) => {
    using _outer = trace.range("outer");
    {
      using _inner = trace.range("inner", { stream: device.stream });
      spin.launch(ONE_THREAD, out, 50e6, 1);
    }
    trace.range("open");
  });
  const [outer, inner, open, ...more] = ["outer", "inner", "open"]
    .map((name) => recording.ranges.find((range) => range.name === name)!);
  assertEquals(more, []);
  assertEquals([outer!.stream, inner!.stream, open!.stream], [undefined, 0, undefined]);
  assert(inner!.duration >= 50, `${inner!.duration} ms of 50`);
  assert(open!.start + open!.duration <= recording.duration + 1);
  const [kernel] = kernels(recording);
  assert(inner!.start <= kernel!.start && inner!.duration >= kernel!.duration);
});

Deno.test("DeviceTrace.range() measures program time when the stream is captured", async () => {
  const recording = await recordingOf((trace) => {
    const range = trace.range("begun before", { stream: device.stream });
    device.stream.capture(() => {
      trace.range("within", { stream: device.stream })[Symbol.dispose]();
      range[Symbol.dispose]();
    })[Symbol.dispose]();
  });
  const names = recording.ranges.map(({ name, stream }) => [name, stream]);
  assertEquals(names, [["within", undefined], ["begun before", undefined]]);
});

Deno.test("DeviceTrace drops the oldest records beyond the capacity and still counts them", async () => {
  using out = device.allocate("float32", 10, { fill: 1 });
  using trace = new DeviceTrace(device, { capacity: 3 });
  for (let i = 0; i < 10; i++) {
    using _range = trace.range(`range ${i}`);
    device.kernels.scale(out, 1, out);
    device.allocate("float32", 10).free();
  }
  const recording = await trace.stop();
  const { work, ranges, memory, dropped, statistics } = recording;
  assertEquals([work.length, ranges.length, memory.length], [3, 3, 3]);
  assertEquals([dropped.work, dropped.ranges, dropped.compilations], [7, 7, 0]);
  // One sample is that of the beginning.
  assertEquals(dropped.memory, 1 + 20 - 3);
  assertEquals(ranges.map(({ name }) => name), ["range 7", "range 8", "range 9"]);
  assertEquals([statistics.launches.launches, statistics.memory.allocations], [10, 10]);
});

Deno.test("DeviceTrace continues after report(), and two traces record the same work", async () => {
  using out = device.allocate("float32", 10, { fill: 1 });
  using one = new DeviceTrace(device);
  device.kernels.scale(out, 1, out);
  assertEquals((await one.stats()).launches.launches, 1);
  using two = new DeviceTrace(device);
  device.kernels.scale(out, 1, out);
  assertEquals((await one.report()).work.length, 2);
  const stopped = two.stop();
  device.kernels.scale(out, 1, out);
  assertEquals((await stopped).work.length, 1);
  assertEquals((await one.stats()).launches.launches, 3);
});

Deno.test("DeviceTrace releases its events and streams however it ends", async () => {
  using out = device.allocate("float32", 10, { fill: 1 });
  await device.done();
  const tally = () => {
    const { streams, events } = resourceTally(device.context.library);
    return [streams, events];
  };
  const before = tally();
  for (const end of ["dispose", "stop", "dispose while it reports"]) {
    const trace = new DeviceTrace(device);
    const range = trace.range("never ended", { stream: device.stream });
    for (let i = 0; i < 1000; i++) device.kernels.scale(out, 1, out);
    const report = end === "stop" ? trace.stop() : end === "dispose" ? undefined : trace.report();
    trace[Symbol.dispose]();
    trace[Symbol.dispose]();
    if (report !== undefined) assertEquals((await report).statistics.launches.launches, 1000);
    range[Symbol.dispose]();
    assertEquals(tally(), before, end);
  }
});

Deno.test("DeviceTrace refuses use after the end and wrong options by name", async () => {
  const trace = new DeviceTrace(device);
  const noText = 3 as unknown as string;
  assertThrows(() => trace.range(noText), TypeError, "name must be a text: it is 3");
  using closed = device.createStream();
  closed[Symbol.dispose]();
  assertThrows(() => trace.range("x", { stream: closed }), TypeError, "disposed");
  trace[Symbol.dispose]();
  assertEquals(trace.disposed, true);
  assertThrows(() => trace.range("late"), TypeError, "Cannot begin a range as the trace has ended");
  await assertRejects(() => trace.report(), TypeError, "Cannot report a trace as the trace has");
  await assertRejects(() => trace.stop(), TypeError, "the trace has ended");
  for (const [capacity, type] of [[2 ** 24 + 1, RangeError], [null, TypeError]] as const) {
    const options = { capacity: capacity as number };
    assertThrows(() => new DeviceTrace(device, options), type, "1..16777216");
  }
  assertThrows(() => new DeviceTrace({} as Device), TypeError, "Cannot trace a device as");
  device.stream.capture(() => {
    assertThrows(() => new DeviceTrace(device), TypeError, "while a stream is being captured");
  })[Symbol.dispose]();
});

Deno.test("DeviceTrace records peer copies and survives a lost device", async () => {
  const environment = { GRIDSTRIDE_FAKE: "2x1GiB@8.9" };
  const { code, stderr } = await runFile("tests/lab/trace/device_trace_program.ts", {
    environment,
  });
  assertEquals([code, stderr], [0, ""]);
});
