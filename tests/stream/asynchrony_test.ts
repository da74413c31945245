import { assert, assertEquals } from "@std/assert";
import { device } from "../support/device.ts";
import { meet } from "../support/meeting_kernel.ts";

const SPIN = 0.2;

const spin = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);
const ONE_THREAD = { grid: 1, block: 1 };

Deno.test("Kernel.launch() returns before the work has run", async () => {
  using out = device.allocate("float32", 1, { fill: 0 });
  await device.stream.done();
  const started = performance.now();
  spin.launch(ONE_THREAD, out, SPIN * 1e9, 1);
  assertEquals(device.stream.query(), false);
  await device.stream.done();
  const done = performance.now() - started;
  assert(done >= SPIN * 1e3, `the kernel was done after ${done} ms`);
  assertEquals((await out.toArray())[0], 1);
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

/** A slow write on one stream, then a copy on another, with or without a wait between them. */
async function copyAfterSlowWrite(wait: boolean): Promise<number> {
  using writer = device.createStream();
  using reader = device.createStream();
  using source = device.allocate("float32", 1, { fill: 0 });
  using target = device.allocate("float32", 1, { fill: 0 });
  await device.stream.done();
  spin.launch({ ...ONE_THREAD, stream: writer }, source, SPIN * 1e9, 7);
  using written = writer.record();
  if (wait) reader.wait(written);
  target.copyFrom(source, { stream: reader });
  const value = (await target.toArray({ stream: reader }))[0]!;
  await writer.done();
  return value;
}

Deno.test("Stream without wait() reads the old value", async () => {
  assertEquals(await copyAfterSlowWrite(false), 0);
});

Deno.test("Stream.wait() makes a reader see the new value", async () => {
  assertEquals(await copyAfterSlowWrite(true), 7);
});

Deno.test("Device.done() leaves the event loop running", async () => {
  using out = device.allocate("float32", 1);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  spin.launch(ONE_THREAD, out, SPIN * 1e9, 1);
  await device.stream.done();
  clearInterval(timer);
  assert(ticks >= 10, `the timer ticked ${ticks} times in ${SPIN * 1e3} ms`);
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
  using busy = device.allocate("float32", 1);
  spin.launch(ONE_THREAD, busy, 0.05e9, 1);
  const data = new Float32Array(1000).fill(3);
  using buffer = device.upload(data);
  data.fill(4);
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
