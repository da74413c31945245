/**
 * The snapshot of a pool of ours.
 *
 * @module
 */

import {
  type BlockState,
  type MemorySnapshot,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  type SnapshotBlock,
  type SnapshotSegment,
} from "../../lab/memory/snapshot/memory_snapshot.ts";
import { CACHED, FREE, LIVE, NEXT, OWNER, PENDING, UNIT, UNMAPPED } from "./block_table.ts";
import type { BlockTracker } from "./block_tracker.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { PoolSettings } from "./pool_options.ts";
import { poolStatistics } from "./pool_statistics.ts";
import type { PoolTimeline } from "./pool_timeline.ts";
import { LARGE, type Segment } from "./segment.ts";
import type { StreamNames } from "./stream_names.ts";

/** The device of a snapshot. */
export interface SnapshotDevice {
  /** As messages name it: `cuda:0`. */
  readonly label: string;
  /** Its marketing name. */
  readonly name: string;
  /** Whether it is a fake. */
  readonly fake: boolean;
  /** Its memory in bytes. */
  readonly totalBytes: number;
}

/** What a snapshot is taken of. */
export interface SnapshotSource {
  /** The blocks. */
  readonly engine: PoolEngine;
  /** The settings. */
  readonly settings: PoolSettings;
  /** The streams' names. */
  readonly streams: StreamNames;
  /** All stacks so far; they become more while blocks are looked up. */
  readonly sites: readonly string[];
  /** Who asked for blocks, where memory is tracked. */
  readonly tracker: BlockTracker | undefined;
  /** What happened, where it was recorded. */
  readonly timeline: PoolTimeline | undefined;
}

const STATES: Readonly<Record<number, BlockState>> = {
  [LIVE]: "live",
  [CACHED]: "cached",
  [FREE]: "free",
  [PENDING]: "pending",
  [UNMAPPED]: "unmapped",
};

/** Takes a snapshot. Makes no native call. */
export function takeSnapshot(source: SnapshotSource, device: SnapshotDevice): MemorySnapshot {
  const { engine, settings, streams, timeline } = source;
  for (const { stream } of engine.streams.slots()) {
    if (stream !== undefined) streams.indexOf(stream);
  }
  // Blocks and events first: looking at them names sites and streams.
  const segments = segmentsOf(source);
  const columns = timeline?.columns() ?? null;
  const { label, name, fake, totalBytes } = device;
  return {
    format: SNAPSHOT_FORMAT,
    version: SNAPSHOT_VERSION,
    source: "gridstride",
    takenAt: new Date().toISOString(),
    device: { label, name, fake, totalBytes },
    settings: plainSettings(settings),
    statistics: plainStatistics(poolStatistics(engine)),
    streams: streams.names(),
    sites: [...source.sites],
    segments,
    timeline: columns,
  };
}

function segmentsOf(source: SnapshotSource): SnapshotSegment[] {
  const { streams } = source.engine;
  const segments: SnapshotSegment[] = [];
  for (const space of streams.spaces()) {
    const isGraph = space !== streams.space;
    for (const segment of space.segments) segments.push(segmentOf(source, segment, isGraph));
  }
  return segments.sort((a, b) => a.address - b.address);
}

function segmentOf(source: SnapshotSource, segment: Segment, isGraph: boolean): SnapshotSegment {
  const { table } = source.engine;
  const blocks: SnapshotBlock[] = [];
  for (let block = segment.firstBlock; block !== 0; block = table.field(block, NEXT)) {
    blocks.push(blockOf(source, block, segment.address));
  }
  return {
    address: segment.address,
    bytes: segment.bytes,
    kind: segment.pieces === undefined ? "plain" : "virtual",
    pool: isGraph ? "graph" : segment.kind === LARGE ? "large" : "small",
    blocks,
  };
}

function blockOf(source: SnapshotSource, block: number, base: number): SnapshotBlock {
  const { engine: { table, streams }, tracker } = source;
  const state = table.state(block);
  const isOwned = state === LIVE || state === PENDING;
  const owner = state === UNMAPPED ? undefined : streams.slot(table.field(block, OWNER)).stream;
  return {
    offset: table.address(block) - base,
    bytes: table.units(block) * UNIT,
    requested: state === LIVE ? table.requested(block) : 0,
    state: STATES[state]!,
    stream: owner === undefined ? null : source.streams.indexOf(owner),
    // What has joined its neighbours has no one age.
    age: tracker !== undefined && (isOwned || state === CACHED) ? tracker.ageOf(block) : null,
    site: tracker !== undefined && isOwned ? tracker.siteOf(block).index : null,
  };
}

/** Settings as JSON has them: no limit is null. */
function plainSettings(settings: PoolSettings): MemorySnapshot["settings"] {
  const plain: Record<string, string | number | boolean | null> = {};
  for (const [name, value] of Object.entries(settings)) {
    plain[name] = name === "onMemoryPressure"
      ? value !== undefined
      : value === Infinity
      ? null
      : value;
  }
  return plain;
}

/** Statistics as numbers by path: `allocation.all.peak`. */
function plainStatistics(statistics: object, prefix = ""): Record<string, number> {
  const plain: Record<string, number> = {};
  for (const [name, value] of Object.entries(statistics)) {
    if (typeof value === "number") plain[prefix + name] = value;
    else Object.assign(plain, plainStatistics(value, `${prefix}${name}.`));
  }
  return plain;
}
