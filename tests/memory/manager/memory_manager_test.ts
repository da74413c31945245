// The memory manager of one device.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { configureSync, type LogRecord, resetSync } from "@logtape/logtape";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import {
  FRAGMENTATION_WARNING,
  MemoryManager,
} from "../../../src/memory/manager/memory_manager.ts";
import { OutOfMemoryError } from "../../../mod.ts";
import { BREAKING_SIZES, device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { PlainPool } from "./plain_pool.ts";

const { context } = device;
const MIB = 2 ** 20;

/** A manager with little memory. */
function manage(limit = 64 * MIB, options: ConstructorParameters<typeof MemoryManager>[1] = {}) {
  const pool = new PlainPool(context, limit);
  return { pool, manager: new MemoryManager(device, { ...options, pool: pool.asPool }) };
}

const BANDS = { small: 1000, medium: 10_000, large: 100_000 };

function bandsOf(manager: MemoryManager): string {
  return manager.stats().bands.map(({ count, bytes }) => `${count}:${bytes}`).join(" ");
}

/** The log records of level info and above, as text. */
function logged(work: () => void): string[] {
  const lines: string[] = [];
  const sink = ({ category, level, message }: LogRecord) => {
    if (category[0] === "gridstride") lines.push(`${level} ${category[1]}: ${message.join("")}`);
  };
  configureSync({
    reset: true,
    sinks: { lines: sink },
    loggers: [
      { category: ["gridstride"], lowestLevel: "info", sinks: ["lines"] },
      { category: ["logtape", "meta"], lowestLevel: null },
    ],
  });
  try {
    work();
  } finally {
    resetSync();
  }
  return lines;
}

Deno.test("MemoryManager has the usable memory as capacity, within the limit of its pool", () => {
  assertEquals(manage(10 * MIB).manager.capacity, 10 * MIB);
  const { manager } = manage(Infinity);
  const { usable, free, reserve } = device.memoryInfo();
  assert(manager.capacity > 0 && manager.capacity <= free);
  assertEquals(usable + reserve, free);
  assert(Math.abs(manager.capacity - usable) <= 64 * MIB, `${manager.capacity} of ${usable}`);
  const pool = new PlainPool(context);
  using _held = pool.allocate("uint8", 8 * MIB);
  const holder = new MemoryManager(device, { pool: pool.asPool });
  // Other processes change the free memory of a GPU.
  const tolerance = device.info.kind === "host" ? MIB : 64 * MIB;
  assert(Math.abs(holder.capacity - device.memoryInfo().usable - 8 * MIB) <= tolerance);
  assertEquals(holder.memoryAllocated(), 8 * MIB);
});

Deno.test("stats() counts buffers by requested size, down to zero", () => {
  const { manager, pool } = manage(64 * MIB, { bands: BANDS });
  const before = resourceTally(context.library);
  const buffers = BREAKING_SIZES.map((length) => manager.allocate("float16", length));
  const bytes = BREAKING_SIZES.map((length) => 2 * length);
  const total = bytes.reduce((sum, each) => sum + each);
  assertEquals(manager.memoryAllocated(), total);
  const { live, reserved, utilization, bands } = manager.stats();
  assertEquals([live, reserved, utilization], [total, total, total / (64 * MIB)]);
  for (const band of bands) {
    const own = bytes.filter((size) => Math.max(size, 1) >= band.from && size <= band.to);
    assertEquals([band.count, band.bytes], [own.length, own.reduce((sum, size) => sum + size, 0)]);
  }
  assertEquals(pool.direct.map((length) => 2 * length), bytes.filter((size) => size > 100_000));
  for (const buffer of buffers) buffer.free();
  assertEquals([manager.memoryAllocated(), bandsOf(manager)], [0, "0:0 0:0 0:0 0:0"]);
  assertEquals(resourceTally(context.library), before);
});

Deno.test("ownsPointer() finds addresses inside live buffers only", () => {
  const { manager } = manage(64 * MIB, { bands: BANDS });
  for (const length of [100, 200_000]) {
    const buffer = manager.allocate("uint8", length);
    const { address } = buffer;
    const owned = [address - 1, address, address + length - 1, address + length]
      .map((at) => manager.ownsPointer(at));
    assertEquals(owned, [false, true, true, false]);
    buffer.free();
    assertEquals(manager.ownsPointer(address), false);
  }
  assertEquals(manager.ownsPointer(0), false);
  assertThrows(() => manager.ownsPointer(4096n as never), TypeError, "integer in 0.");
  for (const wrong of [-1, 1.5, NaN, Infinity]) {
    assertThrows(() => manager.ownsPointer(wrong), RangeError, "address must be an integer");
  }
});

Deno.test("allocate() beyond the capacity throws with numbers and takes nothing", () => {
  const { manager } = manage(MIB);
  using _held = manager.allocate("uint8", MIB - 10);
  const before = resourceTally(context.library);
  const error = assertThrows(() => manager.allocate("uint8", 11), OutOfMemoryError);
  assertEquals([error.requested, error.device], [11, context.label]);
  assertEquals(error.total, device.memoryInfo().total);
  assertStringIncludes(
    error.message,
    `of the ${MIB} bytes that buffers may take ${MIB - 10} are in use`,
  );
  assertEquals(resourceTally(context.library), before);
  using _rest = manager.allocate("uint8", 10);
  assertEquals(manager.memoryAvailable(), 0);
  using empty = manager.allocate("float64", 0);
  assertEquals(empty.length, 0);
});

Deno.test("chunksThatFit() of a manager divides work by the available memory", async () => {
  const { manager } = manage(10_000);
  const input = Float32Array.from({ length: 5003 }, (_, index) => index / 7);
  const output = new Float32Array(input.length);
  assertThrows(() => manager.allocate("float32", input.length), OutOfMemoryError);
  let chunks = 0;
  for (const { start, end, length } of manager.chunksThatFit(input.length, 8)) {
    using x = manager.allocate("float32", length);
    using y = manager.allocate("float32", length);
    x.copyFrom(input.subarray(start, end));
    device.kernels.scale(x, 3, y);
    await y.copyTo(output.subarray(start, end));
    chunks++;
  }
  assertEquals(chunks, 5);
  assertEquals(output, input.map((value) => value * 3));
  using _held = manager.allocate("uint8", 9400);
  assertThrows(() => manager.chunksThatFit(1, 601), RangeError, "it is 600");
});

Deno.test("MemoryManager logs the usable memory, and logUsage() the usage", () => {
  const [made, ...others] = logged(() => manage(1000));
  assertEquals(others, []);
  assert(
    /^info memory: \S+: \d+ of \d+ free bytes are usable, \d+ are kept back$/.test(made!),
    made,
  );
  const { manager } = manage(1000);
  using _held = manager.allocate("uint8", 250);
  const lines = logged(() => manager.logUsage());
  assertEquals(lines, [
    `info memory: ${context.label}: 250 bytes in use and 250 taken of 1000: 25.0 %`,
  ]);
});

Deno.test("logUsage() warns of fragmentation above 30 %", () => {
  const { manager, pool } = manage(1000);
  for (
    const [external, warns] of [
      [0, false],
      [FRAGMENTATION_WARNING, false],
      [FRAGMENTATION_WARNING + 1e-9, true],
      [0.87654, true],
    ] as const
  ) {
    pool.pretended = { largestFree: 77, fragmentation: { external, internal: 0.99 } };
    const warnings = logged(() => manager.logUsage()).filter((line) => line.startsWith("warning"));
    assertEquals(warnings.length, Number(warns));
    if (external > 0.5) assertStringIncludes(warnings[0]!, "87.7 % of it");
  }
});

Deno.test("MemoryManager refuses an invalid device, pool or band", () => {
  const pool = new PlainPool(context, MIB).asPool;
  const refused: [() => unknown, string][] = [
    [() => new MemoryManager(null as never), "device must be an object"],
    [() => new MemoryManager({} as never), "device.context must be"],
    [() => new MemoryManager(device, 7 as never), "options must be an object"],
    [() => new MemoryManager(device, { pool: 7 as never }), "options.pool must be an object"],
  ];
  for (const [call, message] of refused) assertThrows(call, TypeError, message);
  const bands = { small: 9, medium: 9 };
  assertThrows(() => new MemoryManager(device, { pool, bands }), RangeError, "bands.medium");
});

Deno.test("allocate() checks the options of direct buffers", () => {
  using pool = device.createPool();
  const manager = new MemoryManager(device, { pool, bands: BANDS });
  using direct = manager.allocate("uint8", 100_001, { alignment: 256, stream: device.stream });
  using aligned = manager.allocate("uint8", 100_001, { alignment: 2 ** 21 });
  assertEquals([pool.ownsPointer(direct.address), direct.address % 256], [false, 0]);
  assertEquals([pool.ownsPointer(aligned.address), aligned.address % 2 ** 21], [true, 0]);
  const place = (options: unknown) => () => manager.allocate("uint8", 100_001, options as never);
  assertThrows(place({ alignment: 3 }), RangeError, "power of two");
  assertThrows(place({ stream: 5 }), TypeError, "stream must be a Stream");
  assertThrows(place(null), TypeError, "options must be an object");
  assertEquals(manager.memoryAllocated(), 200_002);
});

Deno.test("stats() does not count freed direct buffers after their collection", async () => {
  const program = `
    import { MemoryManager, openDevice } from "@gridstride/cuda";
    using device = openDevice("host:0");
    const manager = new MemoryManager(device, { bands: { small: 1, medium: 2, large: 3 } });
    (() => manager.allocate("uint8", 1000).free())();
    for (let turn = 0; turn < 3; turn++) {
      await new Promise((resume) => setTimeout(resume));
      gc();
    }
    console.log(manager.memoryAllocated(), manager.stats().live);`;
  const permissions = ["-A", "--v8-flags=--expose-gc"];
  const { stdout, stderr } = await runProgram(program, { permissions });
  assertEquals(stdout.trim(), "0 0", stderr);
});
