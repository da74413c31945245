import { assert, assertEquals, assertThrows } from "@std/assert";
import { type MemoryPool, openDevice } from "../../../mod.ts";
import { device } from "../../support/device.ts";

const MIB = 2 ** 20;
const SPIN = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);

/** Frees memory of a pool on a stream that goes on using it for 30 ms, and disposes that. */
function leaveBusy(pool: MemoryPool, mebibytes: number): void {
  using stream = device.createStream();
  using buffer = pool.allocate("float32", mebibytes * MIB / 4, { stream });
  SPIN.launch({ grid: 1, block: 1, stream }, buffer, 0.03e9, 1);
}

// A disposed stream that has finished needs its event no more.
Deno.test("`allocateAsync()` survives other queries of its event", async () => {
  using pool = device.createPool({ maxPoolSize: "8MiB" });
  leaveBusy(pool, 8);
  const waiting = pool.allocateAsync("float32", 2 * MIB);
  device.doneSync();
  assertEquals(pool.clearCache(), 8 * MIB);
  using buffer = await waiting;
  assertEquals(buffer.length, 2 * MIB);
});

Deno.test("`clearCacheAsync()` survives other queries of its event", async () => {
  using pool = device.createPool({ maxPoolSize: "8MiB" });
  for (let stream = 0; stream < 4; stream++) leaveBusy(pool, 2);
  const waiting = [pool.clearCacheAsync(), pool.clearCacheAsync()];
  device.doneSync();
  assertEquals(pool.clearCache(), 8 * MIB);
  assertEquals(await Promise.all(waiting), [0, 0]);
});

Deno.test("disposing of a device during a capture throws", async () => {
  using x = device.allocate("float32", 4);
  const second = openDevice(device.label);
  {
    using buffer = second.allocate("float32", 2 * MIB);
    const spin = second.kernels.load(
      "spin_float32(float* out, unsigned long long nanoseconds, float value)",
    );
    spin.launch({ grid: 1, block: 1 }, buffer, 0.05e9, 1);
  }
  using graph = device.stream.capture(() => {
    device.kernels.fill(x, 3);
    assertThrows(() => second[Symbol.dispose](), TypeError, "while a stream is being captured");
  });
  assert(!second.disposed);
  second[Symbol.dispose]();
  graph.launch();
  assertEquals([...await x.toArray()], [3, 3, 3, 3]);
});
