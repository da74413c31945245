import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  CudaError,
  DeviceBuffer,
  MemoryCorruptionError,
  MemoryPool,
  openDevice,
} from "../../../mod.ts";
import { injectFault } from "../../support/fault_injection.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { snapshotPool } from "../../../src/lab/memory/pool_snapshot.ts";
import { device } from "../../support/device.ts";

const { library } = device.context;
const MIB = 2 ** 20;
const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";

/** The resources that the pools of a test have taken. */
function tally() {
  const { reservations, mappedBytes, allocations, events } = resourceTally(library);
  return { reservations, mappedBytes, allocations, events };
}

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped memory" : "plain segments";

  Deno.test(`a disposed pool returns its memory: ${kind}`, () => {
    using stream = device.createStream();
    const before = tally();
    {
      using pool = device.createPool({ virtualMemory });
      for (const bytes of [100, MIB, 5 * MIB]) {
        pool.allocate("uint8", bytes).free();
        pool.allocate("uint8", bytes, { stream }).free();
      }
      assert(pool.memoryReserved() > 0);
    }
    assertEquals(tally(), before);
  });

  Deno.test(`a disposed pool lives until its last buffer is freed: ${kind}`, async () => {
    using warm = device.allocate("float32", 1000);
    await warm.toArray(); // has pinned memory and its event made
    const before = tally();
    const pool = device.createPool({ virtualMemory });
    const x = pool.allocate("float32", 1000);
    const y = pool.allocate("float32", MIB);
    const nothing = pool.allocate("float32", 0);
    device.kernels.fill(x, 7);
    pool[Symbol.dispose]();
    pool[Symbol.dispose]();
    assertEquals(pool.disposed, true);
    assertThrows(() => pool.allocate("int8", 1), TypeError, "disposed");
    assertThrows(() => pool.allocate("int8", 0), TypeError, "disposed");
    assertThrows(() => pool.allocateDirect("int8", 1), TypeError, "disposed");
    await assertRejects(() => pool.allocateAsync("int8", 1), TypeError, "disposed");
    assertThrows(() => device.allocate("int8", 1, { pool }), TypeError, "disposed");
    assertEquals((await x.toArray())[999], 7);
    assertEquals([...pool.liveSizes()], [4000, 4 * MIB]);
    pool.free(y);
    x.free();
    assert(pool.memoryReserved() > 0);
    nothing.free();
    assertEquals([pool.memoryReserved(), pool.memoryAllocated()], [0, 0]);
    assertEquals(tally(), before);
    assertEquals([pool.clearCache(), await pool.clearCacheAsync()], [0, 0]);
    assertEquals(pool.cleanupExpiredBuffers(0), 0);
    assertEquals(pool.checkLeaks().count, 0);
    assertEquals(snapshotPool(pool).segments, []);
    assertThrows(() => pool.free(x), TypeError, "freed already");
  });
}

Deno.test("a pool keeps its device open until it ends", async () => {
  const before = resourceTally(library);
  const own = openDevice(device.label);
  const pool = own.createPool();
  const buffer = pool.allocate("float32", 1000);
  buffer.copyFrom(new Float32Array(1000).fill(3));
  own[Symbol.dispose]();
  assertEquals((await buffer.toArray())[5], 3);
  using other = pool.allocate("float32", 10);
  other.free();
  pool[Symbol.dispose]();
  assertEquals(own.context.closed, false);
  buffer.free();
  assertEquals(own.context.closed, true);
  assertEquals(resourceTally(library), before);
});

Deno.test("the pool of a device ends with the device", () => {
  const own = openDevice(device.label);
  const { pool } = own;
  own.allocate("float32", 1000).free();
  own[Symbol.dispose]();
  assertEquals(pool.disposed, true);
  assertThrows(() => pool.allocate("int8", 1), TypeError, "disposed");
  assertThrows(() => own.pool, TypeError, "disposed");
  assertThrows(() => own.memory, TypeError, "disposed");
  assertThrows(() => own.createPool(), TypeError, "disposed");
  assertThrows(() => new MemoryPool(own), TypeError, "disposed");
  assertEquals(pool.stats().reserved, 0);
});

Deno.test("disposing of a pool waits for work on its memory", () => {
  using stream = device.createStream();
  const before = tally();
  const pool = device.createPool();
  const buffer = pool.allocate("float32", 4 * MIB, { stream });
  device.kernels.load(SPIN).launch({ grid: 1, block: 1, stream }, buffer, 0.1e9, 1);
  buffer.free();
  pool[Symbol.dispose]();
  // Whether it was waited for shows in the device, which would be lost otherwise.
  stream.doneSync();
  assertEquals(tally(), before);
});

Deno.test("a graph with memory of a pool keeps the pool alive", async () => {
  using out = device.allocate("float32", 1000);
  const pool = device.createPool();
  const graph = device.stream.capture(() => {
    using scratch = pool.allocate("float32", 1000);
    device.kernels.fill(scratch, 4);
    device.kernels.scale(scratch, 2, out);
  });
  pool[Symbol.dispose]();
  assert(pool.memoryReserved() > 0);
  graph.launch();
  assertEquals((await out.toArray())[999], 8);
  graph[Symbol.dispose]();
  assertEquals(pool.memoryReserved(), 0);
});

Deno.test("a pool disposed during a capture ends after it", () => {
  const before = resourceTally(library).mappedBytes;
  const pool = device.createPool();
  const buffer = pool.allocate("float32", 1000);
  using _graph = device.stream.capture(() => {
    buffer.free();
    pool[Symbol.dispose]();
    assert(pool.memoryReserved() > 0);
  });
  assertEquals([pool.memoryReserved(), resourceTally(library).mappedBytes], [0, before]);
});

Deno.test("a waiting request is served before a disposed pool ends", async () => {
  using stream = device.createStream();
  const pool = device.createPool({ maxPoolSize: "8MiB" });
  const held = pool.allocate("float32", 2 * MIB, { stream });
  device.kernels.load(SPIN).launch({ grid: 1, block: 1, stream }, held, 0.1e9, 1);
  held.free();
  const pending = pool.allocateAsync("float32", 2 * MIB);
  pool[Symbol.dispose]();
  const buffer = await pending;
  assertEquals(pool.memoryAllocated(), 8 * MIB);
  buffer.free();
  assertEquals(pool.memoryReserved(), 0);
});

Deno.test("disposing of a pool can be repeated after a failure", () => {
  const before = tally();
  const pool = device.createPool();
  pool.allocate("uint8", MIB).free();
  {
    using _fault = injectFault(library, "cuMemUnmap", 1, 999);
    assertThrows(() => pool[Symbol.dispose](), CudaError, "999");
  }
  assertThrows(() => pool.allocate("uint8", 1), TypeError, "disposed");
  pool[Symbol.dispose]();
  assertEquals(tally(), before);
});

Deno.test("disposing of a pool throws corruption once", () => {
  const fill = device.kernels.load(
    "fill_uint32(unsigned int* out, unsigned int value, unsigned long long n)",
  );
  const before = tally();
  const own = openDevice(device.label);
  const pool = own.createPool({ debug: true });
  const buffer = pool.allocate("uint32", 100);
  using stale = DeviceBuffer.fromAddress(buffer.address, 400, { device, dtype: "uint32" });
  buffer.free();
  fill.launch({ grid: 1, block: 128, stream: device.stream }, stale, 5, 100);
  device.doneSync();
  const error = assertThrows(() => pool[Symbol.dispose](), MemoryCorruptionError);
  assertEquals(error.violations.map(({ kind }) => kind), ["use after free"]);
  own[Symbol.dispose]();
  assertEquals([own.context.closed, tally()], [true, before]);
  pool[Symbol.dispose]();
});
