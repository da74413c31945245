/**
 * Reproducible snapshots of any size, similar to those of a training loop.
 *
 * @module
 */

import { SeededRandom } from "../../../../bench/traces/seeded_random.ts";
import type {
  MemorySnapshot,
  SnapshotBlock,
  SnapshotSegment,
  SnapshotTimeline,
} from "../../../../src/lab/memory/mod.ts";

const MIB = 2 ** 20;
const FRAMES = ["embed", "attention", "softmax", "feedForward", "layerNorm", "loss", "optimizer"];
const SITES = FRAMES.flatMap((frame) =>
  [0, 1, 2, 3].map((layer) =>
    `${frame} (model/${frame}.ts:${31 + layer}:22)\nlayer${layer} (model.ts:${88 + layer}:10)\n` +
    "trainStep (train.ts:120:18)"
  )
);

function timelineOf(events: number, random: SeededRandom): SnapshotTimeline {
  const rows: number[][] = [];
  let [time, live, reserved] = [0, 2048 * MIB, 2560 * MIB];
  const step = Math.max(events / 12, 8);
  for (let index = 0; index < events; index++) {
    const phase = index % step / step;
    const grows = random.fraction() < (phase < 0.5 ? 0.62 : 0.38);
    const bytes = Math.ceil(random.fraction() ** 3 * 100000 * MIB / step / 512 + 1) * 512;
    time += 0.02 * random.fraction() + (index % step < 1 ? step * 0.003 : 0);
    let action = grows ? 0 : 1;
    const next = live + (grows ? bytes : -bytes);
    if (next > 5400 * MIB) action = 5;
    else if (next > 0) live = next;
    if (live > reserved) {
      action = 2;
      reserved += Math.ceil((live - reserved) / (64 * MIB)) * 64 * MIB;
    }
    const address = 0x7f5a00000000 + 512 * random.integer(0, 4e6);
    const [stream, site] = [random.integer(0, 2), random.integer(0, SITES.length - 1)];
    const free = Math.floor((reserved - live) * (0.15 + 0.6 * phase) / 512) * 512;
    rows.push([
      Number(time.toFixed(4)),
      action,
      address,
      bytes,
      stream,
      site,
      live,
      reserved,
      free,
    ]);
  }
  const column = (index: number) => rows.map((row) => row[index]!);
  return {
    dropped: 0,
    time: column(0),
    action: column(1),
    address: column(2),
    bytes: column(3),
    stream: column(4),
    site: column(5),
    live: column(6),
    reserved: column(7),
    largestFree: column(8),
  };
}

function segmentOf(index: number, count: number, random: SeededRandom): SnapshotSegment {
  const isVirtual = index % 4 === 0;
  const blocks: SnapshotBlock[] = [];
  let offset = 0;
  for (let number = 0; number < count; number++) {
    const isUnmapped = isVirtual && number === count - 1;
    const state = isUnmapped
      ? "unmapped"
      : (["live", "live", "live", "cached", "free", "pending"] as const)[random.integer(0, 5)]!;
    const most = isUnmapped ? 512 : 5;
    const bytes = Math.ceil((random.fraction() ** 4 * most * MIB + 1) / 512) * 512;
    blocks.push({
      offset,
      bytes,
      state,
      requested: state === "live" ? bytes - random.integer(0, 511) : 0,
      stream: isUnmapped ? null : random.integer(0, 2),
      age: isUnmapped ? null : random.integer(0, 90_000),
      site: state === "live" ? random.integer(0, SITES.length - 1) : null,
    });
    offset += bytes;
  }
  return {
    address: 0x7f5a00000000 + index * 2 ** 36,
    bytes: offset,
    kind: isVirtual ? "virtual" : "plain",
    pool: index % 4 === 3 ? "small" : "large",
    blocks,
  };
}

/** Makes a snapshot of a number of events, 0 for no timeline, and of blocks. */
export function syntheticSnapshot(
  { events, blocks }: { readonly events: number; readonly blocks: number },
): MemorySnapshot {
  const random = new SeededRandom(12345);
  const count = Math.ceil(Math.sqrt(blocks) / 4);
  return {
    format: "gridstride memory snapshot",
    version: 1,
    source: "gridstride",
    takenAt: "2026-03-01T12:00:00.000Z",
    device: { label: "cuda:0", name: "Fake GPU 8.9", fake: true, totalBytes: 24 * 1024 * MIB },
    settings: { preset: "production", maxPoolSize: 20 * 1024 * MIB, cleanupInterval: null },
    statistics: { allocationCount: events, peakUsageBytes: 5400 * MIB, hitRate: 0.93 },
    streams: ["default", "copy", "stream 7"],
    sites: SITES,
    segments: Array.from({ length: count }, (_, index) => {
      const from = Math.floor(blocks * index / count);
      return segmentOf(index, Math.floor(blocks * (index + 1) / count) - from, random);
    }),
    timeline: events === 0 ? null : timelineOf(events, random),
  };
}
