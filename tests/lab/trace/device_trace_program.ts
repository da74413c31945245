/**
 * Traces of two devices, one of which is lost in the end. Started by `device_trace_test.ts` with two
 * fake devices; throws at the first thing that goes wrong.
 *
 * @module
 */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CudaError, openDevice } from "../../../mod.ts";
import { DeviceTrace, traceFile } from "../../../src/lab/trace/mod.ts";
import { problemsOf, type ReadTraceFile } from "./trace_file_rules.ts";

using first = openDevice("host:0");
using second = openDevice("host:1");

{
  using here = new DeviceTrace(first);
  using there = new DeviceTrace(second);
  using x = first.allocate("float32", 1000, { fill: 1 });
  using y = second.allocate("float32", 1000);
  await first.done();
  y.copyFrom(x);
  assertThrows(() => here.range("x", { stream: second.stream }), TypeError, "must be of host:0");
  const recordings = [await here.stop(), await there.stop()];
  const [source, destination] = recordings.map(({ statistics }) => statistics);
  // The copy is on a stream of the destination, and counted there alone.
  assertEquals([source!.peer.copies, destination!.peer.copies], [0, 1]);
  assertEquals(destination!.peer.bytes, 4000);
  assertEquals([source!.launches.launches, destination!.launches.launches], [1, 0]);
  const file: ReadTraceFile = JSON.parse([...traceFile(recordings)].join(""));
  assertEquals(problemsOf(file), []);
  assertEquals(new Set(file.traceEvents.map(({ pid }) => pid)), new Set([1, 2]));
}

{
  // Opened twice it is still one device.
  using again = openDevice("host:0");
  using trace = new DeviceTrace(first);
  again.allocate("float32", 10, { fill: 1 }).free();
  const { launches, memory } = (await trace.stop()).statistics;
  assertEquals([launches.launches, memory.allocations], [1, 1]);
}

{
  using module = await first.compile("__global__ void wild(int* x) { *x = 1; }");
  const spin = first.kernels.load(
    "spin_float32(float* out, unsigned long long nanoseconds, float value)",
  );
  using out = first.allocate("float32", 1);
  const trace = new DeviceTrace(first);
  using other = new DeviceTrace(second);
  spin.launch({ grid: 1, block: 1 }, out, 50e6, 1);
  module.kernel("wild(int* x)").launch({ grid: 1, block: 1 }, null);
  second.allocate("float32", 10, { fill: 1 }).free();
  const error = await assertRejects(() => trace.stop(), CudaError);
  assert(error.sticky, error.message);
  trace[Symbol.dispose]();
  // The other device does not know.
  assertEquals((await other.stop()).statistics.launches.launches, 1);
}
