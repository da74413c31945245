import { assert, assertEquals, assertThrows } from "@std/assert";
import { OutOfMemoryError } from "../../../src/ffi/cuda_error.ts";
import { AllocationSites, siteText } from "../../../src/memory/pool/block_tracker.ts";
import { bufferFromPool, bufferFromPoolAsync } from "../../../src/memory/device_buffer.ts";
import { checkLeaks } from "../../../src/memory/pool/leak_report.ts";
import type { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import type { MemoryStream } from "../../../src/memory/pool/memory_upstream.ts";
import { Clock } from "../../support/clock.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { modelPool, watchedPools } from "./model/watched_pool.ts";

const TRACKED = { enableMemoryTracking: true };

function allocateActivations(pool: BlockPool, stream: MemoryStream): number[] {
  const blocks: number[] = [];
  for (let count = 0; count < 2; count++) blocks.push(pool.allocate(3000, stream));
  return blocks;
}

function allocateWeights(pool: BlockPool, stream: MemoryStream): number {
  return pool.allocate(5_000_000, stream);
}

Deno.test("`checkLeaks()` lists live buffers, oldest first, and their sites", async () => {
  using clock = new Clock();
  const { pool, upstream } = modelPool(TRACKED);
  const [first, second] = [upstream.createStream(), upstream.createStream()];
  const weights = allocateWeights(pool, first);
  await clock.advance(30);
  const [one, other] = allocateActivations(pool, second) as [number, number];
  pool.free(pool.allocate(100, first));
  const report = checkLeaks(pool);
  assertEquals([report.device, report.count, report.olderThan], ["model:0", 3, null]);
  assertEquals([report.requested, report.bytes], [5_006_000, 5_000_192 + 2 * 3072]);
  const [oldest, ...young] = report.buffers;
  assertEquals(
    [oldest!.address, oldest!.bytes, oldest!.requested, oldest!.stream],
    [pool.addressOf(weights), 5_000_192, 5_000_000, "stream 1"],
  );
  assertEquals([oldest!.age, ...young.map(({ age }) => age)], [30, 0, 0]);
  assertEquals(oldest!.site!.split("\n")[0]!.split(" ")[0], "allocateWeights");
  assertEquals(
    young.map(({ address }) => address).sort(),
    [one, other].map((block) => pool.addressOf(block)).sort(),
  );
  assertEquals(young.map(({ stream }) => stream), ["stream 2", "stream 2"]);
  assertEquals(
    report.sites.map((
      { site, count, requested },
    ) => [/allocate\w+/.exec(site!)![0], count, requested]),
    [["allocateWeights", 1, 5_000_000], ["allocateActivations", 2, 6000]],
  );

  const old = checkLeaks(pool, { olderThan: 20 });
  assertEquals([old.count, old.olderThan], [1, 20]);
  const text = String(report);
  assert(text.startsWith("3 live buffers on model:0: 4.8 MiB"), text);
  assert(text.includes("at allocateWeights (file:"), text);
  assertEquals(JSON.parse(JSON.stringify(report)).count, 3);

  for (const block of [weights, one, other]) pool.free(block);
  assertEquals(String(checkLeaks(pool)), "No live buffers on model:0");
  assertEquals(
    String(checkLeaks(pool, { olderThan: 5 })),
    "No live buffers older than 5 ms on model:0",
  );
});

Deno.test("`checkLeaks()` lists buffers without age and site when tracking is off", () => {
  const { pool, upstream } = modelPool();
  const stream = upstream.createStream();
  const block = pool.allocate(777, stream);
  const { buffers: [buffer], sites } = checkLeaks(pool);
  assertEquals(buffer, {
    address: pool.addressOf(block),
    bytes: 1024,
    requested: 777,
    age: null,
    stream: "stream 1",
    site: null,
  });
  assertEquals(sites, [{ site: null, count: 1, bytes: 1024, requested: 777 }]);
  assertThrows(() => checkLeaks(pool, { olderThan: 1 }), TypeError, "enableMemoryTracking: true");
  for (const olderThan of [-1, NaN, Infinity]) {
    assertThrows(() => checkLeaks(pool, { olderThan }), RangeError, "options.olderThan");
  }
  assertThrows(() => checkLeaks(pool, { olderThan: "1" as never }), TypeError, "options.olderThan");
  assertThrows(() => checkLeaks(pool, null as never), TypeError, "options");
});

Deno.test("`checkLeaks()` names live and disposed streams", () => {
  const [, { pool }] = watchedPools(TRACKED) as [unknown, { pool: BlockPool }];
  const stream = device.createStream();
  const blocks = [pool.allocate(1, device.stream), pool.allocate(1, stream)];
  assertEquals(checkLeaks(pool).buffers.map((each) => each.stream).sort(), [
    "default",
    "stream 2",
  ]);
  stream[Symbol.dispose]();
  assertEquals(
    checkLeaks(pool).buffers.map((each) => each.stream).sort(),
    ["default", "disposed stream 2"],
  );
  for (const block of blocks) pool.free(block);
  pool.close();
});

Deno.test("a site has the frames of the program only", async () => {
  const [, { pool }] = watchedPools({ ...TRACKED, stackFrames: 2 }) as [
    unknown,
    { pool: BlockPool },
  ];
  const { context } = device;
  function callers() {
    return bufferFromPool(pool, context, "float32", 5, {});
  }
  async function waiting() {
    await Promise.resolve();
    return await bufferFromPoolAsync(pool, context, "float32", 6, { alignment: 4096 });
  }
  using _buffers = (function collect() {
    const stack = new DisposableStack();
    stack.use(callers());
    return stack;
  })();
  using _late = await waiting();
  const sites = checkLeaks(pool).buffers.map(({ requested, site }) => [requested, site!]);
  assertEquals(sites.map(([requested]) => requested).sort(), [20, 24]);
  for (const [requested, site] of sites as [number, string][]) {
    const frames = site.split("\n");
    assert(frames.length <= 2 && !site.includes("/src/"), site);
    assert(frames[0]!.includes(requested === 20 ? "callers (" : "waiting ("), site);
    assert(frames.every((frame) => /block_tracker_test\.ts:\d+:\d+\)?$/.test(frame)), site);
  }
});

Deno.test("`AllocationSites` keeps equal stacks once", () => {
  const sites = new AllocationSites(3);
  const capture = () => sites.capture();
  const twice = [1, 2].map(capture);
  assertEquals(twice[0]!.resolved, false);
  assertEquals(twice.map(({ index }) => index), [0, 0]);
  assertEquals(twice[0]!.resolved, true);
  assertEquals(capture().index, 1);
  assertEquals(sites.texts.length, 2);
  assert(twice[0]!.text.split("\n").length <= 3);
  assertEquals(siteText(undefined, 3), "unknown");
  assertEquals(siteText([], 3), "unknown");
  assertEquals(siteText("Error: with text\n  of two lines", 3), "unknown");
  const own = new URL("../../../src/cli/main.ts", import.meta.url).href;
  const pool = new URL("../../../src/memory/pool/block_pool.ts", import.meta.url).href;
  assertEquals(
    siteText(`Error\n    at x (${pool}:1:2)\n    at y (${own}:3:4)`, 3),
    `y (${own}:3:4)`,
  );
  // Built-in functions have no place.
  const called =
    `Error\n    at x (${pool}:1:2)\n    at Array.from (<anonymous>)\n    at y (a.ts:3:4)`;
  assertEquals(siteText(called, 3), "y (a.ts:3:4)");
  const limit = Error.stackTraceLimit;
  capture();
  assertEquals(Error.stackTraceLimit, limit);
});

Deno.test("`OutOfMemoryError` names the largest sites", () => {
  const { pool, upstream } = modelPool({ ...TRACKED, limitBytes: 2 ** 26 });
  const stream = upstream.createStream();
  const blocks = [allocateWeights(pool, stream), ...allocateActivations(pool, stream)];
  const { topSites, message } = assertThrows(
    () => pool.allocate(2 ** 26, stream),
    OutOfMemoryError,
  );
  assertEquals(
    topSites.map(({ site, bytes, count }) => [site.split(" ")[0], bytes, count]),
    [["allocateWeights", 5_000_192, 1], ["allocateActivations", 6144, 2]],
  );
  assert(message.includes("allocateWeights"), message);
  for (const block of blocks) pool.free(block);
});

Deno.test("leaks are logged when a pool closes and when a buffer is collected", async () => {
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const { code, stdout, stderr } = await runProgram(
    `
    import { openDevice } from "@gridstride/cuda";
    import { bufferFromPool } from ${module("../../../src/memory/device_buffer.ts")};
    import { checkLeaks } from ${module("../../../src/memory/pool/leak_report.ts")};
    import { createPool } from ${module("../../../src/memory/pool/device_pools.ts")};
    const device = openDevice(${JSON.stringify(device.label)});
    const pool = createPool(device.context, { preset: "development", cleanupInterval: 0 });
    class Layer {
      weights = bufferFromPool(pool, device.context, "float32", 1000, {});
    }
    (() => void new Layer())();
    const kept = new Layer();
    const freed = new Layer();
    freed.weights.free();
    for (let round = 0; round < 20 && pool.dropped.count === 0; round++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      gc();
    }
    const { count, dropped } = checkLeaks(pool);
    console.log(dropped, count);
    pool.close();
    console.log(kept.weights.length + freed.weights.length);
    Deno.exit(0);
  `,
    {
      permissions: ["-A", "--v8-flags=--expose-gc"],
      environment: { GRIDSTRIDE_LOG: "memory=warning" },
    },
  );
  assertEquals(stdout, "1 1\n2000\n");
  const lines = stderr.trim().split("\n");
  assert(
    /a buffer of 4000 bytes was dropped without free\(\).*Layer/.test(lines[0]!),
    stderr,
  );
  assert(lines[1]!.includes("is disposed while buffers live: 1 live buffer "), stderr);
  assert(stderr.includes("1 buffer dropped without free() so far"), stderr);
  assertEquals(code, 0);
});
