/**
 * Snapshots of any size, the same each time: what a training loop might leave behind.
 *
 * @module
 */

import type {
  BlockState,
  MemorySnapshot,
  SnapshotBlock,
  SnapshotSegment,
  SnapshotTimeline,
} from "../../../../src/lab/memory/snapshot/memory_snapshot.ts";

/** How much there is to be. */
export interface SyntheticSize {
  /** Number of events; 0 for no timeline. */
  readonly events: number;
  /** Number of blocks. */
  readonly blocks: number;
}

const MIB = 2 ** 20;
const FRAMES = ["embed", "attention", "softmax", "feedForward", "layerNorm", "loss", "optimizer"];
const SITES = FRAMES.flatMap((frame, index) =>
  [0, 1, 2, 3].map((layer) =>
    [
      `${frame} (model/${frame}.ts:${31 + 17 * index + layer}:22)`,
      `layer${layer} (model/transformer.ts:${88 + layer}:10)`,
      "forward (model/transformer.ts:41:5)",
      "trainStep (train.ts:120:18)",
    ].join("\n")
  )
);
const STREAMS = ["default", "copy", "stream 7"];

/** Numbers from 0 up to 1, the same each time (a 32-bit linear congruence). */
function randomNumbers(): () => number {
  let state = 12345;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function timelineOf(events: number, random: () => number): SnapshotTimeline {
  const columns = {
    time: [] as number[],
    action: [] as number[],
    address: [] as number[],
    bytes: [] as number[],
    stream: [] as number[],
    site: [] as number[],
    live: [] as number[],
    reserved: [] as number[],
    largestFree: [] as number[],
  };
  let [time, live, reserved] = [0, 2048 * MIB, 2560 * MIB];
  const step = Math.max(events / 12, 8);
  for (let index = 0; index < events; index++) {
    const phase = index % step / step;
    const grows = random() < (phase < 0.5 ? 0.62 : 0.38);
    const bytes = Math.ceil(random() ** 3 * 100000 * MIB / step / 512 + 1) * 512;
    time += 0.02 * random() + (index % step < 1 ? step * 0.003 : 0);
    let action = grows ? 0 : 1;
    const next = live + (grows ? bytes : -bytes);
    if (next > 5400 * MIB) action = 5;
    else if (next > 0) live = next;
    if (live > reserved) {
      action = 2;
      reserved += Math.ceil((live - reserved) / (64 * MIB)) * 64 * MIB;
    }
    columns.time.push(Number(time.toFixed(4)));
    columns.action.push(action);
    columns.address.push(0x7f5a00000000 + 512 * Math.floor(random() * 4e6));
    columns.bytes.push(bytes);
    columns.stream.push(Math.floor(random() * 3));
    columns.site.push(Math.floor(random() * SITES.length));
    columns.live.push(live);
    columns.reserved.push(reserved);
    const share = 0.15 + 0.6 * phase + 0.1 * random();
    columns.largestFree.push(Math.floor((reserved - live) * share / 512) * 512);
  }
  return { dropped: 0, ...columns };
}

function stateOf(number: number, isLast: boolean, isVirtual: boolean): BlockState {
  if (isLast && isVirtual) return "unmapped";
  if (number < 0.62) return "live";
  if (number < 0.74) return "cached";
  if (number < 0.92) return "free";
  return "pending";
}

function blockOf(offset: number, bytes: number, state: BlockState, random: () => number) {
  const isLive = state === "live";
  const block: SnapshotBlock = {
    offset,
    bytes,
    state,
    requested: isLive ? bytes - Math.floor(random() * 512) : 0,
    stream: state === "unmapped" ? null : Math.floor(random() ** 2 * 3),
    age: state === "unmapped" ? null : Number((random() * 90000).toFixed(1)),
    site: isLive && random() < 0.97 ? Math.floor(random() ** 2 * SITES.length) : null,
  };
  return block;
}

function segmentOf(
  index: number,
  blocks: number,
  total: number,
  random: () => number,
): SnapshotSegment {
  const isVirtual = index % 4 === 0;
  const isSmall = index % 4 === 3;
  const list: SnapshotBlock[] = [];
  let offset = 0;
  for (let number = 0; number < blocks; number++) {
    const state = stateOf(random(), number === blocks - 1, isVirtual);
    const most = state === "unmapped" ? 512 : isSmall ? 0.02 : 5 * 5632 / total;
    const bytes = Math.ceil((random() ** 4 * most * MIB + 1) / 512) * 512;
    list.push(blockOf(offset, bytes, state, random));
    offset += bytes;
  }
  return {
    address: 0x7f5a00000000 + index * 2 ** 36,
    bytes: offset,
    kind: isVirtual ? "virtual" : "plain",
    pool: isSmall ? "small" : index % 11 === 5 ? "graph" : "large",
    blocks: list,
  };
}

function segmentsOf(blocks: number, random: () => number): SnapshotSegment[] {
  const count = Math.ceil(Math.sqrt(blocks) / 4);
  return Array.from({ length: count }, (_, index) => {
    const from = Math.floor(blocks * index / count);
    return segmentOf(index, Math.floor(blocks * (index + 1) / count) - from, blocks, random);
  });
}

/** A snapshot with so many events and blocks. */
export function syntheticSnapshot({ events, blocks }: SyntheticSize): MemorySnapshot {
  const random = randomNumbers();
  const timeline = events === 0 ? null : timelineOf(events, random);
  return {
    format: "gridstride memory snapshot",
    version: 1,
    source: "gridstride",
    takenAt: "2026-03-01T12:00:00.000Z",
    device: { label: "cuda:0", name: "Fake GPU 8.9", fake: true, totalBytes: 24 * 1024 * MIB },
    settings: { preset: "production", maxPoolSize: 20 * 1024 * MIB, cleanupInterval: null },
    statistics: {
      allocationCount: events,
      cacheHits: Math.floor(events * 0.93),
      peakUsageBytes: 5400 * MIB,
      hitRate: 0.93,
    },
    streams: STREAMS,
    sites: SITES,
    segments: segmentsOf(blocks, random),
    timeline,
  };
}
