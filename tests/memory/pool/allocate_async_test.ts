import { assert, assertEquals, assertRejects } from "@std/assert";
import { type MemoryPool, OutOfMemoryError, type Stream } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";

const MIB = 2 ** 20;

/** Frees all of a pool's memory on a stream that goes on using it until the gate opens. */
function keepBusy(gate: Gate, pool: MemoryPool, stream: Stream): void {
  using buffer = pool.allocate("float32", 2 * MIB, { stream });
  gate.close(stream, buffer);
}

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped memory" : "plain segments";

  Deno.test(`\`allocateAsync()\` never blocks the event loop: ${kind}`, async () => {
    using gate = new Gate();
    using stream = device.createStream();
    using pool = device.createPool({ maxPoolSize: "8MiB", virtualMemory });
    keepBusy(gate, pool, stream);
    let isServed = false;
    const request = pool.allocateAsync("float32", 2 * MIB).finally(() => isServed = true);
    for (let tick = 0; tick < 5; tick++) await new Promise((resolve) => setTimeout(resolve, 5));
    assertEquals([isServed, stream.query()], [false, false]);
    gate.open();
    using buffer = await request;
    assert(stream.query(), "the memory is given while the stream uses it");
    device.kernels.fill(buffer, 2);
    assertEquals((await buffer.toArray())[MIB], 2);
    assertEquals([pool.stats().syncs, pool.stats().outOfMemory], [1, 0]);
  });

  Deno.test(`\`allocate()\` blocks once and counts it: ${kind}`, () => {
    using gate = new Gate();
    using stream = device.createStream();
    using pool = device.createPool({ maxPoolSize: "8MiB", virtualMemory });
    keepBusy(gate, pool, stream);
    using _opening = gate.openWhenBlocked();
    using buffer = pool.allocate("float32", 2 * MIB);
    assertEquals([stream.query(), buffer.length], [true, 2 * MIB]);
    assertEquals([pool.stats().syncs, pool.stats().outOfMemory], [1, 0]);
  });
}

Deno.test("`allocateAsync()` serves waiting requests in turn or rejects them", async () => {
  using gate = new Gate();
  using stream = device.createStream();
  using pool = device.createPool({ maxPoolSize: "8MiB" });
  keepBusy(gate, pool, stream);
  const requests = Array.from({ length: 3 }, () => pool.allocateAsync("uint8", 4 * MIB));
  gate.open();
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
