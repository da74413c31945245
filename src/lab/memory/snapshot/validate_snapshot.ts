/**
 * Whether a value is a snapshot: all that the JSON schema says, and what it cannot say: that blocks
 * fill their segment, that segments do not overlap, that columns are equally long and indices point
 * into their tables.
 *
 * @module
 */

import {
  type MemorySnapshot,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  TIMELINE_ACTIONS,
} from "./memory_snapshot.ts";
import { refuseField, SnapshotError } from "./snapshot_error.ts";
import {
  BOOLEAN,
  checkDictionary,
  checkElements,
  checkRecord,
  type Fields,
  FINITE,
  integer,
  LIST,
  NOT_NEGATIVE,
  OBJECT,
  oneOf,
  orNull,
  rule,
  TEXT,
} from "./snapshot_rules.ts";

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

const SNAPSHOT: Fields = {
  format: oneOf(SNAPSHOT_FORMAT),
  version: oneOf(SNAPSHOT_VERSION),
  source: oneOf("gridstride", "pytorch"),
  takenAt: orNull(rule(
    'a time such as "2026-01-31T12:00:00.000Z"',
    (value) => typeof value === "string" && INSTANT.test(value) && !isNaN(Date.parse(value)),
  )),
  device: OBJECT,
  settings: OBJECT,
  statistics: OBJECT,
  streams: LIST,
  sites: LIST,
  segments: LIST,
  timeline: orNull(OBJECT),
};

const DEVICE: Fields = {
  label: TEXT,
  name: TEXT,
  fake: BOOLEAN,
  totalBytes: orNull(integer(0)),
};

const SETTING = rule(
  "a text, a finite number, true, false or null",
  (value) =>
    value === null || typeof value === "string" || typeof value === "boolean" ||
    Number.isFinite(value),
);

const SEGMENT: Fields = {
  address: integer(0),
  bytes: integer(1),
  kind: oneOf("plain", "virtual"),
  pool: oneOf("small", "large", "graph"),
  blocks: LIST,
};

/** What the rules of a block and of a timeline depend on. */
interface Tables {
  readonly streams: number;
  readonly sites: number;
}

function blockFields({ streams, sites }: Tables): Fields {
  return {
    offset: integer(0),
    bytes: integer(1),
    requested: integer(0),
    state: oneOf("live", "cached", "free", "pending", "unmapped"),
    stream: orNull(indexRule(0, streams, "streams")),
    age: orNull(NOT_NEGATIVE),
    site: orNull(indexRule(0, sites, "sites")),
  };
}

function columnRules({ streams, sites }: Tables): Fields {
  return {
    time: NOT_NEGATIVE,
    action: integer(0, TIMELINE_ACTIONS.length - 1),
    address: integer(0),
    bytes: integer(0),
    stream: indexRule(-1, streams, "streams"),
    site: indexRule(-1, sites, "sites"),
    live: integer(0),
    reserved: integer(0),
    largestFree: integer(-1),
  };
}

function indexRule(minimum: number, length: number, table: string) {
  const { holds } = integer(minimum, length - 1);
  const none = minimum < 0 ? "-1 or " : "";
  return rule(`${none}an index of ${table}, which has ${length}`, holds);
}

/**
 * Checks that a value, as `JSON.parse()` gives it, is a snapshot.
 *
 * @returns The same value.
 * @throws {SnapshotError} If it is not; the message names the field.
 *
 * @example
 * ```ts
 * import { SnapshotError, validateSnapshot } from "@gridstride/cuda/memory";
 *
 * try {
 *   validateSnapshot({ format: "gridstride memory snapshot", version: 2 });
 * } catch (error) {
 *   // Cannot read the snapshot as version must be 1: it is 2
 *   if (error instanceof SnapshotError) console.log(error.message);
 * }
 * ```
 */
export function validateSnapshot(value: unknown): MemorySnapshot {
  checkVersion(value);
  const snapshot = checkRecord(value, "", SNAPSHOT);
  checkRecord(snapshot.device, "device", DEVICE);
  checkDictionary(snapshot.settings, "settings", SETTING);
  checkDictionary(snapshot.statistics, "statistics", FINITE);
  const tables = {
    streams: checkElements(snapshot.streams, "streams", TEXT).length,
    sites: checkElements(snapshot.sites, "sites", TEXT).length,
  };
  checkSegments(snapshot.segments as unknown[], tables);
  if (snapshot.timeline !== null) checkTimeline(snapshot.timeline, tables);
  return value as MemorySnapshot;
}

/** A file of another format or version is told so before anything of its fields. */
function checkVersion(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const { format, version } = value as Record<string, unknown>;
  if (format !== SNAPSHOT_FORMAT) refuseField("format", JSON.stringify(SNAPSHOT_FORMAT), format);
  if (version !== SNAPSHOT_VERSION) refuseField("version", String(SNAPSHOT_VERSION), version);
}

function checkSegments(segments: readonly unknown[], tables: Tables): void {
  const fields = blockFields(tables);
  const ranges = segments.map((value, index) => {
    const path = `segments[${index}]`;
    const segment = checkRecord(value, path, SEGMENT);
    const { address, bytes } = segment as { address: number; bytes: number };
    if (!Number.isSafeInteger(address + bytes)) {
      refuseField(`${path}.bytes`, "below 2^53 with the address", bytes);
    }
    checkBlocks(segment.blocks as unknown[], path, bytes, fields);
    return { address, end: address + bytes, path };
  });
  ranges.sort((a, b) => a.address - b.address);
  for (let index = 1; index < ranges.length; index++) {
    const [before, after] = [ranges[index - 1]!, ranges[index]!];
    if (after.address < before.end) {
      refuseField(`${after.path}.address`, `behind the end of ${before.path}`, after.address);
    }
  }
}

function checkBlocks(
  blocks: readonly unknown[],
  path: string,
  segmentBytes: number,
  fields: Fields,
): void {
  let end = 0;
  blocks.forEach((value, index) => {
    const blockPath = `${path}.blocks[${index}]`;
    const block = checkRecord(value, blockPath, fields) as Record<string, number>;
    if (block.offset !== end) {
      refuseField(`${blockPath}.offset`, `${end}, where the block before ends`, block.offset);
    }
    const most = (block.state as unknown) === "live" ? block.bytes! : 0;
    if (block.requested! > most) {
      refuseField(`${blockPath}.requested`, `at most ${most}`, block.requested);
    }
    end += block.bytes!;
  });
  if (end !== segmentBytes) {
    throw new SnapshotError(
      `${path}.blocks`,
      `must have ${segmentBytes} bytes together, as the segment: they have ${end}`,
    );
  }
}

function checkTimeline(value: unknown, tables: Tables): void {
  const rules = columnRules(tables);
  const lists = Object.keys(rules).map((name) => [name, LIST] as const);
  const timeline = checkRecord(value, "timeline", {
    dropped: integer(0),
    ...Object.fromEntries(lists),
  });
  const length = (timeline.time as unknown[]).length;
  for (const [name, each] of Object.entries(rules)) {
    const column = checkElements(timeline[name], `timeline.${name}`, each);
    if (column.length !== length) {
      refuseField(`timeline.${name}.length`, `${length}, as that of time`, column.length);
    }
  }
  checkOrder(timeline.time as number[]);
}

function checkOrder(times: readonly number[]): void {
  for (let index = 1; index < times.length; index++) {
    if (times[index]! < times[index - 1]!) {
      refuseField(
        `timeline.time[${index}]`,
        `at least ${times[index - 1]}, the time before`,
        times[index],
      );
    }
  }
}
