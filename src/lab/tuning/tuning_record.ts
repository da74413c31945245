/**
 * What is known of a tuning: its entries, as they are kept in a file.
 *
 * Times can be compared only with those of the same session, in which they were taken in turn. What
 * is added to a session later was timed in turn with its best one, and put on its scale.
 *
 * @module
 */

import { TUNING_SCHEMA, type TuningIdentity } from "./tuning_identity.ts";

/** A second look at a configuration that was the fastest: it was timed beside the first one alone. */
export interface Confirmation {
  /** The text of the first one. */
  readonly first: string;
  /** Microseconds of each launch of the first one. */
  readonly firstSamples: readonly number[];
  /** Those of the configuration in the same rounds. */
  readonly samples: readonly number[];
}

/** What is known of a configuration. */
export interface TuningEntry {
  /** The session whose times its own can be compared with. */
  readonly session: string;
  /** Microseconds of each launch that counted; none where it failed. */
  readonly samples: readonly number[];
  /** Whether it was dropped because another was sure to be faster. */
  readonly stoppedEarly: boolean;
  /** Why it failed; absent where it ran. */
  readonly failure?: string;
  /** Its second look; absent where it had none. */
  readonly confirmation?: Confirmation;
}

/** Entries by the text of their configuration. */
export type TuningRecord = ReadonlyMap<string, TuningEntry>;

/** What came of reading a file. */
export type RecordReading =
  | {
    /** What it has. */
    readonly record: TuningRecord;
  }
  | {
    /** Completes "the tuning results are ignored as …". */
    readonly problem: string;
  };

const FORMAT = "gridstride tuning";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The file of a record: JSON that people can read. */
export function encodeRecord(
  identity: TuningIdentity,
  record: TuningRecord,
): Uint8Array<ArrayBuffer> {
  const entries = [...record].map(([configuration, entry]) => ({ configuration, ...entry }));
  const { name, key, device, version } = identity;
  const file = { format: FORMAT, schema: TUNING_SCHEMA, name, key, device, version, entries };
  return encoder.encode(`${JSON.stringify(file)}\n`);
}

/**
 * Reads a file. Believes nothing: whatever is not what {@linkcode encodeRecord} makes for this
 * tuning is a problem, never an exception.
 */
export function decodeRecord(
  identity: TuningIdentity,
  file: Uint8Array<ArrayBuffer>,
): RecordReading {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(file));
  } catch {
    return { problem: "they are no JSON" };
  }
  if (typeof value !== "object" || value === null) return { problem: "they are no object" };
  const { format, schema, entries, ...rest } = value as Readonly<Record<string, unknown>>;
  if (format !== FORMAT || schema !== TUNING_SCHEMA) return { problem: "they are of another kind" };
  const names = ["name", "key", "device", "version"] as const;
  if (names.some((name) => rest[name] !== identity[name])) {
    return { problem: "they are those of another tuning" };
  }
  if (!Array.isArray(entries)) return { problem: "they have no entries" };
  const record = new Map<string, TuningEntry>();
  for (const each of entries as unknown[]) {
    const read = readEntry(each);
    if (read === undefined) return { problem: "one of their entries cannot be understood" };
    record.set(...read);
  }
  return { record };
}

function readEntry(value: unknown): [configuration: string, entry: TuningEntry] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { configuration, session, samples, stoppedEarly, failure, confirmation } =
    value as Readonly<Record<string, unknown>>;
  if (typeof configuration !== "string" || typeof session !== "string") return undefined;
  if (typeof stoppedEarly !== "boolean" || !isTimes(samples)) return undefined;
  if (failure !== undefined) {
    if (typeof failure !== "string" || samples.length > 0) return undefined;
    return [configuration, { session, samples, stoppedEarly, failure }];
  }
  if (samples.length === 0) return undefined;
  const entry = { session, samples, stoppedEarly };
  if (confirmation === undefined) return [configuration, entry];
  return isConfirmation(confirmation) ? [configuration, { ...entry, confirmation }] : undefined;
}

function isConfirmation(value: unknown): value is Confirmation {
  if (typeof value !== "object" || value === null) return false;
  const { first, firstSamples, samples } = value as Readonly<Record<string, unknown>>;
  return typeof first === "string" && isTimes(firstSamples) && firstSamples.length > 0 &&
    isTimes(samples) && samples.length > 0;
}

function isTimes(value: unknown): value is number[] {
  return Array.isArray(value) &&
    value.every((time) => typeof time === "number" && Number.isFinite(time) && time >= 0);
}
