/**
 * Pools of one isolate on two devices, and two of them on one device. Started by
 * `device_pools_test.ts` with fake devices; throws at the first thing that goes wrong.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { type Device, DeviceBuffer, openDevice } from "../../../mod.ts";
import { callTally } from "../../../src/ffi/fault_injection.ts";

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
