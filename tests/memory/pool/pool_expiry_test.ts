import { assert, assertEquals, assertThrows } from "@std/assert";
import { PoolClock, PoolExpiry } from "../../../src/memory/pool/pool_expiry.ts";
import type { MemoryUpstream } from "../../../src/memory/pool/memory_upstream.ts";
import { Clock } from "../../support/clock.ts";
import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";
import { runProgram } from "../../support/subprocess.ts";

const MIB = 2 ** 20;

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Waits until something holds; how long that took, in milliseconds. */
async function until(holds: () => boolean, limit = 5000): Promise<number> {
  const begin = performance.now();
  while (!holds()) {
    assert(performance.now() - begin < limit, `it does not hold after ${limit} ms`);
    await pause(2);
  }
  return performance.now() - begin;
}

Deno.test("`ticksSince()` gives the last tick that had ended", () => {
  const counter = { tick: 0 };
  const clock = new PoolClock(counter, 100);
  for (const time of [99, 100, 1e9]) assertEquals(clock.ticksSince(time), undefined);
  for (const now of [110, 120, 130]) clock.advance(now);
  assertEquals(counter.tick, 3);
  // Tick 0 was from 100 to 110, tick 1 to 120, tick 2 to 130.
  const ended = [100, 109, 110, 119, 120, 129, 130, 500].map((time) => {
    const ticks = clock.ticksSince(time);
    return ticks === undefined ? undefined : counter.tick - ticks;
  });
  assertEquals(ended, [undefined, undefined, 0, 0, 1, 1, 2, 2]);
});

Deno.test("`ticksSince()` never overstates an age", () => {
  const counter = { tick: 0 };
  const clock = new PoolClock(counter, 0);
  // Tick n begins at n.
  for (let now = 1; now <= 100_000; now++) clock.advance(now);
  assertEquals(counter.tick, 100_000);
  for (const time of [10_000, 30_000, 77_777, 99_000, 100_000]) {
    const ended = counter.tick - clock.ticksSince(time)!;
    assert(ended < time, `tick ${ended} had not ended at ${time}`);
    const exactness = 2 + (100_000 - ended) / 30;
    assert(ended > time - exactness, `at ${time} more than tick ${ended} had ended`);
  }
});

Deno.test("`PoolExpiry` runs its timer while there is memory", async () => {
  const upstream = { label: "model:0", lost: false };
  const expired: number[] = [];
  let reserved = 0;
  const pool = {
    tick: 0,
    lastFreed: Infinity,
    get reservedBytes() {
      return reserved;
    },
    upstream: upstream as MemoryUpstream,
    expire: (ticks: number) => expired.push(ticks),
  };
  const expiry = new PoolExpiry(pool, 20);
  expiry.update();
  assertEquals(expiry.isRunning, false);
  reserved = 5;
  expiry.update();
  assertEquals(expiry.isRunning, true);
  await until(() => expired.length > 2);
  assert(pool.tick >= expired.length);
  // A tick is a quarter of the interval.
  assert(expired.every((ticks) => ticks >= 1 && ticks <= 8), expired.join());
  upstream.lost = true;
  await until(() => !expiry.isRunning);
  upstream.lost = false;
  expiry.update();
  reserved = 0;
  expiry.update();
  assertEquals(expiry.isRunning, false);
  const never = new PoolExpiry(pool, 0);
  reserved = 5;
  never.update();
  assertEquals(never.isRunning, false);
});

Deno.test("`PoolExpiry` logs errors of its timer", async () => {
  let calls = 0;
  const pool = {
    tick: 0,
    lastFreed: Infinity,
    reservedBytes: 5,
    upstream: { label: "model:0", lost: false } as MemoryUpstream,
    expire: () => {
      calls++;
      throw new Error("the device is out to lunch");
    },
  };
  const expiry = new PoolExpiry(pool, 20);
  expiry.update();
  await until(() => calls > 2);
  expiry.stop();
  assertThrows(() => expiry.expire(0), Error, "lunch");
});

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped memory" : "plain segments";

  Deno.test(`\`cleanupInterval\` returns memory after the interval: ${kind}`, async () => {
    using pool = device.createPool({ cleanupInterval: 200, virtualMemory });
    const kept = pool.allocate("uint8", 4 * MIB);
    const dropped = pool.allocate("uint8", 8 * MIB);
    const taken = pool.memoryReserved();
    await device.stream.done();
    const freedAt = performance.now();
    dropped.free();
    await until(() => pool.memoryReserved() < taken);
    const age = performance.now() - freedAt;
    assert(age >= 199, `it went after ${age} ms`);
    assertEquals(pool.memoryReserved(), taken - 8 * MIB);
    assertEquals(pool.stats().expired, 8 * MIB);
    await pause(250);
    // Live buffers never expire.
    assertEquals(pool.memoryReserved(), 4 * MIB);
    kept.free();
    await until(() => pool.memoryReserved() === 0);
    assertEquals(pool.stats().expired, taken);
  });
}

Deno.test("`cleanupInterval` keeps memory in use", async () => {
  using clock = new Clock();
  using pool = device.createPool({ cleanupInterval: 120 });
  using _all = pool.allocate("uint8", MIB);
  for (let count = 0; count < 12; count++) {
    pool.allocate("uint8", 8 * MIB).free();
    await clock.advance(40);
    await pause(31); // The timer runs four times in an interval.
  }
  assertEquals(pool.stats().expired, 0);
});

Deno.test("`cleanupExpiredBuffers()` returns memory by age", async () => {
  using clock = new Clock();
  using gate = new Gate();
  using pool = device.createPool({ cleanupInterval: 60_000 });
  using stream = device.createStream();
  const early = pool.allocate("uint8", 4 * MIB);
  // Neighbours that are free become one block, which is as young as the younger of them.
  using _between = pool.allocate("uint8", 2 * MIB);
  const late = pool.allocate("uint8", 16 * MIB);
  const busy = pool.allocate("float32", 8 * MIB, { stream });
  const taken = pool.memoryReserved();
  gate.close(stream, busy);
  await device.stream.done();
  early.free();
  assertEquals(pool.cleanupExpiredBuffers(20), 0);
  await clock.advance(30);
  assertEquals(pool.cleanupExpiredBuffers(200), 0);
  late.free();
  busy.free();
  assertEquals(pool.cleanupExpiredBuffers(20), 4 * MIB);
  // By its own age nothing is due, and by an age of 0 all that no stream uses.
  assertEquals(pool.cleanupExpiredBuffers(), 0);
  assertEquals(pool.cleanupExpiredBuffers(0), 16 * MIB);
  gate.open();
  await stream.done();
  assertEquals(pool.cleanupExpiredBuffers(0), taken - 22 * MIB);
  assertEquals([pool.memoryReserved(), pool.stats().expired], [2 * MIB, taken - 2 * MIB]);
});

Deno.test("`cleanupExpiredBuffers()` refuses bad ages", () => {
  using pool = device.createPool();
  for (const age of [-1, NaN, "5", null, {}]) {
    assertThrows(() => pool.cleanupExpiredBuffers(age as number), RangeError, "age");
  }
});

Deno.test("`cleanupExpiredBuffers()` returns idle memory at its first call without an interval", async () => {
  using clock = new Clock();
  using pool = device.createPool();
  pool.allocate("uint8", 4 * MIB).free();
  await clock.advance(120);
  assertEquals(pool.cleanupExpiredBuffers(100), 4 * MIB);
  pool.allocate("uint8", 4 * MIB).free();
  assertEquals(pool.cleanupExpiredBuffers(100), 0);
});

Deno.test("the timer keeps no process alive", async () => {
  const { code, stdout, stderr } = await runProgram(
    `
    import { openDevice } from "@gridstride/cuda";
    const device = openDevice(${JSON.stringify(device.label)}, {
      memory: { cleanupInterval: 3_600_000 },
    });
    const pool = device.createPool({ cleanupInterval: 20, initialSize: "2MiB" });
    const buffers = [device.allocate("int8", 100), pool.allocate("int8", 100)];
    console.log(buffers.length, pool.memoryReserved() > 0);
  `,
    { limit: 20_000 },
  );
  assertEquals([code, stdout, stderr], [0, "2 true\n", ""]);
});
