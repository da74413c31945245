import { assert, assertEquals } from "@std/assert";
import { device } from "../support/device.ts";
import { Gate } from "../support/gate.ts";
import { meet } from "../support/meeting_kernel.ts";

const spin = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);
const ONE_THREAD = { grid: 1, block: 1 };

Deno.test("Kernel.launch() returns before the work has run", async () => {
  using gate = new Gate();
  await device.stream.done();
  gate.close(device.stream);
  assertEquals(device.stream.query(), false);
  gate.open();
  await device.stream.done();
  assertEquals(device.stream.query(), true);
});

Deno.test("Stream runs work beside another stream's", async () => {
  using first = device.createStream();
  using second = device.createStream();
  using flags = device.allocate("int32", 2, { fill: 0 });
  using met = device.allocate("int32", 2, { fill: 0 });
  await device.stream.done();
  meet.launch({ ...ONE_THREAD, stream: first }, flags, 0, met);
  meet.launch({ ...ONE_THREAD, stream: second }, flags, 1, met);
  await Promise.all([first.done(), second.done()]);
  assertEquals([...await met.toArray()], [1, 1]);
});

/** A late write on one stream, and a copy on another, with or without a wait between them. */
async function copyBesideLateWrite(wait: boolean): Promise<number> {
  using gate = new Gate();
  using writer = device.createStream();
  using reader = device.createStream();
  using source = device.allocate("float32", 1, { fill: 0 });
  using target = device.allocate("float32", 1, { fill: 0 });
  await device.stream.done();
  gate.close(writer);
  device.kernels.fill(source, 7, { stream: writer });
  using written = writer.record();
  if (wait) reader.wait(written);
  target.copyFrom(source, { stream: reader });
  const value = target.toArray({ stream: reader });
  if (!wait) await value;
  gate.open();
  await writer.done();
  return (await value)[0]!;
}

Deno.test("Stream without wait() reads the old value", async () => {
  assertEquals(await copyBesideLateWrite(false), 0);
});

Deno.test("Stream.wait() makes a reader see the new value", async () => {
  assertEquals(await copyBesideLateWrite(true), 7);
});

Deno.test("Device.done() leaves the event loop running", async () => {
  using gate = new Gate();
  gate.close(device.stream);
  const done = device.stream.done();
  for (let tick = 0; tick < 5; tick++) await new Promise((resolve) => setTimeout(resolve));
  assertEquals(device.stream.query(), false);
  gate.open();
  await done;
});

Deno.test("Event.elapsedSince() measures the time between two points", async () => {
  using out = device.allocate("float32", 1);
  using start = device.stream.record({ timing: true });
  spin.launch(ONE_THREAD, out, 0.05e9, 1);
  using end = device.stream.record({ timing: true });
  await end.done();
  assert(end.elapsedSince(start) >= 50);
});

Deno.test("DeviceBuffer.toArray() returns the content at the time of the call", async () => {
  using buffer = device.allocate("float32", 1000, { fill: 1 });
  const pending = buffer.toArray();
  device.kernels.fill(buffer, 2);
  assertEquals(new Set(await pending), new Set([1]));
  assertEquals(new Set(await buffer.toArray()), new Set([2]));
});

Deno.test("DeviceBuffer.copyFrom() reads the array before it returns", async () => {
  using gate = new Gate();
  gate.close(device.stream);
  const data = new Float32Array(1000).fill(3);
  using buffer = device.upload(data);
  data.fill(4);
  gate.open();
  assertEquals(new Set(await buffer.toArray()), new Set([3]));
});

Deno.test("Stream works when a thousand of them run", async () => {
  using out = device.allocate("float32", 1000, { fill: 0 });
  await device.stream.done();
  using streams = new DisposableStack();
  const all = Array.from({ length: 1000 }, () => streams.use(device.createStream()));
  all.forEach((stream, i) => spin.launch({ ...ONE_THREAD, stream }, out.view(i, i + 1), 0, i));
  await Promise.all(all.map((stream) => stream.done()));
  assertEquals([...await out.toArray()], Array.from({ length: 1000 }, (_, i) => i));
});
