import { assert, assertEquals } from "@std/assert";
import { device } from "../support/device.ts";

const SPIN = 0.2;

const spin = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);
const ONE_THREAD = { grid: 1, block: 1 };

/**
 * The shortest of a few measurements, of one when that is under the limit: other work on the
 * machine can only make them longer.
 */
async function shortest(limit: number, measure: () => Promise<number>): Promise<number> {
  let found = Infinity;
  for (let attempt = 0; attempt < 5 && found >= limit; attempt++) {
    found = Math.min(found, await measure());
  }
  return found;
}

Deno.test("a launch returns at once and the work is done later", async () => {
  using out = device.allocate("float32", 1, { fill: 0 });
  const milliseconds = await shortest(1, async () => {
    device.kernels.fill(out, 0);
    await device.stream.done();
    const started = performance.now();
    spin.launch(ONE_THREAD, out, SPIN * 1e9, 1);
    const launched = performance.now() - started;
    const early = device.stream.query();
    await device.stream.done();
    const done = performance.now() - started;
    assertEquals(early, false);
    assert(done >= SPIN * 1e3, `the kernel was done after ${done} ms`);
    assertEquals((await out.toArray())[0], 1);
    return launched;
  });
  assert(milliseconds < 1, `the launch took ${milliseconds} ms`);
});

Deno.test("two streams overlap", async () => {
  using first = device.createStream();
  using second = device.createStream();
  using out = device.allocate("float32", 2, { fill: 0 });
  const limit = 1.7 * SPIN * 1e3;
  const milliseconds = await shortest(limit, async () => {
    device.kernels.fill(out, 0);
    await device.stream.done();
    const started = performance.now();
    spin.launch({ ...ONE_THREAD, stream: first }, out.view(0, 1), SPIN * 1e9, 1);
    spin.launch({ ...ONE_THREAD, stream: second }, out.view(1, 2), SPIN * 1e9, 2);
    await Promise.all([first.done(), second.done()]);
    const elapsed = performance.now() - started;
    assertEquals([...await out.toArray()], [1, 2]);
    return elapsed;
  });
  assert(milliseconds < limit, `both together took ${milliseconds} ms, one takes ${SPIN * 1e3}`);
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

Deno.test("without a wait between streams the reader sees the old value", async () => {
  assertEquals(await copyAfterSlowWrite(false), 0);
});

Deno.test("with a wait between streams the reader sees the new value", async () => {
  assertEquals(await copyAfterSlowWrite(true), 7);
});

Deno.test("waiting for the device leaves the event loop running", async () => {
  using out = device.allocate("float32", 1);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  spin.launch(ONE_THREAD, out, SPIN * 1e9, 1);
  await device.stream.done();
  clearInterval(timer);
  assert(ticks >= 10, `the timer ticked ${ticks} times in ${SPIN * 1e3} ms`);
});

Deno.test("an event measures the time between two points", async () => {
  using out = device.allocate("float32", 1);
  const milliseconds = await shortest(75, async () => {
    using start = device.stream.record({ timing: true });
    spin.launch(ONE_THREAD, out, 0.05e9, 1);
    using end = device.stream.record({ timing: true });
    await end.done();
    return end.elapsedSince(start);
  });
  assert(milliseconds >= 50 && milliseconds < 75, `it measured ${milliseconds} ms`);
});

Deno.test("a copy out of a buffer has the content of the moment it was asked for", async () => {
  using buffer = device.allocate("float32", 1000, { fill: 1 });
  const pending = buffer.toArray();
  device.kernels.fill(buffer, 2);
  assertEquals(new Set(await pending), new Set([1]));
  assertEquals(new Set(await buffer.toArray()), new Set([2]));
});

Deno.test("an array may be changed as soon as its copy is enqueued", async () => {
  using busy = device.allocate("float32", 1);
  spin.launch(ONE_THREAD, busy, 0.05e9, 1);
  const data = new Float32Array(1000).fill(3);
  using buffer = device.upload(data);
  data.fill(4);
  assertEquals(new Set(await buffer.toArray()), new Set([3]));
});

Deno.test("a thousand streams each do their work", async () => {
  using out = device.allocate("float32", 1000, { fill: 0 });
  await device.stream.done();
  using streams = new DisposableStack();
  const all = Array.from({ length: 1000 }, () => streams.use(device.createStream()));
  all.forEach((stream, i) => spin.launch({ ...ONE_THREAD, stream }, out.view(i, i + 1), 0, i));
  await Promise.all(all.map((stream) => stream.done()));
  assertEquals([...await out.toArray()], Array.from({ length: 1000 }, (_, i) => i));
});
