/**
 * Pools of one isolate on two devices, and two of them on one device. Started by
 * `device_pools_test.ts` with fake devices; throws at the first thing that goes wrong.
 *
 * @module
 */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Device, DeviceBuffer, openDevice, OutOfMemoryError } from "../../../../mod.ts";
import { callTally } from "../../../support/fault_injection.ts";

using first = openDevice("host:0");
using again = openDevice("host:0");
using second = openDevice("host:1");
const { library } = first.context;
const MIB = 2 ** 20;

function rightsGiven(act: () => void): number {
  const before = callTally(library, "cuMemSetAccess");
  act();
  return callTally(library, "cuMemSetAccess") - before;
}

function allocate(device: Device, mebibytes: number) {
  return device.allocate("uint8", mebibytes * MIB);
}

{
  // A device that may address another's memory may address what its pools have, and get later.
  using early = allocate(first, 8);
  assert(rightsGiven(() => second.enablePeerAccess(first)) > 0);
  assertEquals(rightsGiven(() => second.enablePeerAccess(first)), 0, "doing it twice");
  let later = allocate(first, 1);
  assertEquals(rightsGiven(() => later = allocate(first, 32)), 2, "for itself and for the other");
  later.free();
  assertEquals(rightsGiven(() => allocate(second, 16).free()), 1, "the other way round");

  // Device memory of one device as a kernel of the other sees it.
  using zeros = second.allocate("float32", 4, { fill: 0 });
  using ones = first.allocate("float32", 4, { fill: 1 });
  await first.done();
  using there = DeviceBuffer.fromAddress(ones.address, 16, { device: second, dtype: "float32" });
  second.kernels.add(there, zeros, zeros);
  assertEquals([...await zeros.toArray()], [1, 1, 1, 1]);
  void early;
}

{
  // Two pools on one device: what one has free the other gets before it is out of memory.
  const { free } = first.memoryInfo();
  const most = Math.floor(free / MIB) - 64;
  allocate(again, most).free();
  await again.done();
  assert(first.memoryInfo().free < 128 * MIB, "the other pool keeps what it has free");
  using large = allocate(first, most - 64);
  assertEquals(large.length, (most - 64) * MIB);
}

{
  // A direct allocation makes pools return free memory, after waiting for streams.
  using small = openDevice("host:1");
  const spin = small.kernels.load(
    "spin_float32(float* out, unsigned long long nanoseconds, float value)",
  );
  using out = small.allocate("float32", 1);
  const rest = () => Math.floor(small.memoryInfo().free / MIB);
  const fill = (mebibytes: number) => small.allocate("float32", mebibytes * MIB / 4);
  using stream = small.createStream();
  {
    using values = fill(256);
    fill(rest() - 4).free();
    await small.done();
    assert(rest() < 8, "the pool keeps what it has free");
    // The partial results of this take workspace.
    small.kernels.sum(values, out, { stream });
    using direct = small.pool.allocateDirect("uint8", 64 * MIB);
    assertEquals(direct.length, 64 * MIB);
    await stream.done();
  }
  await small.done();
  small.pool.clearCache();
  const busy = fill(rest() - 4);
  spin.launch({ grid: 1, block: 1 }, busy, 0.05e9, 1);
  busy.free();
  using direct = small.pool.allocateDirect("uint8", 256 * MIB);
  assert(small.stream.query(), "the memory is given while the stream uses it");
  assertEquals(direct.length, 256 * MIB);
  assertThrows(() => small.pool.allocateDirect("uint8", 2048 * MIB), OutOfMemoryError);
}
