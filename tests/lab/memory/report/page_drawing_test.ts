// The computations behind the page's drawings.

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { liveBySite, segmentsAt } from "../../../../src/lab/memory/report/page/history.ts";
import {
  layoutBlocks,
  mapBlocks,
  sizeOf,
} from "../../../../src/lab/memory/report/page/segment_view.ts";
import {
  createAxis,
  eventBetween,
  fragmentationOf,
} from "../../../../src/lab/memory/report/page/timeline_view.ts";
import {
  type MemorySnapshot,
  TIMELINE_ACTIONS,
} from "../../../../src/lab/memory/snapshot/memory_snapshot.ts";
import {
  memoryReportFigures,
  recordHistory,
  snapshotPool,
} from "../../../../src/lab/memory/mod.ts";
import { openDevice } from "../../../../mod.ts";
import { device as testDevice } from "../../../support/device.ts";
import { SMALL_SNAPSHOT } from "./small_snapshot.ts";
import { syntheticSnapshot } from "./synthetic_snapshot.ts";

const TIMELINE = SMALL_SNAPSHOT.timeline!;

Deno.test("createAxis() stays within the events", () => {
  const axis = createAxis([10, 11, 11, 12, 50, 110]);
  const range = () => [axis.start, axis.end];
  assertEquals(range(), [10, 110]);
  axis.zoom(0.5, 0);
  assertEquals(range(), [10, 60]);
  axis.pan(-7);
  assertEquals(range(), [10, 60]);
  axis.pan(Infinity);
  assertEquals(range(), [60, 110]);
  axis.pan(-Infinity);
  assertEquals(range(), [10, 60]);
  axis.zoom(0.5, 1);
  assertEquals(range(), [35, 60]);
  axis.zoom(Infinity, 0.3);
  assertEquals(range(), [10, 110]);
  for (let step = 0; step < 200; step++) axis.zoom(0.5, 0.5);
  assert(axis.end > axis.start);
});

Deno.test("eventBetween() finds a failure, else the largest, else the nearest event", () => {
  const axis = createAxis(TIMELINE.time);
  const between = (left: number, right: number) => eventBetween(TIMELINE, [3], axis, left, right);
  assertEquals(between(0.2, 0.6), 1, "40 KiB at a quarter, 10 KiB at the half");
  assertEquals(between(0.4, 1), 3);
  assertEquals(between(0.3, 0.32), 1);
  assertEquals(between(0.8, 0.82), 3);
});

Deno.test("fragmentationOf() keeps a known value until the next", () => {
  const of = (largestFree: readonly number[]) => fragmentationOf({ ...TIMELINE, largestFree });
  assertEquals(of(TIMELINE.largestFree), [0, 0, 0.5, 0.5]);
  assertEquals(of([-1, 10 * 1024, -1, 50 * 1024]), [NaN, 0.75, 0.75, 0]);
  assertEquals(of([-1, -1, -1, -1]), [NaN, NaN, NaN, NaN]);
});

Deno.test("layoutBlocks() places every block to scale, without overlap", () => {
  const blocks = mapBlocks(syntheticSnapshot({ events: 0, blocks: 499 }));
  for (const [width, scale] of [[900, 1e6], [37, 1e6], [900, 1e9], [900, 4096]] as const) {
    const { starts, ends, lines } = layoutBlocks(blocks, width, scale, true);
    blocks.forEach(({ state, bytes, segment }, index) => {
      const expected = state === "unmapped" ? 9 : bytes / scale;
      assertAlmostEquals(ends[index]! - starts[index]!, expected, 1e-3);
      if (index === 0) return;
      const gap = starts[index]! - ends[index - 1]!;
      if (segment === blocks[index - 1]!.segment) assertEquals(gap, 0);
      else assert(gap > 0 || starts[index]! % width === 0, `gap of ${gap}`);
    });
    const lastMapped = blocks.findLastIndex(({ state }) => state !== "unmapped");
    assertEquals(lines, Math.max(1, Math.ceil((ends[lastMapped]! - 0.5) / width)));
  }
});

Deno.test("layoutBlocks() makes no line for folded addresses at the end", () => {
  const block = { requested: 0, stream: null, age: null, site: null, segment: 0 };
  const blocks = [
    { ...block, offset: 0, address: 0, bytes: 100, state: "free" },
    { ...block, offset: 100, address: 100, bytes: 900, state: "unmapped" },
  ] as const;
  assertEquals(layoutBlocks(blocks, 100, 1, true).lines, 1);
  assertEquals(layoutBlocks(blocks, 100, 1, false).lines, 10);
});

Deno.test("sizeOf() parses sizes with and without units", () => {
  const sizes = ["", " ", "0", "4096", "1.5 MiB", "2g", "7kb", "1 B"].map(sizeOf);
  assertEquals(sizes, [0, 0, 0, 4096, 1.5 * 2 ** 20, 2 ** 31, 7168, 1]);
  for (const text of ["-1", "1 2", "MiB", "1 apple", "1e3", "1,5", "NaN"]) {
    assertEquals(sizeOf(text), NaN, text);
  }
});

/** Runs a program with a history; returns the data of the page and the live blocks at each event. */
function recorded() {
  const memory = { preset: "development", maxPoolSize: "64MiB" } as const;
  using device = openDevice(testDevice.label, { memory });
  using history = recordHistory(device.pool);
  const live: ReturnType<typeof device.allocate>[] = [];
  const states: { event: number; blocks: string[]; reserved: number }[] = [];
  for (let step = 0; step < 400; step++) {
    if ((step * 7919) % 13 < 8) live.push(device.allocate("uint8", 1 + (step * 104729) % 900_000));
    else live.splice((step * 31) % (live.length || 1), 1)[0]?.free();
    if (step % 97 === 96) device.pool.clearCache();
    states.push({
      event: history.count - 1,
      blocks: live.map(({ address, byteLength }) => `${address} ${byteLength}`).sort(),
      reserved: device.pool.memoryReserved(),
    });
  }
  const snapshot: MemorySnapshot = snapshotPool(device.pool, history);
  for (const buffer of live) buffer.free();
  return { data: { ...snapshot, actions: TIMELINE_ACTIONS, limit: null }, states };
}

Deno.test("segmentsAt() gives the blocks and the reserved memory after every event", () => {
  const { data, states } = recorded();
  for (const { event, blocks, reserved } of states) {
    const segments = segmentsAt(data, event);
    const found = segments.flatMap(({ address, blocks }) =>
      blocks.map((block) => ({ ...block, address: address + block.offset }))
    );
    const live = found.filter(({ state }) => state === "live");
    assertEquals(live.map((block) => `${block.address} ${block.requested}`).sort(), blocks);
    const mapped = found.filter(({ state }) => state !== "unmapped");
    assertEquals(mapped.reduce((sum, { bytes }) => sum + bytes, 0), reserved, `event ${event}`);
    for (const { bytes, blocks } of segments) {
      assertEquals(blocks.reduce((sum, block) => sum + block.bytes, 0), bytes);
    }
  }
});

Deno.test("liveBySite() makes one layer of a line that several callers reach", () => {
  const { sites } = SMALL_SNAPSHOT;
  const callers = {
    ...SMALL_SNAPSHOT,
    actions: TIMELINE_ACTIONS,
    limit: null,
    sites: sites.map((_, index) => `activation (model.ts:5:3)\nmain (run.ts:${index}:1)`),
  };
  const known = liveBySite(callers, 10).filter(({ site }) => site >= 0);
  assertEquals(known.length, 1);
});

Deno.test("fragmentationOf() ends at the figure of the report, cached blocks apart", () => {
  using device = openDevice(testDevice.label);
  using pool = device.createPool();
  using history = recordHistory(pool);
  for (let round = 0; round < 100; round++) {
    const all = [512, 4096, 2 ** 20].map((bytes) => pool.allocate("uint8", bytes));
    for (const buffer of all) buffer.free();
  }
  using _held = pool.allocate("uint8", 2000);
  const snapshot = snapshotPool(pool);
  assertEquals(snapshot.timeline, snapshotPool(pool, history).timeline);
  const { externalFragmentation, totals } = memoryReportFigures(snapshot);
  assert(totals.cached > 0);
  assertAlmostEquals(fragmentationOf(snapshot.timeline!).at(-1)!, externalFragmentation, 1e-12);
});

Deno.test("liveBySite() divides live memory after every event", () => {
  const { data } = recorded();
  for (const count of [0, 1, 10]) {
    const layers = liveBySite(data, count);
    assertEquals(layers.at(-1)!.site === -2, count === 0);
    data.timeline!.live.forEach((live, event) => {
      assertEquals(layers.reduce((sum, layer) => sum + layer.live[event]!, 0), live);
    });
  }
  const before = {
    ...data,
    timeline: { ...data.timeline!, site: data.timeline!.site.map(() => -1) },
  };
  assertEquals(liveBySite(before, 10).map(({ site }) => site).includes(-1), true);
});
