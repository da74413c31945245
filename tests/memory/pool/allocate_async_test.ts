import { assert, assertEquals, assertRejects } from "@std/assert";
import { type MemoryPool, OutOfMemoryError, type Stream } from "../../../mod.ts";
import { device } from "../../support/device.ts";

const MIB = 2 ** 20;
const BUSY = 0.2e9;
const SPIN = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);

/** Frees all of a pool's memory on a stream that goes on using it for 200 ms. */
function keepBusy(pool: MemoryPool, stream: Stream): void {
  using buffer = pool.allocate("float32", 2 * MIB, { stream });
  SPIN.launch({ grid: 1, block: 1, stream }, buffer, BUSY, 1);
}

/** How often a timer of 5 ms ticks while a piece of work is under way. */
async function ticksDuring(work: () => Promise<void>): Promise<number> {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return ticks;
}

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped memory" : "plain segments";

  Deno.test(`\`allocateAsync()\` never blocks the event loop: ${kind}`, async () => {
    using stream = device.createStream();
    using pool = device.createPool({ maxPoolSize: "8MiB", virtualMemory });
    keepBusy(pool, stream);
    const begin = performance.now();
    const ticks = await ticksDuring(async () => {
      using buffer = await pool.allocateAsync("float32", 2 * MIB);
      assert(stream.query(), "the memory is given while the stream uses it");
      device.kernels.fill(buffer, 2);
      assertEquals((await buffer.toArray())[MIB], 2);
    });
    assert(performance.now() - begin > 100, "it did not have to wait");
    assert(ticks >= 5, `the timer has ticked ${ticks} times`);
    assertEquals([pool.stats().syncs, pool.stats().outOfMemory], [1, 0]);
  });

  Deno.test(`\`allocate()\` blocks once and counts it: ${kind}`, async () => {
    using stream = device.createStream();
    using pool = device.createPool({ maxPoolSize: "8MiB", virtualMemory });
    keepBusy(pool, stream);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    try {
      await new Promise((resolve) => setTimeout(resolve, 20));
      const before = ticks;
      using buffer = pool.allocate("float32", 2 * MIB);
      assertEquals([ticks - before, stream.query(), buffer.length], [0, true, 2 * MIB]);
    } finally {
      clearInterval(timer);
    }
    assertEquals([pool.stats().syncs, pool.stats().outOfMemory], [1, 0]);
  });
}

Deno.test("`allocateAsync()` serves waiting requests in turn or rejects them", async () => {
  using stream = device.createStream();
  using pool = device.createPool({ maxPoolSize: "8MiB" });
  keepBusy(pool, stream);
  const requests = Array.from({ length: 3 }, () => pool.allocateAsync("uint8", 4 * MIB));
  const outcomes = await Promise.allSettled(requests);
  const served = outcomes.filter((outcome) => outcome.status === "fulfilled");
  assertEquals(served.length, 2);
  const [refused] = outcomes.filter((outcome) => outcome.status === "rejected");
  assert(refused!.reason instanceof OutOfMemoryError);
  assertEquals(new Set(served.map(({ value }) => value.address)).size, 2);
  for (const { value } of served) value.free();
  assertEquals(pool.memoryAllocated(), 0);
});

Deno.test("`allocateAsync()` rejects a request above the limit", async () => {
  using pool = device.createPool({ maxPoolSize: "8MiB" });
  const error = await assertRejects(() => pool.allocateAsync("uint8", 9 * MIB), OutOfMemoryError);
  assertEquals([error.requested, pool.stats().outOfMemory], [9 * MIB, 1]);
  for (const length of [-1, NaN, 0.5, 2 ** 53]) {
    await assertRejects(() => pool.allocateAsync("uint8", length), RangeError, "length");
  }
  await assertRejects(() => pool.allocateAsync("uint8", 1, { alignment: 3 }), RangeError, "3");
  using empty = await pool.allocateAsync("uint8", 0);
  assertEquals(empty.address, 0);
});

Deno.test("`device.allocateAsync()` fills, uses the named pool, and frees on failure", async () => {
  using pool = device.createPool();
  using x = await device.allocateAsync("float32", 100, { fill: 3, pool, alignment: 4096 });
  assertEquals([pool.ownsPointer(x.address), x.address % 4096], [true, 0]);
  assertEquals([...await x.toArray()], Array(100).fill(3));
  using y = await device.allocateAsync("int32", 10, { fill: 4 });
  assertEquals([device.pool.ownsPointer(y.address), ...await y.toArray()], [
    true,
    ...Array(10).fill(4),
  ]);
  const before = pool.memoryAllocated();
  await assertRejects(() => device.allocateAsync("int32", 10, { fill: 0.5, pool }));
  assertEquals(pool.memoryAllocated(), before);
  await assertRejects(
    () => device.allocateAsync("int32", 10, { pool: {} as never }),
    TypeError,
    "options.pool",
  );
});
