import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  type DeviceBuffer,
  type MemoryPool,
  type MemoryPoolOptions,
  openDevice,
  OutOfMemoryError,
} from "../../../mod.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";
import { runProgram } from "../../support/subprocess.ts";

const MIB = 2 ** 20;

function allocateMany(pool: MemoryPool, count: number, bytes: number): DeviceBuffer[] {
  return Array.from({ length: count }, () => pool.allocate("uint8", bytes));
}

function freeAll(buffers: readonly DeviceBuffer[]): void {
  for (const buffer of buffers) buffer.free();
}

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped memory" : "plain segments";

  Deno.test(`\`OutOfMemoryError\` gives figures, and the pool stays usable, with ${kind}`, () => {
    using pool = device.createPool({ maxPoolSize: 8 * MIB, virtualMemory });
    const held = allocateMany(pool, 3, 2 * MIB);
    held.splice(1, 1)[0]!.free();
    const before = pool.stats();
    const error = assertThrows(() => pool.allocate("uint8", 5 * MIB), OutOfMemoryError);
    assertEquals([error.requested, error.device, error.code], [5 * MIB, device.label, 2]);
    assertEquals([error.total, error.pendingBytes], [device.info.totalMemory, 0]);
    assertEquals(error.limit, { name: "maxPoolSize", bytes: 8 * MIB, used: 4 * MIB });
    assertEquals(error.call, undefined);
    // Other processes change the free memory of a GPU.
    if (device.info.kind === "host") assertEquals(error.free, device.memoryInfo().free);
    else assert(error.free > 0 && error.free <= device.info.totalMemory, `${error.free}`);
    assertStringIncludes(error.message, "limit of 8 MiB, set by maxPoolSize, 4 MiB are in use");
    assertEquals(error.largestBlock, pool.stats().largestFree);
    assertEquals(error.fragmentation, pool.stats().fragmentation.external);
    assertEquals(error.topSites, []);
    assertStringIncludes(error.message, `allocate ${5 * MIB} bytes`);
    const { outOfMemory, retries, allocation, currentUsage } = pool.stats();
    assertEquals([outOfMemory, retries], [1, 1]);
    assertEquals([allocation, currentUsage], [before.allocation, before.currentUsage]);
    assertEquals([...pool.liveSizes()], [2 * MIB, 2 * MIB]);
    freeAll(held);
  });
}

Deno.test("`OutOfMemoryError` names the limit that refused and how to raise it", async () => {
  const { free, total } = device.memoryInfo();
  const refuse = (options: MemoryPoolOptions, bytes: number) => {
    using pool = device.createPool(options);
    return assertThrows(() => pool.allocate("uint8", bytes), OutOfMemoryError);
  };
  const half = refuse({ memoryFraction: 0.25 }, Math.floor(0.3 * free));
  assertEquals([half.limit?.name, half.call], ["memoryFraction", undefined]);
  const pressed = refuse({ maxPoolSize: 100 * MIB, pressure: { refuse: 0.5 } }, 95 * MIB);
  assertEquals(pressed.limit, { name: "pressure.refuse", bytes: 50 * MIB, used: 0 });
  assertStringIncludes(pressed.advice, "Raise pressure.refuse");
  assertEquals(refuse({}, total + 1).limit?.name, null);
  using _occupied = device.pool.allocateDirect("uint8", Math.floor(free / 2));
  for (const [virtualMemory, call] of [[true, "cuMemCreate"], [false, "cudaMalloc"]] as const) {
    const error = refuse({ virtualMemory }, Math.floor(free * 0.75));
    assertEquals([error.limit, error.call], [undefined, call]);
  }
  const { stdout } = await runProgram(
    `
    import { openDevice } from "@gridstride/cuda";
    using device = openDevice(${JSON.stringify(device.label)});
    try {
      device.allocate("uint8", device.memoryInfo().usable);
    } catch (error) {
      console.log(error.limit.name, error.advice);
    }`,
    { environment: { GRIDSTRIDE_MEMORY_FRACTION: "0.5" } },
  );
  assertStringIncludes(stdout, "GRIDSTRIDE_MEMORY_FRACTION Raise GRIDSTRIDE_MEMORY_FRACTION");
});

Deno.test("errors of `onMemoryPressure()` reach the caller", () => {
  using pool = device.createPool({
    maxPoolSize: 2 * MIB,
    onMemoryPressure: () => {
      throw new Error("not now");
    },
  });
  assertThrows(() => pool.allocate("uint8", 3 * MIB), Error, "not now");
  using _buffer = pool.allocate("uint8", MIB);
  assertEquals([...pool.liveSizes()], [MIB]);
});

Deno.test("`maxCachedBuffers` limits the cached blocks of a size class", () => {
  using pool = device.createPool({ maxCachedBuffers: 3 });
  const buffers = [...allocateMany(pool, 10, 4096), ...allocateMany(pool, 2, 8192)];
  freeAll(buffers);
  assertEquals(pool.stats().cached, 3 * 4096 + 2 * 8192);
  const { cacheHits } = pool.stats();
  freeAll(allocateMany(pool, 5, 4096));
  assertEquals(pool.stats().cacheHits - cacheHits, 3);
  using none = device.createPool({ maxCachedBuffers: 0 });
  freeAll([...allocateMany(none, 10, 4096), ...allocateMany(none, 2, 2 * MIB)]);
  assertEquals([none.stats().cached, none.stats().cacheHits], [0, 0]);
});

Deno.test("`maxCachedBytes` limits free memory", async () => {
  using pool = device.createPool({ maxCachedBytes: "4MiB" });
  for (const [count, bytes] of [[5, 2 * MIB], [100, 100_000], [1, 16 * MIB]] as const) {
    const buffers = allocateMany(pool, count, bytes);
    await device.stream.done();
    for (const buffer of buffers) {
      buffer.free();
      assert(pool.stats().free <= 4 * MIB, `${pool.stats().free}`);
    }
  }
  using nothing = device.createPool({ maxCachedBytes: 0 });
  nothing.allocate("uint8", MIB).free();
  await device.stream.done();
  assertEquals(nothing.stats().cached, 0);
});

Deno.test("`clearCache()` returns unused memory, and `clearCacheAsync()` the rest", async () => {
  using gate = new Gate();
  using pool = device.createPool();
  using stream = device.createStream();
  const idle = pool.allocate("uint8", 4 * MIB);
  const busy = pool.allocate("float32", 2 * MIB, { stream });
  gate.close(stream, busy);
  idle.free();
  busy.free();
  await device.stream.done();
  const taken = pool.memoryReserved();
  const first = pool.clearCache();
  assertEquals(pool.memoryReserved(), taken - first);
  assert(first <= 4 * MIB && pool.memoryReserved() >= 8 * MIB);
  const cleared = pool.clearCacheAsync();
  gate.open();
  const rest = await cleared;
  assertEquals([first + rest, pool.memoryReserved()], [taken, 0]);
});

Deno.test("`initialSize` is taken when the pool is made", () => {
  const before = resourceTally(device.context.library);
  {
    using pool = device.createPool({ initialSize: "16MiB" });
    assertEquals(pool.memoryReserved(), 16 * MIB);
    const calls = pool.stats().upstreamCalls;
    using _buffer = pool.allocate("uint8", 16 * MIB);
    assertEquals([pool.memoryReserved(), pool.stats().upstreamCalls], [16 * MIB, calls]);
  }
  assertEquals(resourceTally(device.context.library), before);
});

Deno.test("the constructor throws without memory for `initialSize`", () => {
  const before = resourceTally(device.context.library);
  const { free, total } = device.memoryInfo();
  if (free > 0.99 * total) return;
  for (const virtualMemory of [true, false]) {
    const make = () => device.createPool({ initialSize: total, virtualMemory });
    assertEquals(assertThrows(make, OutOfMemoryError).requested, total);
  }
  assertEquals(resourceTally(device.context.library), before);
});

Deno.test("`openDevice()` configures the pool of the device", () => {
  const before = resourceTally(device.context.library);
  {
    using own = openDevice(device.label, { memory: { maxPoolSize: "4MiB", initialSize: "2MiB" } });
    assertEquals([own.pool.limitBytes, own.pool.memoryReserved()], [4 * MIB, 2 * MIB]);
    assertThrows(() => own.allocate("uint8", 5 * MIB), OutOfMemoryError);
    assertEquals(own.memory.capacity, 4 * MIB);
  }
  const open = (memory: unknown) => openDevice(device.label, { memory } as never);
  assertThrows(() => open({ maxPoolSize: 0 }), RangeError, "maxPoolSize");
  assertThrows(() => open({ limit: 5 }), TypeError, "limit");
  assertThrows(() => open(null), TypeError, "options");
  assertThrows(() => openDevice(device.label, 5 as never), TypeError, "options");
  assertEquals(resourceTally(device.context.library), before);
});

Deno.test("environment variables configure the pool of a device", async () => {
  const label = JSON.stringify(device.label);
  const { code, stdout, stderr } = await runProgram(
    `
    import { openDevice } from "@gridstride/cuda";
    function show(...options) {
      using device = openDevice(${label}, ...options);
      const { settings } = device.pool;
      console.log(device.pool.memoryReserved(), settings.cleanupInterval);
    }
    show();
    show({ memory: { initialSize: 0, trim: false } });
  `,
    { environment: { CUDA_MEMORY_POOL_SIZE: "8MiB", CUDA_MEMORY_POOL_TRIM: "1" } },
  );
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout, `${8 * MIB} 10000\n0 0\n`);
});
