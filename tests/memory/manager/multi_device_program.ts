/**
 * The program of `multi_device_test.ts`, with three fake devices. It manages the memory of two, so
 * ordinals are not places in a list.
 *
 * @module
 */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type DeviceBuffer, openDevice, OutOfMemoryError } from "../../../mod.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { MemoryManager } from "../../../src/memory/manager/memory_manager.ts";
import { MultiDeviceMemory } from "../../../src/memory/manager/multi_device_memory.ts";
import { PlainPool } from "./plain_pool.ts";

using first = openDevice("host:1");
using second = openDevice("host:2");
const { library } = first.context;

/** Memory of 1000 bytes on device 1 and 3000 on device 2. */
function twoDevices(
  options?: ConstructorParameters<typeof MultiDeviceMemory>[1],
): MultiDeviceMemory {
  return new MultiDeviceMemory([
    new MemoryManager(second, { pool: new PlainPool(second.context, 3000).asPool }),
    new MemoryManager(first, { pool: new PlainPool(first.context, 1000).asPool }),
  ], options);
}

function ordinalsOf(buffers: readonly DeviceBuffer<"uint8">[]): number[] {
  return buffers.map(({ context }) => context.ordinal);
}

function free(buffers: readonly Disposable[]): void {
  for (const buffer of buffers) buffer[Symbol.dispose]();
}

function placesByRoomOrByLoad(): void {
  for (
    const [balance, expected] of [["free-memory", [2, 2, 2, 2]], ["load", [2, 2, 1, 2]]] as const
  ) {
    const memory = twoDevices({ balance });
    assertEquals(memory.ordinals, [2, 1]);
    const buffers = [1, 2, 3, 4].map(() => memory.allocate("uint8", 500));
    assertEquals(ordinalsOf(buffers), [...expected], balance);
    free(buffers);
    for (const { live } of memory.stats().values()) assertEquals(live, 0);
  }
}

function keepsNamesTogether(): void {
  const memory = twoDevices();
  memory.bind("weights", 1);
  const buffers = [
    memory.allocate("uint8", 400, { name: "weights" }),
    memory.allocate("uint8", 400, { name: "weights" }),
    memory.allocate("uint8", 400, { name: "weights" }), // device 1 is full
    memory.allocate("uint8", 100, { name: "weights" }),
    memory.allocate("uint8", 0, { name: "cache" }),
  ];
  assertEquals(ordinalsOf(buffers), [1, 1, 2, 1, 2]);
  assertEquals(memory.affinities, [["cache", 2], ["weights", 1]]);
  assertEquals([memory.unbind("cache"), memory.unbind("cache")], [true, false]);
  free(buffers);
  memory.bind("__proto__", 2);
  memory.bind("weights", 2);
  assertEquals(memory.affinities, [["__proto__", 2], ["weights", 2]]);
  assertThrows(() => memory.bind("weights", 0), RangeError, "one of 2, 1: it is 0");
  assertThrows(() => memory.bind("", 2), RangeError, "not empty");
  assertThrows(() => memory.bind(7 as never, 2), TypeError, "it is 7");
  assertThrows(() => memory.manager(0), RangeError, "one of 2, 1: it is 0");
  assertThrows(() => memory.allocate("uint8", 1, { name: "" }), RangeError, "not empty");
  assertThrows(() => memory.allocate("uint8", 1, null as never), TypeError, "options");
}

function overflowsAndThenFails(): void {
  const memory = twoDevices();
  const before = resourceTally(library);
  const buffers = [memory.allocate("uint8", 2500), memory.allocate("uint8", 1000)];
  assertEquals(ordinalsOf(buffers), [2, 1]);
  const error = assertThrows(() => memory.allocate("uint8", 501), OutOfMemoryError);
  assertEquals(error.requested, 501);
  assert(error.cause instanceof AggregateError && error.cause.errors.length === 2);
  assert(error.message.includes("on any of 2 devices"), error.message);
  assertThrows(() => memory.allocate("uint8", -1), RangeError, "length");
  assertThrows(() => memory.allocate("float64", 2 ** 52), RangeError, "length");
  const last = memory.allocate("uint8", 500);
  assertEquals(last.context.ordinal, 2);
  free([...buffers, last]);
  assertEquals(resourceTally(library), before);
}

async function copiesInOrder(): Promise<void> {
  const memory = new MultiDeviceMemory([
    new MemoryManager(first),
    new MemoryManager(second),
  ]);
  const length = 1_000_003;
  using source = memory.manager(1).allocate("float32", length);
  using target = memory.manager(2).allocate("float32", length);
  const expected = first.canAccessPeer(second) ? "peer" : "staged";
  assertEquals([memory.route(1, 1), memory.route(1, 2), memory.route(1, 2)], [
    "local",
    expected,
    expected,
  ]);
  using zeroth = openDevice("host:0");
  const both = new MultiDeviceMemory([new MemoryManager(zeroth), new MemoryManager(first)]);
  assertEquals(both.route(-0, 1), expected);
  // The streams order the work before a copy, the copy and the work after it.
  for (let round = 1; round <= 20; round++) {
    first.kernels.fill(source, round);
    assertEquals(memory.copy(source, target), expected);
    first.kernels.fill(source, -round);
    const [head, tail] = [target.view(0, 1), target.view(length - 1)];
    assertEquals([head.toArraySync()[0], tail.toArraySync()[0]], [round, round]);
  }
  using moved = memory.copyTo(source, 2);
  assertEquals([moved.context.ordinal, (await moved.toArray())[length - 1]], [2, -20]);
  using same = memory.copyTo(source, 1);
  assertEquals((await same.toArray())[0], -20);
  using stream = first.createStream();
  using other = second.createStream();
  first.kernels.fill(source, 5, { stream });
  using streamed = memory.copyTo(source, 2, { sourceStream: stream, targetStream: other });
  assertEquals((await streamed.toArray({ stream: other }))[0], 5);
}

function refusesMismatches(): void {
  const memory = twoDevices();
  using a = memory.manager(1).allocate("uint8", 10);
  using b = memory.manager(2).allocate("uint8", 11);
  using c = memory.manager(2).allocate("int8", 10);
  using third = openDevice("host:0");
  using outside = third.allocate("uint8", 10);
  using stream = third.createStream();
  const before = resourceTally(library);
  assertThrows(() => memory.copy(a, b), RangeError, "the source's 10 elements: it has 11");
  assertThrows(() => memory.copy(a, c as never), TypeError, "uint8");
  assertThrows(() => memory.copy(a, outside), RangeError, "one of 2, 1: it is 0");
  assertThrows(() => memory.copy(outside, a), RangeError, "one of 2, 1: it is 0");
  assertThrows(() => memory.copy(a, a), RangeError, "overlap");
  assertThrows(() => memory.copy(7 as never, a), TypeError, "source must be a DeviceBuffer");
  assertThrows(() => memory.copyTo(a, 2, { targetStream: stream }), TypeError, "host:0");
  assertThrows(() => memory.copy(a, a, { sourceStream: {} as never }), TypeError, "stream");
  assertThrows(() => memory.copyTo(a, 0), RangeError, "one of 2, 1: it is 0");
  assertThrows(() => memory.copyTo(b, 1, 7 as never), TypeError, "options");
  assertEquals(resourceTally(library), before);
  const pool = new PlainPool(second.context).asPool;
  assertThrows(() => new MemoryManager(first, { pool }), TypeError, "host:1: it is of host:2");
  const manager = memory.manager(1);
  assertThrows(() => new MultiDeviceMemory([]), TypeError, "it is empty");
  assertThrows(() => new MultiDeviceMemory([manager, manager]), TypeError, "host:1 comes twice");
  assertThrows(() => new MultiDeviceMemory([{} as never]), TypeError, "managers[0] must be");
  assertThrows(() => twoDevices({ balance: "random" as never }), RangeError, 'it is "random"');
}

function countsByDevice(): void {
  const memory = twoDevices();
  using _one = memory.manager(1).allocate("uint8", 100);
  using _two = memory.manager(2).allocate("uint8", 200);
  const statistics = memory.stats();
  assertEquals([...statistics.keys()], [2, 1]);
  assertEquals([statistics.get(1)!.live, statistics.get(2)!.live], [100, 200]);
  assertEquals([statistics.get(1)!.device, statistics.get(2)!.ordinal], ["host:1", 2]);
  assertEquals(memory.clearCache(), 0);
  memory.logUsage();
}

function leavesNothingBehind(): void {
  const before = resourceTally(library);
  {
    using a = openDevice("host:1");
    using b = openDevice("host:2");
    const memory = new MultiDeviceMemory([new MemoryManager(a), new MemoryManager(b)]);
    using x = memory.manager(1).allocate("float32", 1000);
    using _moved = memory.copyTo(x, 2);
  }
  assertEquals(resourceTally(library), before);
}

leavesNothingBehind();
placesByRoomOrByLoad();
keepsNamesTogether();
overflowsAndThenFails();
await copiesInOrder();
refusesMismatches();
countsByDevice();
console.log("passed");
