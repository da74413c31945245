/** Requests that wait for memory of others. */

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { OutOfMemoryError } from "../../../mod.ts";
import { device } from "../../support/device.ts";

const MIB = 2 ** 20;
const WAIT = { wait: true } as const;

/** Lets requests try: longer than the interval of their attempts. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 40));

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped memory" : "plain segments";

  Deno.test(`\`allocateAsync()\` serves 50 requests in order when the pool holds 4: ${kind}`, async () => {
    using pool = device.createPool({ maxPoolSize: 64 * MIB, virtualMemory });
    const served: number[] = [];
    let most = 0;
    const sums = await Promise.all(Array.from({ length: 50 }, async (_, index) => {
      using x = await pool.allocateAsync("float32", 4 * MIB, WAIT);
      served.push(index);
      most = Math.max(most, pool.checkLeaks().count);
      device.kernels.fill(x, index);
      return (await x.view(4 * MIB - 1).toArray())[0]!;
    }));
    assertEquals(sums, sums.map((_, index) => index));
    assertEquals(served, sums);
    assertEquals([most, pool.stats().outOfMemory], [4, 0]);
  });
}

Deno.test("`allocateAsync()` lets no small request overtake a large one", async () => {
  using pool = device.createPool({ maxPoolSize: 8 * MIB });
  const held = [pool.allocate("uint8", 4 * MIB), pool.allocate("uint8", 2 * MIB)];
  const served: string[] = [];
  const request = async (name: string, bytes: number) => {
    using _ = await pool.allocateAsync("uint8", bytes, WAIT);
    served.push(name);
  };
  const all = [request("large", 8 * MIB), request("small", MIB), request("last", 8 * MIB)];
  await settle();
  assertEquals(served, [], "there is memory for the small one");
  held.pop()!.free();
  await settle();
  assertEquals(served, []);
  held.pop()!.free();
  await Promise.all(all);
  assertEquals(served, ["large", "small", "last"]);
});

Deno.test("`allocateAsync()` ends a wait by signal or timeout, and serves the next request", async () => {
  using pool = device.createPool({ maxPoolSize: 4 * MIB });
  const held = pool.allocate("uint8", 4 * MIB);
  const control = new AbortController();
  const first = pool.allocateAsync("uint8", 2 * MIB, { ...WAIT, signal: control.signal });
  const second = pool.allocateAsync("uint8", 2 * MIB, { ...WAIT, timeout: 20 });
  const third = pool.allocateAsync("uint8", 2 * MIB, WAIT);
  const error = await assertRejects(() => second, OutOfMemoryError);
  assertStringIncludes(error.message, "no memory became free within 20 ms, with 1 requests ahead");
  control.abort(new Error("the client has gone"));
  await assertRejects(() => first, Error, "the client has gone");
  held.free();
  using _ = await third;
  const { signal } = control;
  await assertRejects(() => pool.allocateAsync("uint8", 1, { ...WAIT, signal }), Error, "has gone");
  assertEquals(pool.memoryAllocated(), 2 * MIB);
});

Deno.test("`allocateAsync()` keeps no memory of a request that is aborted at any time", async () => {
  using pool = device.createPool({ maxPoolSize: 8 * MIB });
  const turns = (count: number) =>
    Array.from({ length: count }).reduce<Promise<void>>(
      (all) => all.then(() => {}),
      Promise.resolve(),
    );
  const outcomes = new Set<string>();
  for (let count = 0; count < 24; count++) {
    const control = new AbortController();
    const { signal } = control;
    const request = pool.allocateAsync("uint8", 2 * MIB, { ...WAIT, signal });
    const outcome = request.then((buffer) => buffer.free(), () => outcomes.add("aborted"));
    await turns(count);
    control.abort(new Error("the client has gone"));
    await outcome;
  }
  await settle();
  assert(outcomes.has("aborted"));
  assertEquals([pool.memoryAllocated(), pool.checkLeaks().count], [0, 0]);
  using whole = await pool.allocateAsync("uint8", 8 * MIB, { ...WAIT, timeout: 60_000 });
  assertEquals(whole.length, 8 * MIB);
});

Deno.test("`allocateAsync()` leaves no listener at a signal that many requests share", async () => {
  using pool = device.createPool({ maxPoolSize: 4 * MIB });
  const { signal } = new AbortController();
  let listeners = 0;
  for (const [name, step] of [["addEventListener", 1], ["removeEventListener", -1]] as const) {
    const original = signal[name].bind(signal) as (...given: unknown[]) => void;
    signal[name] = (...given: unknown[]) => {
      listeners += step;
      original(...given);
    };
  }
  const options = { ...WAIT, signal };
  (await pool.allocateAsync("uint8", MIB, options)).free();
  using held = pool.allocate("uint8", 4 * MIB);
  const late = pool.allocateAsync("uint8", MIB, { ...options, timeout: 5 });
  await assertRejects(() => late, OutOfMemoryError);
  const waiting = pool.allocateAsync("uint8", MIB, options);
  await settle();
  assertEquals(listeners, 1, "the request that waits listens");
  held.free();
  (await waiting).free();
  assertEquals(listeners, 0);
});

Deno.test("`allocateAsync()` refuses at once what fits into no empty pool", async () => {
  const options = { maxPoolSize: 64 * MIB };
  for (const debug of [false, true]) {
    using pool = device.createPool({ ...options, debug });
    using _held = pool.allocate("uint8", MIB);
    const request = () => pool.allocateAsync("uint8", 64 * MIB + (debug ? 0 : 1), WAIT);
    const { limit } = await assertRejects(request, OutOfMemoryError);
    assertEquals([limit?.name, limit?.bytes], ["maxPoolSize", 64 * MIB]);
  }
  using pool = device.createPool({ ...options, pressure: { refuse: 0.5 } });
  const request = () => pool.allocateAsync("uint8", 63 * MIB, WAIT);
  assertEquals((await assertRejects(request, OutOfMemoryError)).limit?.name, "pressure.refuse");
});

Deno.test("`allocateAsync()` waits for memory of other owners when the device is full", async () => {
  const { total } = device.memoryInfo();
  using pool = device.createPool();
  device.pool.clearCache();
  const size = Math.floor(total / 2);
  const other = device.pool.allocateDirect("uint8", size);
  const request = pool.allocateAsync("uint8", size + 64 * MIB, { ...WAIT, timeout: 60_000 });
  let isServed = false;
  request.then(() => isServed = true);
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert(!isServed);
  other.free();
  (await request).free();
});

Deno.test("`allocateAsync()` refuses wrong options of a wait", async () => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ wait: 1 }, "options.wait must be true or false: it is 1"],
    [{ wait: true, timeout: -1 }, "options.timeout must be milliseconds"],
    [{ wait: true, timeout: "1s" }, "options.timeout must be milliseconds"],
    [{ wait: true, signal: {} }, "options.signal must be an AbortSignal"],
    [{ timeout: 5 }, "options.timeout must be absent unless wait is true: it is 5"],
  ];
  for (const [options, message] of wrong) {
    await assertRejects(() => device.allocateAsync("uint8", 1, options), Error, message);
  }
});
