import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { DeviceBuffer, MemoryPool, type PoolStatistics } from "../../../mod.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { device } from "../../support/device.ts";

const { library } = device.context;

/** The figures that a reader of the statistics looks at first. */
function figures(pool: MemoryPool) {
  const { totalAllocated, totalFreed, currentUsage, peakUsage } = pool.stats();
  const { allocationCount, deallocationCount, cacheHits, cacheMisses, hitRate } = pool.stats();
  return {
    bytes: [totalAllocated, totalFreed, currentUsage, peakUsage],
    counts: [allocationCount, deallocationCount],
    cache: [cacheHits, cacheMisses, hitRate],
  };
}

/** Asserts that a call is refused with these words, and that the pool stays as it was. */
function assertRefused(
  pool: MemoryPool,
  call: () => unknown,
  Class: typeof TypeError | typeof RangeError,
  ...words: readonly string[]
): void {
  const before: PoolStatistics = pool.stats();
  const sizes = [...pool.liveSizes()];
  const { message } = assertThrows(call, Class);
  for (const word of words) assert(message.includes(word), `${word} is not in: ${message}`);
  assertEquals(pool.stats(), before, message);
  assertEquals([...pool.liveSizes()], sizes);
}

Deno.test("`stats()` counts hits, misses and totals", () => {
  using pool = device.createPool();
  const first = pool.allocate("float32", 1000); // a miss
  pool.free(first);
  const second = pool.allocate("float32", 1000); // a hit of the same block
  const third = pool.allocate("uint8", 3999); // of the same class, but there is no other block
  assertEquals(figures(pool), {
    bytes: [4000 + 4000 + 3999, 4000, 7999, 7999],
    counts: [3, 1],
    cache: [1, 2, 1 / 3],
  });
  second.free();
  third.free();
  assertEquals(figures(pool).bytes, [11999, 11999, 0, 7999]);
  assertEquals(pool.stats().allocated, 0);
});

Deno.test("`allocate()` of length 0 gives a valid empty buffer", () => {
  using pool = device.createPool();
  const empty = pool.allocate("float64", 0);
  assertEquals([empty.length, empty.address, empty.disposed], [0, 0, false]);
  assertEquals([...pool.liveSizes()], []);
  pool.free(empty);
  assertEquals(empty.disposed, true);
  const { counts, cache } = figures(pool);
  assertEquals([counts, cache, pool.stats().upstreamCalls], [[1, 1], [0, 0, 0], 0]);
  assertRefused(pool, () => pool.free(empty), TypeError, "freed already");
  assertRefused(pool, () => pool.free(0), RangeError, "empty");
});

Deno.test("`allocate()` refuses bad lengths, alignments and options", () => {
  using pool = device.createPool();
  using _held = pool.allocate("float32", 100);
  for (const length of [-1, NaN, 0.5, 2 ** 53, Infinity, "3", null]) {
    const call = () => pool.allocate("float32", length as number);
    assertRefused(pool, call, RangeError, "length", String(length));
  }
  assertRefused(pool, () => pool.allocate("float64", 2 ** 51), RangeError, "length");
  for (const alignment of [0, -512, 3, 1.5, NaN, 2 ** 50 + 1, 2 ** 53]) {
    const call = () => pool.allocate("float32", 1, { alignment });
    assertRefused(pool, call, RangeError, "alignment", String(alignment));
  }
  assertRefused(pool, () => pool.allocate("float" as "float32", 1), TypeError, "float");
  assertRefused(pool, () => pool.allocate("int8", 1, null as never), TypeError, "options", "null");
  const stream = { id: 1 } as never;
  assertRefused(pool, () => pool.allocate("int8", 1, { stream }), TypeError, "stream");
});

Deno.test("`free()` throws for a freed buffer", () => {
  using pool = device.createPool();
  const buffer = pool.allocate("float32", 100);
  using other = pool.allocate("float32", 100);
  pool.free(buffer);
  assertRefused(pool, () => pool.free(buffer), TypeError, "freed already");
  buffer.free();
  buffer[Symbol.dispose]();
  assertEquals([...pool.liveSizes()], [400]);
  assertEquals(other.disposed, false);
});

Deno.test("`free()` throws for views and foreign buffers", () => {
  using pool = device.createPool();
  using other = device.createPool();
  using buffer = pool.allocate("float32", 100);
  const refuse = (memory: DeviceBuffer, ...words: string[]) =>
    assertRefused(pool, () => pool.free(memory), TypeError, ...words);
  refuse(buffer.view(0, 10), "a view");
  refuse(buffer.as("int32"), "a view");
  using foreign = DeviceBuffer.fromAddress(buffer.address, 400, { device });
  refuse(foreign, "of no pool");
  using direct = pool.allocateDirect("int8", 100);
  refuse(direct, "of no pool");
  using fromOther = other.allocate("int8", 100);
  refuse(fromOther, "another pool");
  using fromDevice = device.allocate("int8", 100);
  refuse(fromDevice, "another pool");
  const gone = pool.allocate("int8", 100);
  const view = gone.view(0, 1);
  gone.free();
  refuse(view, "view of a freed buffer");
  assertEquals([fromOther.disposed, direct.disposed, buffer.disposed], [false, false, false]);
});

Deno.test("`free()` of an address needs the begin of a live buffer", () => {
  using pool = device.createPool();
  using other = device.createPool();
  const buffer = pool.allocate("float32", 1000);
  using fromOther = other.allocate("float32", 1000);
  const { address } = buffer;
  const refuse = (at: unknown, ...words: string[]) =>
    assertRefused(pool, () => pool.free(at as number), RangeError, ...words);
  refuse(address + 4, "inside", "4 behind");
  refuse(address + 3999, "inside");
  refuse(address + 4096, "is free");
  refuse(fromOther.address, "no memory");
  for (const at of [1, 4096, -1, -512, 0.5, NaN, Infinity, 2 ** 53]) {
    refuse(at, String(device.label));
  }
  for (const at of ["1", null, undefined, 1n, {}, { address }]) {
    assertRefused(pool, () => pool.free(at as number), TypeError, "DeviceBuffer or its address");
  }
  pool.free(address);
  assertEquals(buffer.disposed, true);
  refuse(address, "is free");
});

Deno.test("a buffer freed by address does not free its successor", () => {
  using pool = device.createPool();
  const first = pool.allocate("float32", 1000);
  const view = first.view(0, 10);
  pool.free(first.address);
  assertThrows(() => first.address, TypeError, "disposed");
  assertThrows(() => view.address, TypeError, "disposed");
  const second = pool.allocate("float32", 1000);
  first.free();
  assertEquals([first.disposed, view.disposed, second.disposed], [true, true, false]);
  assertEquals(pool.memoryAllocated(), 4000);
  pool.free(second.address);
  using third = pool.allocate("float32", 1000);
  second.free();
  first.free();
  assertEquals([second.disposed, third.disposed, pool.memoryAllocated()], [true, false, 4000]);
  const { allocationCount, deallocationCount } = pool.stats();
  assertEquals([allocationCount, deallocationCount], [3, 2]);
});

Deno.test("two pools of a device share neither memory nor statistics", async () => {
  using one = device.createPool();
  using two = device.createPool();
  using x = one.allocate("float32", 1000);
  device.kernels.fill(x, 1);
  const y = two.allocate("float32", 1000);
  device.kernels.fill(y, 2);
  assertEquals([figures(one).counts, figures(two).counts], [[1, 0], [1, 0]]);
  assertEquals([one.ownsPointer(x.address), one.ownsPointer(y.address)], [true, false]);
  assertEquals([...await x.toArray()], Array(1000).fill(1));
  y.free();
  assertEquals([one.clearCache(), one.memoryReserved() > 0], [0, true]);
});

Deno.test("`ownsPointer()` is true inside of live buffers", () => {
  using pool = device.createPool();
  const buffer = pool.allocate("uint8", 1000);
  const { address } = buffer;
  const owned = [address - 1, address, address + 999, address + 1000, 0];
  assertEquals(owned.map((at) => pool.ownsPointer(at)), [false, true, true, false, false]);
  for (const wrong of [-1, 1.5, NaN]) {
    assertThrows(() => pool.ownsPointer(wrong), RangeError, "address must be an integer");
  }
  buffer.free();
  assertEquals(pool.ownsPointer(address), false);
});

Deno.test("the constructor refuses bad devices and options", () => {
  const before = resourceTally(library);
  const refuse = (make: () => MemoryPool, Class: typeof TypeError, ...words: string[]) => {
    const { message } = assertThrows(make, Class);
    for (const word of words) assert(message.includes(word), `${word} is not in: ${message}`);
  };
  refuse(() => new MemoryPool({} as never), TypeError, "device.context");
  refuse(() => new MemoryPool(null as never), TypeError, "device", "null");
  refuse(() => new MemoryPool(device, 5 as never), TypeError, "options", "5");
  refuse(() => device.createPool({ preset: "fast" as never }), RangeError, "preset", "fast");
  refuse(() => device.createPool({ maxPoolSize: "lots" }), RangeError, "maxPoolSize", "lots");
  refuse(() => device.createPool({ size: 5 } as never), TypeError, "size");
  assertEquals(resourceTally(library), before);
});

Deno.test("`device.pool` is one object, and disposing of it does nothing", () => {
  const { pool } = device;
  assertStrictEquals(device.pool, pool);
  assertStrictEquals(device.memory.pool, pool);
  pool[Symbol.dispose]();
  assertEquals(pool.disposed, false);
  using x = device.allocate("float32", 10);
  assert(pool.ownsPointer(x.address));
});
