/**
 * The store of tuning results: a file for each tuning, beside the compiled kernels, or memory.
 *
 * Problems with the files cost time only: they are logged as a warning, once for each kind, and are
 * never an error of the program that tunes.
 *
 * @module
 */

import { join } from "node:path";
import { CacheDirectoryError } from "../../ffi/cache_directory.ts";
import { logger } from "../../ffi/logging.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { cacheSetting } from "../../launch/cache/cache_settings.ts";
import { CacheStore } from "../../launch/cache/cache_store.ts";
import { isFileProblem } from "../../launch/compile/files.ts";
import type { AutotunerOptions } from "./tuning_options.ts";

/**
 * Counts of tunings and their files since the process began.
 * @category Stored tunings
 */
export interface TuningStats {
  /** Tunings that timed nothing: all results were known. */
  readonly found: number;
  /** Tunings that timed configurations. */
  readonly timed: number;
  /** Configurations that were timed or failed. */
  readonly configurations: number;
  /** Damaged or foreign files, which were ignored. */
  readonly corrupt: number;
  /** Written files. */
  readonly stored: number;
  /** Files that could not be written: no permission, a full or a read-only disk. */
  readonly failed: number;
}

export interface TuningEntry {
  /** Microseconds of each timed launch; none if it failed. */
  readonly samples: readonly number[];
  /** Whether it was dropped because another was certainly faster. */
  readonly stoppedEarly: boolean;
  /** The reason of the failure; absent if it ran. */
  readonly failure?: string;
}

/** The results of a tuning: one race of all configurations, and one of its winner and the first. */
export interface TuningRecord {
  /** Results of the race, by the text of the configuration. */
  readonly entries: ReadonlyMap<string, TuningEntry>;
  /** The race of the winner beside the first alone; absent if the first was the winner. */
  readonly confirmation?: {
    readonly first: string;
    readonly challenger: string;
    /** Whether the winner was faster again. */
    readonly confirmed: boolean;
  };
}

/** Changed with the meaning of results: older ones are not found. */
const FORMAT = "gridstride tuning 3";
/** The limit of all results in bytes; each takes some KiB. */
const MAX_BYTES = 32 * 2 ** 20;

const counters = { found: 0, timed: 0, configurations: 0, corrupt: 0, stored: 0, failed: 0 };
const inMemory = new Map<string, TuningRecord>();
const warned = new Set<string>();

/**
 * Counts of tunings and their files in this isolate.
 *
 * @example
 * ```ts
 * import { tuningStats } from "@gridstride/cuda/tuning";
 *
 * console.log(tuningStats());
 * ```
 * @category Stored tunings
 */
export function tuningStats(): TuningStats {
  return { ...counters };
}

/** Counts a tuning by the number of configurations that it timed. */
export function countTuning(configurations: number): void {
  counters[configurations === 0 ? "found" : "timed"]++;
  counters.configurations += configurations;
}

/**
 * The identity of a tuning's results: name, key, version and the model of the device, of which all
 * devices are equally fast. Kernels of the host device are as fast as its cores and its compiler's
 * code.
 */
export function tuningIdentity(
  { info, library }: DeviceContext,
  name: string,
  key: string,
  version: string,
): string {
  const { compiler, architectures } = library.build;
  const model = [
    `${info.kind}${info.fake ? " (fake)" : ""} ${info.name}`,
    `compute capability ${info.computeCapability}`,
    `${info.multiprocessorCount} multiprocessors`,
    `driver ${info.driverVersion ?? "none"}`,
    ...library.kind === "cuda"
      ? []
      : [`${navigator.hardwareConcurrency} processors`, architectures, compiler],
  ];
  return JSON.stringify([FORMAT, name, key, version, ...model]);
}

/** The name of the file of a tuning: 64 hexadecimal digits. */
async function digestOf(identity: string): Promise<string> {
  const bytes = new TextEncoder().encode(identity);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** The stored record of a tuning; an empty one if there is none. */
export async function readRecord(
  identity: string,
  storage: AutotunerOptions<null>["store"],
): Promise<TuningRecord> {
  const digest = await digestOf(identity);
  if (storage === "disk") {
    const store = storeHere()?.store;
    const file = await attempt("not found again", async () => await store?.read(digest));
    const record = file === undefined ? undefined : decodeRecord(identity, file);
    if (record !== undefined) return record;
    if (file !== undefined) {
      counters.corrupt++;
      warnOnce("ignored", "a file is damaged");
    }
  }
  const kept = storage === false ? undefined : inMemory.get(digest);
  return kept ?? { entries: new Map() };
}

/** Stores the record of a tuning in place of the one before. */
export async function writeRecord(
  identity: string,
  storage: AutotunerOptions<null>["store"],
  record: TuningRecord,
): Promise<void> {
  if (storage === false) return;
  const digest = await digestOf(identity);
  const here = storage === "disk" ? storeHere() : undefined;
  if (here === undefined) {
    inMemory.set(digest, record);
    return;
  }
  const isWritten = await attempt("not kept", async () => {
    if (!here.mayWrite) throw new RangeError("the permission to write is not granted");
    await here.store.write(digest, encodeRecord(identity, record));
    return true;
  });
  counters[isWritten ? "stored" : "failed"]++;
  if (isWritten) inMemory.delete(digest);
  else inMemory.set(digest, record);
}

/**
 * Deletes the results of all tunings, in memory and on the disk. Tuners of this process keep their
 * choices.
 *
 * @returns The number of deleted files.
 * @throws {CacheDirectoryError} If their directory cannot be written, or others can write to it.
 * @throws {EnvironmentError} If a variable cannot be understood.
 *
 * @example
 * ```ts no-run
 * import { clearTunings } from "@gridstride/cuda/tuning";
 *
 * console.log(await clearTunings(), "files are deleted");
 * ```
 * @category Stored tunings
 */
export async function clearTunings(): Promise<number> {
  inMemory.clear();
  const here = storeHere();
  if (here === undefined) return 0;
  const refusal = (reason: string, cause?: Error) =>
    new CacheDirectoryError(`Cannot clear the tuning results as ${reason}`, { cause });
  if (!here.mayWrite) {
    throw refusal(`a permission is not granted: run again with --allow-write=${here.root}`);
  }
  try {
    return (await here.store.clear()).entries;
  } catch (error) {
    if (!isFileProblem(error)) throw error;
    throw refusal(`their directory cannot be used: ${error.message}`, error);
  }
}

function warnOnce(about: string, reason: string): void {
  if (warned.has(about)) return;
  warned.add(about);
  logger("launch").warn("tuning results are {about} as {reason}", { about, reason });
}

/** The store in the present cache directory; undefined if there is none. */
function storeHere() {
  const setting = cacheSetting();
  if (setting.kind === "unavailable") warnOnce("not kept", setting.reason);
  if (setting.kind !== "on") return undefined;
  const { place } = setting;
  const directory = join(place.directory, "tunings");
  const store = new CacheStore({ ...place, directory, maxBytes: MAX_BYTES });
  return { store, root: place.root, mayWrite: place.mayWrite };
}

/** Uses the file system; a failure is a warning, and `undefined`. */
async function attempt<Result>(
  about: string,
  operation: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (!isFileProblem(error) && !(error instanceof RangeError)) throw error;
    warnOnce(about, error.message);
    return undefined;
  }
}

/** The file of a record: readable JSON. */
export function encodeRecord(
  identity: string,
  { entries, confirmation }: TuningRecord,
): Uint8Array<ArrayBuffer> {
  const list = [...entries].map(([configuration, entry]) => ({ configuration, ...entry }));
  return new TextEncoder().encode(
    `${JSON.stringify({ identity, entries: list, confirmation })}\n`,
  );
}

/** Reads a file; `undefined` if it is not one that {@linkcode encodeRecord} makes for the tuning. */
export function decodeRecord(
  identity: string,
  file: Uint8Array<ArrayBuffer>,
): TuningRecord | undefined {
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(file));
    const { entries: list, confirmation } = value;
    if (value.identity !== identity || !list.every(isEntry)) return undefined;
    if (confirmation !== undefined && !isConfirmation(confirmation)) return undefined;
    const entries = new Map<string, TuningEntry>(
      list.map(({ configuration, ...entry }: { configuration: string }) => [configuration, entry]),
    );
    return confirmation === undefined ? { entries } : { entries, confirmation };
  } catch {
    return undefined;
  }
}

function isEntry(value: Readonly<Record<string, unknown>>): boolean {
  const { configuration, samples, stoppedEarly, failure } = value;
  const hasFailed = typeof failure === "string";
  return typeof configuration === "string" && typeof stoppedEarly === "boolean" &&
    (hasFailed || failure === undefined) && Array.isArray(samples) &&
    (samples.length === 0) === hasFailed &&
    samples.every((time) => typeof time === "number" && Number.isFinite(time) && time >= 0);
}

function isConfirmation(value: Readonly<Record<string, unknown>>): boolean {
  const { first, challenger, confirmed } = value;
  return typeof first === "string" && typeof challenger === "string" &&
    typeof confirmed === "boolean";
}
