/**
 * A device is lost while a stream of it uses memory of another: that one's pool goes on. Started by
 * `device_pools_test.ts` with two fake devices; throws at the first thing that goes wrong.
 *
 * @module
 */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaError, openDevice } from "../../../../mod.ts";
import { resourceTally } from "../../../../src/ffi/native_device.ts";

const MIB = 2 ** 20;
const device = openDevice("host:0");
const { library } = device.context;
const before = resourceTally(library);

{
  const lost = openDevice("host:1");
  const stream = lost.createStream();
  using pool = device.createPool({ maxPoolSize: "16MiB" });
  const source = pool.allocate("uint8", 8 * MIB);
  const target = lost.allocate("uint8", 8 * MIB);
  const kept = pool.allocate("uint8", MIB);
  device.doneSync();
  lost.doneSync();

  lost.kernels.load("spin_float32(float* out, unsigned long long nanoseconds, float value)")
    .launch({ grid: 1, block: 1, stream }, target.as("float32"), 0.05e9, 1);
  target.copyFrom(source, { stream });
  kept.recordStream(stream);
  source.free();
  // Has the pool mark the other device's stream.
  pool.clearCache();
  using nowhere = lost.allocate("float32", 0);
  lost.kernels.load("fault_null_write(float* address)").launch({ grid: 1, block: 1 }, nowhere);
  assertThrows(() => lost.doneSync(), CudaError);

  // Memory that waited for the lost stream is free.
  using large = pool.allocate("uint8", 14 * MIB);
  assertEquals(large.length, 14 * MIB);
  kept.free();
  using small = pool.allocate("uint8", MIB);
  assert(small.address > 0);
  assertEquals(pool.stats().pending, 0);
  for (const each of [target, stream, lost]) each[Symbol.dispose]();
  pool.clearCache();
}
assertEquals(device.memoryInfo().free > 0, true);
device[Symbol.dispose]();
const after = resourceTally(library);
assertEquals([after.streams, after.events], [before.streams, before.events]);
