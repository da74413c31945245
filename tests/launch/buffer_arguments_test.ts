/**
 * Buffers as arguments: what a launch is passed for them, and when it refuses them. They take a
 * shorter way than other device memory, which `argument_writer_test.ts` is about.
 */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { DeviceBuffer } from "../../src/memory/device_buffer.ts";
import { ARGUMENT, createCommandBlock } from "../../src/ffi/command_block.ts";
import { ArgumentWriter } from "../../src/launch/signature/argument_writer.ts";
import { parseSignature } from "../../src/launch/signature/signature.ts";
import { defaultStream } from "../../src/stream/stream.ts";
import { device } from "../support/device.ts";

const SIGNATURE = parseSignature("f(const float* x, float* y)");

/** The two addresses that are written. */
function write(...args: unknown[]): number[] {
  const block = createCommandBlock();
  block.fill(-7);
  new ArgumentWriter(SIGNATURE, block, device.context).write(args, defaultStream(device.context));
  return [...block.subarray(ARGUMENT, ARGUMENT + 2)];
}

Deno.test("a buffer, a view, an empty buffer and foreign memory are passed by their addresses", () => {
  using x = device.allocate("float32", 7);
  using empty = device.allocate("float32", 0);
  const view = x.view(3, 5);
  const bytes = device.allocate("uint8", 64);
  const foreign = DeviceBuffer.fromAddress(bytes.address, 64, { device, dtype: "float32" });
  assertEquals(write(x, view), [x.address, x.address + 12]);
  assertEquals(write(view.view(1, 2), x), [x.address + 16, x.address]);
  assertEquals(write(empty, empty.view(0, 0)), [0, 0]);
  assertEquals(write(foreign, foreign.view(2)), [bytes.address, bytes.address + 8]);
  bytes.free();
});

Deno.test("a freed buffer, its views, and one of another type are refused", () => {
  using x = device.allocate("float32", 7);
  using ints = device.allocate("int32", 7);
  const freed = device.allocate("float32", 7);
  const view = freed.view(1);
  freed.free();
  for (const buffer of [freed, view]) {
    assertThrows(() => write(x, buffer), TypeError, "Cannot launch f as argument y");
    assertThrows(() => write(buffer, x), TypeError, "disposed");
  }
  assertThrows(() => write(x, ints), TypeError, "float32");
  // Its memory, which is somebody else's by now, and its type would do.
  using again = device.allocate("float32", 7);
  assertEquals(write(again, again), [again.address, again.address]);
  assertThrows(() => write(again, freed), TypeError, "disposed");
});

Deno.test("a buffer that was freed by its address is refused, also when its block lives again", () => {
  using x = device.allocate("float32", 7);
  const withdrawn = device.allocate("float32", 7);
  const view = withdrawn.view(1);
  device.pool.free(withdrawn.address);
  using again = device.allocate("float32", 7);
  assertThrows(() => write(x, withdrawn), TypeError, "disposed");
  assertThrows(() => write(x, view), TypeError, "disposed");
  assertEquals(write(x, again), [x.address, again.address]);
});

Deno.test("the pool learns of every stream but the buffer's own that launches with it", () => {
  using stream = device.createStream();
  using own = device.allocate("float32", 7, { stream });
  using other = device.allocate("float32", 7);
  const writer = new ArgumentWriter(SIGNATURE, createCommandBlock(), device.context);
  const noted: unknown[] = [];
  const { recordStream } = DeviceBuffer.prototype;
  DeviceBuffer.prototype.recordStream = function (used) {
    noted.push(this, used);
    recordStream.call(this, used);
  };
  try {
    writer.write([own, other], stream);
  } finally {
    DeviceBuffer.prototype.recordStream = recordStream;
  }
  assertEquals(noted.length, 2);
  assert(noted[0] === other && noted[1] === stream);
});
