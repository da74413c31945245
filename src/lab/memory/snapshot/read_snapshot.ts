/**
 * Reads snapshots from JSON and validates them: the rules of the JSON schema, and those that a
 * schema cannot express. Blocks fill their segment, segments do not overlap, columns have equal
 * length, and indices point into their tables.
 *
 * @module
 */

import { displaySnapshot } from "../report/memory_report.ts";
import {
  type MemorySnapshot,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  TIMELINE_ACTIONS,
} from "./memory_snapshot.ts";
import { printableText } from "../../../ffi/arguments.ts";
import { describeValue } from "../../../ffi/describe_value.ts";

/** The longest string of V8, in characters. */
const MAX_TEXT_LENGTH = 2 ** 29 - 24;

/** Decodes a whole UTF-8 file, without its byte order mark. `refuse` throws for an offence. */
export function decodeFile(
  file: string | Uint8Array,
  refuse: (offence: string, cause: unknown) => never,
): string {
  if (typeof file === "string") return file.replace(/^\uFEFF/, "");
  if (!(file instanceof Uint8Array)) {
    throw new TypeError(
      `Cannot read a file as file must be a text or a Uint8Array: it is ${describeValue(file)}`,
    );
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file);
  } catch (cause) {
    if (file.length > MAX_TEXT_LENGTH) {
      refuse(`must have at most ${MAX_TEXT_LENGTH} characters: it has ${file.length} bytes`, cause);
    }
    return refuse("must be UTF-8 text", cause);
  }
}

/**
 * Reads a snapshot from JSON.
 *
 * @param file The whole file, as text or bytes.
 * @throws {SnapshotError} If the file is not JSON, or a field is invalid; the message names the
 *   field.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { readSnapshot, snapshotPool } from "@gridstride/cuda/memory";
 *
 * using device = openDevice();
 * const file = JSON.stringify(snapshotPool(device.pool));
 * console.log(readSnapshot(file).version); // 1
 * ```
 * @category Snapshots
 */
export function readSnapshot(file: Uint8Array | string): MemorySnapshot {
  const text = decodeFile(file, (offence, cause) => {
    throw new SnapshotError("", offence, { cause });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SnapshotError("", `must be JSON: ${reason}`, { cause });
  }
  return displaySnapshot(validateSnapshot(value));
}

/**
 * Thrown when a field of a snapshot is invalid.
 *
 * @example
 * ```ts
 * import { SnapshotError, readSnapshot } from "@gridstride/cuda/memory";
 *
 * try {
 *   readSnapshot('{ "format": "something else" }');
 * } catch (error) {
 *   if (error instanceof SnapshotError) console.log(error.path); // format
 * }
 * ```
 * @category Snapshots
 */
export class SnapshotError extends Error {
  /** The name of the class, for printed errors. */
  override readonly name = "SnapshotError";
  /** The field, such as `segments[3].blocks[0].bytes`; empty for an error of the whole file. */
  readonly path: string;

  /**
   * Creates an error for one field.
   *
   * @param path The field, or "" for the whole file.
   * @param offence The allowed values and the value found.
   * @param options The cause of the error.
   */
  constructor(path: string, offence: string, options?: ErrorOptions) {
    // The path may quote field names from the file.
    const field = path === "" ? "the file" : path;
    super(printableText(`Cannot read the snapshot as ${field} ${offence}`), options);
    this.path = path;
  }
}

/** The allowed values of a field. */
interface Rule {
  /** The rule in words, after "must be". */
  readonly requirement: string;
  holds(value: unknown): boolean;
}

type Fields = Readonly<Record<string, Rule>>;

function rule(requirement: string, holds: (value: unknown) => boolean): Rule {
  return { requirement, holds };
}

function integer(minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): Rule {
  return rule(
    `an integer in ${minimum}..${maximum}`,
    (value) => Number.isInteger(value) && value as number >= minimum && value as number <= maximum,
  );
}

function oneOf(...values: readonly unknown[]): Rule {
  return rule(
    values.map((value) => JSON.stringify(value)).join(" or "),
    (value) => values.includes(value),
  );
}

function orNull({ requirement, holds }: Rule): Rule {
  return rule(`${requirement} or null`, (value) => value === null || holds(value));
}

function indexOf(table: string, length: number, minimum: 0 | -1): Rule {
  const none = minimum < 0 ? "-1 or " : "";
  return rule(
    `${none}an index of ${table}, which has ${length}`,
    integer(minimum, length - 1).holds,
  );
}

const TEXT = rule("a text", (value) => typeof value === "string");
const FINITE = rule("a finite number", Number.isFinite);
const NOT_NEGATIVE = rule(
  "a finite number of at least 0",
  (value) => Number.isFinite(value) && value as number >= 0,
);
const LIST = rule("a list", Array.isArray);
const OBJECT = rule(
  "an object",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);
const INSTANT = rule(
  'a time such as "2026-01-31T12:00:00.000Z"',
  (value) =>
    typeof value === "string" && !isNaN(Date.parse(value)) &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(value),
);
const SETTING = rule(
  "a text, a finite number, true, false or null",
  (value) =>
    value === null || typeof value === "string" || typeof value === "boolean" ||
    Number.isFinite(value),
);

const SNAPSHOT: Fields = {
  format: oneOf(SNAPSHOT_FORMAT),
  version: oneOf(SNAPSHOT_VERSION),
  source: oneOf("gridstride", "pytorch"),
  takenAt: orNull(INSTANT),
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
  fake: rule("true or false", (value) => typeof value === "boolean"),
  totalBytes: orNull(integer(0)),
};

const SEGMENT: Fields = {
  address: integer(0),
  bytes: integer(1),
  kind: oneOf("plain", "virtual"),
  pool: oneOf("small", "large", "graph"),
  blocks: LIST,
};

/** Lengths of the tables that blocks and events refer to. */
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
    stream: orNull(indexOf("streams", streams, 0)),
    age: orNull(NOT_NEGATIVE),
    site: orNull(indexOf("sites", sites, 0)),
  };
}

function columnRules({ streams, sites }: Tables): Fields {
  return {
    time: NOT_NEGATIVE,
    action: integer(0, TIMELINE_ACTIONS.length - 1),
    address: integer(0),
    bytes: integer(0),
    stream: indexOf("streams", streams, -1),
    site: indexOf("sites", sites, -1),
    live: integer(0),
    reserved: integer(0),
    largestFree: integer(-1),
    free: integer(-1),
  };
}

function refuse(path: string, requirement: string, value: unknown): never {
  throw new SnapshotError(path, `must be ${requirement}: it is ${describeValue(value)}`);
}

function checkField(value: unknown, path: string, { requirement, holds }: Rule): void {
  if (!holds(value)) refuse(path, requirement, value);
}

function checkList(list: unknown, path: string, each: Rule): unknown[] {
  checkField(list, path, LIST);
  const values = list as unknown[];
  const wrong = values.findIndex((value) => !each.holds(value));
  if (wrong >= 0) refuse(`${path}[${wrong}]`, each.requirement, values[wrong]);
  return values;
}

function checkRecord(value: unknown, path: string, fields: Fields): Record<string, unknown> {
  checkField(value, path, OBJECT);
  const record = value as Record<string, unknown>;
  const prefix = path === "" ? "" : `${path}.`;
  const unknown = Object.keys(record).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) {
    const allowed = Object.keys(fields).join(", ");
    throw new SnapshotError(`${prefix}${unknown}`, `is no field of it: allowed are ${allowed}`);
  }
  for (const [name, each] of Object.entries(fields)) {
    if (!Object.hasOwn(record, name)) {
      throw new SnapshotError(`${prefix}${name}`, `must be ${each.requirement}: it is missing`);
    }
    checkField(record[name], `${prefix}${name}`, each);
  }
  return record;
}

function checkDictionary(value: unknown, path: string, each: Rule): void {
  for (const [name, element] of Object.entries(value as Record<string, unknown>)) {
    checkField(element, `${path}.${name}`, each);
  }
}

/**
 * Checks that a value, as `JSON.parse()` returns it, is a snapshot.
 *
 * @param value The value.
 * @returns The same value.
 * @throws {SnapshotError} If a field is invalid; the message names the field.
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
 * @category Snapshots
 */
export function validateSnapshot(value: unknown): MemorySnapshot {
  checkVersion(value);
  const snapshot = checkRecord(value, "", SNAPSHOT);
  checkRecord(snapshot.device, "device", DEVICE);
  checkDictionary(snapshot.settings, "settings", SETTING);
  checkDictionary(snapshot.statistics, "statistics", FINITE);
  const tables = {
    streams: checkList(snapshot.streams, "streams", TEXT).length,
    sites: checkList(snapshot.sites, "sites", TEXT).length,
  };
  checkSegments(snapshot.segments as unknown[], tables);
  if (snapshot.timeline !== null) checkTimeline(snapshot.timeline, tables);
  return value as MemorySnapshot;
}

/** Checks format and version before all other fields, for a clear error. */
function checkVersion(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const { format, version } = value as Record<string, unknown>;
  if (format !== SNAPSHOT_FORMAT) refuse("format", JSON.stringify(SNAPSHOT_FORMAT), format);
  if (version !== SNAPSHOT_VERSION) refuse("version", String(SNAPSHOT_VERSION), version);
}

function checkSegments(segments: readonly unknown[], tables: Tables): void {
  const fields = blockFields(tables);
  const ranges = segments.map((value, index) => {
    const path = `segments[${index}]`;
    const segment = checkRecord(value, path, SEGMENT);
    const { address, bytes } = segment as { address: number; bytes: number };
    if (!Number.isSafeInteger(address + bytes)) {
      refuse(`${path}.bytes`, "below 2^53 with the address", bytes);
    }
    checkBlocks(segment.blocks as unknown[], path, bytes, fields);
    return { address, end: address + bytes, path };
  });
  ranges.sort((a, b) => a.address - b.address);
  for (let index = 1; index < ranges.length; index++) {
    const [before, after] = [ranges[index - 1]!, ranges[index]!];
    if (after.address < before.end) {
      refuse(`${after.path}.address`, `behind the end of ${before.path}`, after.address);
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
      refuse(`${blockPath}.offset`, `${end}, where the block before ends`, block.offset);
    }
    const most = (block.state as unknown) === "live" ? block.bytes! : 0;
    if (block.requested! > most) {
      refuse(`${blockPath}.requested`, `at most ${most}`, block.requested);
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
  const { free, ...required } = columnRules(tables);
  const hasFree = Object.hasOwn(Object(value), "free");
  const rules: Fields = hasFree ? { ...required, free: free! } : required;
  const lists = Object.fromEntries(Object.keys(rules).map((name) => [name, LIST]));
  const timeline = checkRecord(value, "timeline", { dropped: integer(0), ...lists });
  const times = timeline.time as number[];
  for (const [name, each] of Object.entries(rules)) {
    const column = checkList(timeline[name], `timeline.${name}`, each);
    if (column.length !== times.length) {
      refuse(`timeline.${name}.length`, `${times.length}, as that of time`, column.length);
    }
  }
  const wrong = times.findIndex((time, index) => index > 0 && time < times[index - 1]!);
  if (wrong >= 0) {
    refuse(
      `timeline.time[${wrong}]`,
      `at least ${times[wrong - 1]}, the time before`,
      times[wrong],
    );
  }
}
