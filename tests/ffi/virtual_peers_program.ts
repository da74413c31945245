/**
 * Virtual memory on two devices. Started by `native_virtual_test.ts` with two fake devices; throws
 * at the first thing that goes wrong.
 *
 * @module
 */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaError, openDevice } from "../../mod.ts";
import { copyPeer, copyToDeviceSync, copyToHostSync } from "../../src/ffi/native_memory.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import {
  declareBlock,
  mapMemory,
  releaseAddresses,
  reserveAddresses,
  shareMemory,
  unmapMemory,
  virtualGranularity,
} from "../../src/ffi/native_memory.ts";

using first = openDevice("host:0");
using second = openDevice("host:1");
const { library } = first.context;
const page = virtualGranularity(library, 0);
const before = resourceTally(library);

{
  using here = first.createStream();
  using there = second.createStream();
  const source = reserveAddresses(library, 0, 4 * page);
  const destination = reserveAddresses(library, 1, 2 * page);
  assert(mapMemory(library, 0, source, 2 * page, page));
  assert(mapMemory(library, 1, destination, 2 * page, 2 * page));
  const byte = new Uint8Array(1);

  const foreign: readonly (() => void)[] = [
    () => mapMemory(library, 1, source + 2 * page, page, page),
    () => unmapMemory(library, 1, source, page),
    () => releaseAddresses(library, 1, source),
    () => declareBlock(library, 1, source, 1, true),
    () => copyToDeviceSync(library, 1, there.id, source, byte, 1),
    () => shareMemory(library, 1, 0, source, page),
    () => shareMemory(library, 0, 1, source, page / 2),
    () => shareMemory(library, 0, 1, source, 3 * page),
    () => shareMemory(library, 0, 0, source, page),
    () => shareMemory(library, 0, 2, source, page),
  ];
  for (const call of foreign) assertThrows(call, CudaError);

  shareMemory(library, 0, 1, source, 2 * page);
  const bytes = Uint8Array.from({ length: 2 * page }, (_, index) => index % 253);
  copyToDeviceSync(library, 0, here.id, source, bytes, bytes.length);
  copyPeer(library, here.id, destination, 1, source, 0, bytes.length);
  here.doneSync();
  const copied = new Uint8Array(bytes.length);
  copyToHostSync(library, 1, there.id, copied, destination, copied.length);
  assertEquals(copied, bytes);

  // Each device's memory is its own to run out of: 64 MiB, of which 4 MiB are in use.
  const rest = reserveAddresses(library, 0, 62 * 2 ** 20);
  assertEquals(mapMemory(library, 0, rest, 62 * 2 ** 20, page), false);
  assert(mapMemory(library, 0, rest, 60 * 2 ** 20, page));
  assertEquals(mapMemory(library, 0, source + 2 * page, page, page), false);
  unmapMemory(library, 0, rest, 60 * 2 ** 20);
  unmapMemory(library, 0, source, 2 * page);
  unmapMemory(library, 1, destination, 2 * page);
  for (const address of [rest, source]) releaseAddresses(library, 0, address);
  releaseAddresses(library, 1, destination);
}
assertEquals(resourceTally(library), before);
console.log("done");
