/**
 * Where the results of tunings are kept: a file for each, beside the compiled kernels, or memory.
 *
 * Whatever is wrong with the files costs time and nothing else, so it is a warning in the log, once
 * for each kind of trouble, and never an error of the program that tunes.
 *
 * @module
 */

import { join } from "node:path";
import { CacheDirectoryError } from "../../ffi/cache_directory.ts";
import { logger } from "../../ffi/logging.ts";
import { type CachePlace, cacheSetting } from "../../launch/cache/cache_settings.ts";
import { CacheStore } from "../../launch/cache/cache_store.ts";
import { isFileProblem } from "../../launch/cache/file_problem.ts";
import { tuningDigest, type TuningIdentity } from "./tuning_identity.ts";
import type { TuningStorage } from "./tuning_options.ts";
import { decodeRecord, encodeRecord, type TuningRecord } from "./tuning_record.ts";

/** What happened to the results of tunings since the process began. */
export interface TuningStats {
  /** Tunings that timed nothing, as everything was known. */
  readonly found: number;
  /** Tunings that timed configurations. */
  readonly timed: number;
  /** Configurations that were timed, or failed while they were to be. */
  readonly configurations: number;
  /** Files that were damaged or not what their name says. They were ignored and written anew. */
  readonly corrupt: number;
  /** Files that were written. */
  readonly stored: number;
  /** Files that could not be written: no permission, a full or a read-only disk. */
  readonly failed: number;
}

/** Most bytes of all results: each takes some KiB. */
const MOST_BYTES = 32 * 2 ** 20;

const counters = { found: 0, timed: 0, configurations: 0, corrupt: 0, stored: 0, failed: 0 };
const inMemory = new Map<string, TuningRecord>();
const warned = new Set<string>();
let files: { readonly place: CachePlace; readonly store: CacheStore } | undefined;
/** The write under way: each reads what the one before has written. */
let writing: Promise<unknown> = Promise.resolve();

/** What happened to the results of tunings since the process began, in this isolate. */
export function tuningStats(): TuningStats {
  return { ...counters };
}

/** Counts a tuning by how many configurations it timed. */
export function countTuning(configurations: number): void {
  if (configurations === 0) counters.found++;
  else counters.timed++;
  counters.configurations += configurations;
}

/** What is known of a tuning; nothing where nothing is kept. */
export async function readRecord(
  identity: TuningIdentity,
  storage: TuningStorage,
): Promise<TuningRecord> {
  if (storage === false) return new Map();
  const digest = await tuningDigest(identity);
  const known = storage === "disk" ? await readFile(identity, digest) : undefined;
  return known ?? inMemory.get(digest) ?? new Map();
}

/**
 * Adds entries to what is kept of a tuning, in the place of those of the same configurations. Of what
 * another process adds in the same moment something may be lost, which is then timed again.
 */
export async function addEntries(
  identity: TuningIdentity,
  storage: TuningStorage,
  entries: TuningRecord,
): Promise<void> {
  if (storage === false || entries.size === 0) return;
  const done = writing.then(() => add(identity, storage, entries));
  writing = done.catch(() => {});
  await done;
}

async function add(
  identity: TuningIdentity,
  storage: "disk" | "memory",
  entries: TuningRecord,
): Promise<void> {
  const digest = await tuningDigest(identity);
  const record = new Map([...await readRecord(identity, storage), ...entries]);
  if (storage === "disk" && await writeFile(identity, digest, record)) inMemory.delete(digest);
  else inMemory.set(digest, record);
}

/**
 * Forgets the results of all tunings, in memory and on the disk. What a tuner of this process has
 * chosen stays chosen.
 *
 * @returns How many files were removed.
 * @throws {CacheDirectoryError} If their directory cannot be written, or others can write to it.
 * @throws {EnvironmentError} If a variable cannot be understood.
 */
export async function clearTunings(): Promise<number> {
  inMemory.clear();
  const there = filesHere();
  if (there === undefined) return 0;
  const refusal = (reason: string, cause?: Error) =>
    new CacheDirectoryError(`Cannot clear the tuning results as ${reason}`, { cause });
  if (!there.place.mayWrite) {
    throw refusal(
      `a permission is not granted: run again with --allow-write=${there.place.root}`,
    );
  }
  try {
    return (await there.store.clear()).entries;
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

/** The files where compiled kernels are kept now; undefined where nothing is. */
function filesHere(): typeof files {
  const setting = cacheSetting();
  if (setting.kind === "unavailable") warnOnce("not kept", setting.reason);
  if (setting.kind !== "on") return undefined;
  const { place } = setting;
  const isSame = files?.place.directory === place.directory && files.place.root === place.root &&
    files.place.mayWrite === place.mayWrite;
  if (!isSame) {
    const directory = join(place.directory, "tunings");
    files = { place, store: new CacheStore({ ...place, directory, maxBytes: MOST_BYTES }) };
  }
  return files;
}

async function readFile(
  identity: TuningIdentity,
  digest: string,
): Promise<TuningRecord | undefined> {
  const there = filesHere();
  if (there === undefined) return undefined;
  const file = await attempt("not found again", () => there.store.read(digest));
  if (file === undefined) return undefined;
  const reading = decodeRecord(identity, file);
  if ("record" in reading) return reading.record;
  counters.corrupt++;
  warnOnce("ignored", reading.problem);
  if (there.place.mayWrite) await attempt("not removed", () => there.store.remove(digest));
  return undefined;
}

/** Whether it was written. */
async function writeFile(
  identity: TuningIdentity,
  digest: string,
  record: TuningRecord,
): Promise<boolean> {
  const there = filesHere();
  if (there === undefined) return false;
  const isWritten = there.place.mayWrite && await attempt("not kept", async () => {
        await there.store.write(digest, encodeRecord(identity, record));
        return true;
      }) === true;
  if (!there.place.mayWrite) warnOnce("not kept", "the permission to write is not granted");
  if (isWritten) counters.stored++;
  else counters.failed++;
  return isWritten;
}

/** Does something with the file system; undefined, and a warning, where that fails. */
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
