import { assertEquals, assertNotEquals } from "@std/assert";
import type { DeviceBuffer, MemoryPoolOptions, Stream } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";
import { runFile } from "../../support/subprocess.ts";

const MEBIBYTE = 2 ** 20;
/** Elements of a large buffer: 8 MiB. */
const LENGTH = 2 * MEBIBYTE;

// Loaded on demand otherwise, which a test of resources takes for a leak.
void device.stream;
device.createStream()[Symbol.dispose]();

/** Gives a stream work that writes a value into a buffer when the gate opens. */
function work(gate: Gate, buffer: DeviceBuffer<"float32">, stream: Stream, value: number): void {
  gate.close(stream, buffer);
  device.kernels.fill(buffer.view(0, 1), value, { stream });
}

/** A test over mapped and over plain memory. */
function testBoth(
  name: string,
  options: MemoryPoolOptions,
  body: (open: () => ReturnType<typeof device.createPool>) => Promise<void>,
): void {
  for (const virtualMemory of [true, false]) {
    Deno.test(`${virtualMemory ? "mapped" : "plain"}: ${name}`, () => {
      return body(() => device.createPool({ ...options, virtualMemory }));
    });
  }
}

testBoth("marks of what is freed in bulk leave the caches their blocks", {}, async (open) => {
  using pool = open();
  using other = device.createStream();
  using _theirs = pool.allocate("float32", 1, { stream: other });
  const lengths = [100, 1000, 10_000, 100_000];
  const step = () => {
    const small = lengths.map((length) => pool.allocate("float32", length));
    pool.allocate("float32", 16 * MEBIBYTE).free();
    for (const buffer of small) buffer.free();
  };
  step();
  const before = pool.stats();
  for (let count = 0; count < 10; count++) step();
  const { cacheHits, cacheMisses, marks } = pool.stats();
  assertEquals([cacheHits - before.cacheHits, cacheMisses - before.cacheMisses], [50, 0]);
  assertEquals(marks - before.marks, 10, "64 MiB freed in each step");
  await device.stream.done();
});

testBoth("the same stream has freed memory at once, without an event", {}, async (open) => {
  using gate = new Gate();
  using pool = open();
  using stream = device.createStream();
  using other = device.createStream();
  // Another stream with memory of its own.
  using _theirs = pool.allocate("float32", 1, { stream: other });
  const first = pool.allocate("float32", LENGTH, { stream });
  const { address } = first;
  work(gate, first, stream, 1);
  const marks = pool.stats().marks;
  first.free();
  using second = pool.allocate("float32", LENGTH, { stream });
  assertEquals(second.address, address);
  assertEquals([stream.query(), pool.stats().marks], [false, marks], "the work is under way");
  gate.open();
  device.kernels.fill(second.view(0, 1), 2, { stream });
  assertEquals((await second.view(0, 1).toArray({ stream }))[0], 2);
});

testBoth("another stream gets other memory while the work is under way", {}, async (open) => {
  using gate = new Gate();
  using pool = open();
  using stream = device.createStream();
  using other = device.createStream();
  const first = pool.allocate("float32", LENGTH, { stream });
  const { address } = first;
  work(gate, first, stream, 1);
  first.free();
  const meanwhile = pool.allocate("float32", LENGTH, { stream: other });
  assertNotEquals(meanwhile.address, address);
  assertEquals(stream.query(), false);
  gate.open();
  await stream.done();
  // What the stream is through with serves the next request that would have to grow.
  const reserved = pool.stats().reserved;
  using afterwards = pool.allocate("float32", LENGTH, { stream: other });
  assertEquals([afterwards.address, pool.stats().reserved], [address, reserved]);
  assertEquals(pool.stats().syncs, 0);
  meanwhile.free();
});

testBoth("a declared use keeps memory from its own stream too", {}, async (open) => {
  using gate = new Gate();
  using pool = open();
  using stream = device.createStream();
  using other = device.createStream();
  const first = pool.allocate("float32", LENGTH, { stream });
  const { address } = first;
  first.recordStream(other);
  work(gate, first, other, 1);
  first.free();
  assertEquals(pool.stats().pending, 4 * LENGTH);
  const meanwhile = pool.allocate("float32", LENGTH, { stream });
  assertNotEquals(meanwhile.address, address);
  assertEquals(other.query(), false);
  gate.open();
  await other.done();
  using afterwards = pool.allocate("float32", LENGTH, { stream });
  assertEquals([afterwards.address, pool.stats().pending], [address, 0]);
  meanwhile.free();
});

testBoth(
  "memory is returned only after all work that used it",
  {},
  async (open) => {
    using gate = new Gate();
    using pool = open();
    using stream = device.createStream();
    const other = device.createStream();
    const first = pool.allocate("float32", LENGTH, { stream });
    first.recordStream(other);
    work(gate, first, other, 2);
    using worked = other.record();
    stream.wait(worked);
    device.kernels.fill(first, 1, { stream });
    first.free();
    // Its last work is under way when the stream goes.
    other[Symbol.dispose]();
    assertEquals([pool.clearCache(), pool.stats().reserved >= 4 * LENGTH], [0, true]);
    const cleared = pool.clearCacheAsync();
    gate.open();
    await cleared;
    assertEquals([pool.stats().reserved, pool.stats().pending], [0, 0]);
    await device.done();
  },
);

/** Plays a pool that returns memory, with right events and with early ones. */
async function playEarly(kind: "mapped" | "plain") {
  const { code, stdout, stderr } = await runFile(
    "tests/memory/pool/programs/early_event_program.ts",
    {
      args: [kind],
      environment: { GRIDSTRIDE_FAKE: "2x64MiB@8.9" },
    },
  );
  assertEquals([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

Deno.test("unmapping memory in use is a fault", async () => {
  const { right, broken } = await playEarly("mapped");
  assertEquals(right, { error: null, waitedFor: true });
  assertEquals(broken, { error: "cudaErrorIllegalAddress", waitedFor: false });
});

Deno.test("freeing plain memory in use waits for the device", async () => {
  const { right, broken } = await playEarly("plain");
  assertEquals(right, { error: null, waitedFor: true });
  assertEquals(broken, { error: null, waitedFor: false });
});
