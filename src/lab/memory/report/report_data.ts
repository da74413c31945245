/**
 * What the page's script works on: the snapshot as columns, so that 100 000 events are a few
 * arrays and no objects.
 *
 * @module
 */

import type {
  MemorySnapshot,
  SnapshotBlock,
  SnapshotSegment,
  SnapshotTimeline,
  TIMELINE_ACTIONS,
} from "../snapshot/memory_snapshot.ts";
import { packColumn, type PackedColumns } from "./packed_column.ts";

/** The columns of segments. `pool` and `kind` index the lists of {@linkcode ReportData}. */
export type SegmentColumn = "address" | "bytes" | "pool" | "kind";

/** The columns of blocks; −1 stands for what nobody knows. `segment` indexes the segments. */
export type BlockColumn =
  | "segment"
  | "address"
  | "bytes"
  | "requested"
  | "state"
  | "stream"
  | "age"
  | "site";

/** The columns of events; −1 stands for what nobody knows. */
export type EventColumn =
  | "time"
  | "action"
  | "address"
  | "bytes"
  | "stream"
  | "site"
  | "live"
  | "reserved"
  | "largestFree";

/** What is embedded in the page. */
export interface ReportData {
  /** Names of streams. */
  readonly streams: readonly string[];
  /** Sites: stacks as text, the innermost frame first. */
  readonly sites: readonly string[];
  /** Names of states, in the order in which they are drawn: what comes later covers. */
  readonly states: readonly SnapshotBlock["state"][];
  /** Names of actions. */
  readonly actions: readonly (typeof TIMELINE_ACTIONS)[number][];
  /** Names of pools. */
  readonly pools: readonly SnapshotSegment["pool"][];
  /** Names of kinds of segments. */
  readonly kinds: readonly SnapshotSegment["kind"][];
  /** Segments by address. */
  readonly segments: PackedColumns<SegmentColumn>;
  /** Blocks by address. */
  readonly blocks: PackedColumns<BlockColumn>;
  /** Events, oldest first; `null` where none were recorded. */
  readonly events: PackedColumns<EventColumn> | null;
}

const STATES: ReportData["states"] = ["unmapped", "free", "cached", "pending", "live"];
const POOLS: ReportData["pools"] = ["small", "large", "graph"];
const KINDS: ReportData["kinds"] = ["plain", "virtual"];
// The page only needs the names; taking the list itself would be more than a type.
const ACTIONS: ReportData["actions"] = [
  "allocate",
  "free",
  "reserve",
  "unreserve",
  "wait",
  "out of memory",
];

function packSegments(segments: readonly SnapshotSegment[]): PackedColumns<SegmentColumn> {
  return {
    address: packColumn(segments.map(({ address }) => address)),
    bytes: packColumn(segments.map(({ bytes }) => bytes)),
    pool: packColumn(segments.map(({ pool }) => POOLS.indexOf(pool))),
    kind: packColumn(segments.map(({ kind }) => KINDS.indexOf(kind))),
  };
}

function packBlocks(segments: readonly SnapshotSegment[]): PackedColumns<BlockColumn> {
  const blocks = segments.flatMap((segment) => segment.blocks);
  const column = (value: (block: SnapshotBlock) => number | null) =>
    packColumn(blocks.map((block) => value(block) ?? -1));
  return {
    segment: packColumn(segments.flatMap(({ blocks }, index) => blocks.map(() => index))),
    address: packColumn(
      segments.flatMap(({ address, blocks }) => blocks.map(({ offset }) => address + offset)),
    ),
    bytes: column(({ bytes }) => bytes),
    requested: column(({ requested }) => requested),
    state: column(({ state }) => STATES.indexOf(state)),
    stream: column(({ stream }) => stream),
    age: column(({ age }) => age),
    site: column(({ site }) => site),
  };
}

/** Times that never go back: an event that claims to be older than the one before it is as old. */
function ascending(times: readonly number[]): number[] {
  let latest = -Infinity;
  return times.map((time) => latest = Math.max(latest, time));
}

function packEvents(timeline: SnapshotTimeline): PackedColumns<EventColumn> {
  const { time, action, address, bytes, stream, site, live, reserved, largestFree } = timeline;
  return {
    time: packColumn(ascending(time)),
    action: packColumn(action),
    address: packColumn(address),
    bytes: packColumn(bytes),
    stream: packColumn(stream),
    site: packColumn(site),
    live: packColumn(live),
    reserved: packColumn(reserved),
    largestFree: packColumn(largestFree),
  };
}

/** The data of the page for a snapshot. */
export function reportData(snapshot: MemorySnapshot): ReportData {
  const segments = [...snapshot.segments].sort((a, b) => a.address - b.address);
  const { timeline } = snapshot;
  return {
    streams: snapshot.streams,
    sites: snapshot.sites,
    states: STATES,
    actions: ACTIONS,
    pools: POOLS,
    kinds: KINDS,
    segments: packSegments(segments),
    blocks: packBlocks(segments),
    events: timeline === null || timeline.time.length === 0 ? null : packEvents(timeline),
  };
}
