import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { bufferFromPool, type DeviceBuffer } from "../../../src/memory/device_buffer.ts";
import type { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import { validateSnapshot } from "../../../src/lab/memory/snapshot/read_snapshot.ts";
import { observeCaptures } from "../../../src/stream/running_captures.ts";
import {
  BlockHistory,
  type PoolHistory,
  snapshotBlocks,
} from "../../../src/lab/memory/pool_snapshot.ts";
import { device } from "../../support/device.ts";
import { modelPool, watchedPools } from "../../memory/pool/model/watched_pool.ts";

const DEVICE = { label: "model:0", name: "a model", fake: true, totalBytes: 2 ** 30 };

function snapshotOf(pool: BlockPool, history?: PoolHistory) {
  const snapshot = snapshotBlocks(pool, DEVICE, history);
  return validateSnapshot(JSON.parse(JSON.stringify(snapshot)));
}

Deno.test("`snapshotPool()` has every block with state, stream, age and site", () => {
  const { pool, upstream } = modelPool({ enableMemoryTracking: true }, { completion: "explicit" });
  const [stream, other] = [upstream.createStream(), upstream.createStream()];
  const live = pool.allocate(700, stream);
  const cached = pool.allocate(2000, stream);
  const pending = pool.allocate(9000, stream);
  upstream.use(pool.addressOf(pending), 9000, other, pending);
  pool.use(pending, other);
  pool.free(cached);
  pool.free(pending);
  const { segments: [segment, ...others], sites, streams } = snapshotOf(pool);
  assertEquals(others, []);
  assertEquals([segment!.kind, segment!.pool], ["virtual", "small"]);
  assertEquals(streams, ["stream 1", "stream 2"]);
  const [first, second, third, fourth, last] = segment!.blocks;
  assertEquals([first!.state, first!.bytes, first!.requested, first!.stream, first!.offset], [
    "live",
    1024,
    700,
    0,
    0,
  ]);
  assert(sites[first!.site!]!.includes("pool_snapshot_test.ts"));
  assertEquals([second!.state, second!.bytes, second!.requested, second!.site], [
    "cached",
    2048,
    0,
    null,
  ]);
  assertEquals([third!.state, third!.bytes, third!.requested, third!.stream], [
    "pending",
    9216,
    0,
    0,
  ]);
  assertEquals(third!.site === null, false);
  assertEquals([fourth!.state, fourth!.age, fourth!.stream], ["free", null, null]);
  assertEquals([last!.state, last!.age, last!.stream], ["unmapped", null, null]);
  for (const { age } of [first!, second!, third!]) assert(age !== null && age >= 0 && age < 60_000);
  pool.free(live);
});

Deno.test("`snapshotPool()` has plain settings and statistics", () => {
  const { pool, upstream } = modelPool();
  pool.free(pool.allocate(5000, upstream.createStream()));
  const { settings, statistics, timeline, sites, device } = snapshotOf(pool);
  assertEquals([settings.preset, settings.maxCachedBytes, settings.refuseShare], [
    null,
    null,
    null,
  ]);
  assertEquals([settings.limitBytes, settings.onMemoryPressure, settings.debug], [
    2 ** 30,
    false,
    false,
  ]);
  const expected = pool.stats();
  assertEquals(statistics.peakUsage, 5000);
  assertEquals(statistics["allocation.small.freed"], 1);
  assertEquals(statistics["fragmentation.internal"], expected.fragmentation.internal);
  assertEquals([timeline, sites], [null, []]);
  assertEquals(device, DEVICE);
});

Deno.test("`snapshotPool()` is valid and repeatable after any operations", () => {
  fc.assert(
    fc.property(
      fc.record({
        virtualMemory: fc.boolean(),
        enableMemoryTracking: fc.boolean(),
        debug: fc.boolean(),
      }),
      fc.constantFrom(0, 10, 1000),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 22 }), fc.nat(3), fc.nat(2)), {
        maxLength: 40,
      }),
      (settings, length, steps) => {
        const { pool, upstream } = modelPool({ ...settings, maxCachedBuffers: 3 });
        const history = length === 0 ? undefined : new BlockHistory(pool, length);
        const streams = [0, 1, 2].map(() => upstream.createStream());
        const live: number[] = [];
        for (const [bytes, action, index] of steps) {
          if (action < 2) live.push(pool.allocate(bytes, streams[index]!));
          else if (live.length > 0) pool.free(live.splice(bytes % live.length, 1)[0]!);
          if (action === 3) pool.trim();
        }
        const snapshot = snapshotOf(pool, history);
        const { reserved, allocated, currentUsage } = pool.stats();
        const blocks = snapshot.segments.flatMap((segment) => segment.blocks);
        const sum = (states: string[], field: "bytes" | "requested") =>
          blocks.filter(({ state }) => states.includes(state)).reduce(
            (all, each) => all + each[field],
            0,
          );
        assertEquals(sum(["live", "cached", "free", "pending"], "bytes"), reserved);
        assertEquals(sum(["live"], "bytes"), allocated);
        assertEquals(sum(["live"], "requested"), currentUsage);
        const again = snapshotOf(pool, history);
        const still = (each: typeof snapshot) => ({
          ...each,
          takenAt: null,
          segments: each.segments.map((segment) => ({
            ...segment,
            blocks: segment.blocks.map((block) => ({ ...block, age: null })),
          })),
        });
        assertEquals(still(again), still(snapshot));
        for (const block of live) pool.free(block);
        pool.close();
        assertEquals(snapshotOf(pool).segments, []);
      },
    ),
    { numRuns: 40, seed: 3 },
  );
});

Deno.test("`snapshotPool()` names disposed streams and graphs", () => {
  const [, { pool }] = watchedPools({ enableMemoryTracking: true }) as [
    unknown,
    { pool: BlockPool },
  ];
  const stop = observeCaptures({
    captureBegun: () => {},
    captureEnded: (token, graph) => pool.streams.endCapture(token, graph),
  });
  const { context } = device;
  const stream = device.createStream();
  const captured = device.createStream();
  using x = bufferFromPool(pool, context, "float32", 10, {});
  using y = bufferFromPool(pool, context, "float32", 10, { stream });
  let inside: DeviceBuffer | undefined;
  const graph = captured.capture(() => {
    inside = bufferFromPool(pool, context, "float32", 10, { stream: captured });
    device.kernels.fill(inside as DeviceBuffer<"float32">, 1, { stream: captured });
  });
  stream[Symbol.dispose]();
  const { streams, segments } = snapshotOf(pool);
  assertEquals(streams.slice(0, 3), ["default", "disposed stream 2", "stream 3"]);
  assertEquals(segments.map((segment) => segment.pool).sort(), ["graph", "small"]);
  const liveIn = (name: string) =>
    segments.filter((segment) => segment.pool === name)
      .flatMap(({ blocks }) =>
        blocks.filter(({ state }) => state === "live").map(({ stream }) => stream)
      );
  assertEquals([liveIn("small"), liveIn("graph")], [[0, 1], [2]]);
  for (const buffer of [inside!, x, y]) buffer.free();
  graph[Symbol.dispose]();
  captured[Symbol.dispose]();
  pool.close();
  stop();
});
