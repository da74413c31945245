import { assertEquals } from "@std/assert";
import type { MemoryChange } from "../../../mod.ts";
import { MemoryWatch } from "../../../src/memory/pool/pool_observer.ts";
import { device } from "../../support/device.ts";

const MIB = 2 ** 20;

Deno.test("`onMemoryChange()` reports growth and returns", async () => {
  using pool = device.createPool({ maxPoolSize: "64MiB" });
  const heard: MemoryChange[] = [];
  using _watching = pool.onMemoryChange((change) => heard.push(change));
  const buffer = pool.allocate("uint8", 4 * MIB);
  assertEquals(heard, []);
  await Promise.resolve();
  const taken = pool.memoryReserved();
  const base = { device: device.label, limit: 64 * MIB };
  assertEquals(heard, [{ ...base, reserved: taken, change: taken, live: 4 * MIB }]);
  buffer.free();
  for (let i = 0; i < 100; i++) pool.allocate("uint8", 4 * MIB - i).free();
  await Promise.resolve();
  assertEquals(heard.length, 1);
  await device.stream.done();
  pool.clearCache();
  await Promise.resolve();
  assertEquals(heard.slice(1), [{ ...base, reserved: 0, change: -taken, live: 0 }]);
});

Deno.test("`onMemoryChange()` combines the changes of a task", async () => {
  let reserved = 0;
  const watch = new MemoryWatch(() => ({ device: "model:0", reserved, live: 0, limit: 100 }));
  const heard: number[] = [];
  const watching = watch.add(({ change }) => heard.push(change));
  for (const now of [10, 30, 20]) {
    reserved = now;
    watch.changed();
  }
  await Promise.resolve();
  assertEquals(heard, [20]);
  for (const now of [50, 20]) {
    reserved = now;
    watch.changed();
  }
  await Promise.resolve();
  assertEquals(heard, [20]);
  reserved = 5;
  watch.changed();
  watching[Symbol.dispose]();
  watching[Symbol.dispose]();
  await Promise.resolve();
  assertEquals(heard, [20]);
});

Deno.test("an error of a listener is reported, and the others are called", async () => {
  let reserved = 0;
  const watch = new MemoryWatch(() => ({ device: "model:0", reserved, live: 0, limit: 100 }));
  const heard: number[] = [];
  const uncaught: unknown[] = [];
  const onError = (event: ErrorEvent) => {
    event.preventDefault();
    uncaught.push(event.error);
  };
  globalThis.addEventListener("error", onError);
  try {
    using _first = watch.add(() => {
      throw new Error("no interest");
    });
    using _second = watch.add(({ change }) => heard.push(change));
    reserved = 10;
    watch.changed();
    await Promise.resolve();
    assertEquals([heard, uncaught.map(String)], [[10], ["Error: no interest"]]);
  } finally {
    globalThis.removeEventListener("error", onError);
  }
});
