/**
 * The stores of this process: for compiled kernels, and for what compilers are.
 *
 * Whatever is wrong with them costs time and nothing else, so it is a warning in the log, once for
 * each kind of trouble, and never an error of the program that compiles.
 *
 * @module
 */

import { CacheDirectoryError } from "../../ffi/cache_directory.ts";
import { logger } from "../../ffi/logging.ts";
import { type CachePlace, type CacheSetting, cacheSetting } from "./cache_settings.ts";
import { CacheStore } from "./cache_store.ts";
import { isFileProblem } from "./file_problem.ts";

/** The stores in one place. */
export interface CacheStores {
  /** Where they are. */
  readonly place: CachePlace;
  /** Compiled kernels. */
  readonly kernels: CacheStore;
  /** What compilers are. */
  readonly identities: CacheStore;
}

/** Most bytes of what compilers are: each takes some KiB, most of it names of files. */
const IDENTITY_BYTES = 2 ** 23;

let current: CacheStores | undefined;
const warned = new Set<string>();

/** Warns, unless this was warned of before. */
function warnOnce(about: string, reason: string): void {
  if (warned.has(about)) return;
  warned.add(about);
  logger("launch").warn("compiled kernels are {about} as {reason}", { about, reason });
}

/** Does something with the file system; undefined, and a warning, where that fails. */
export async function attempt<Result>(
  about: string,
  operation: () => Result | Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await operation();
  } catch (error) {
    warnOfProblem(about, error);
    return undefined;
  }
}

/** {@linkcode attempt} at what is done when it returns. */
export function attemptNow<Result>(about: string, operation: () => Result): Result | undefined {
  try {
    return operation();
  } catch (error) {
    warnOfProblem(about, error);
    return undefined;
  }
}

/** Warns of what is wrong with files; throws what is not. */
function warnOfProblem(about: string, error: unknown): void {
  if (!isFileProblem(error) && !(error instanceof RangeError)) throw error;
  warnOnce(about, error.message);
}

/** Whether compiled kernels are kept at all: on the disk or, where it cannot be had, in memory. */
export function keepsKernels(): boolean {
  return cacheSetting().kind !== "off";
}

/**
 * The stores, as the settings are; undefined where there are none, which is warned of unless it
 * is on request.
 *
 * @throws {EnvironmentError} If a variable cannot be understood.
 */
export function cacheStores(
  setting: CacheSetting = cacheSetting(),
): CacheStores | undefined {
  if (setting.kind === "off") return undefined;
  if (setting.kind === "unavailable") {
    warnOnce("not kept", setting.reason);
    return undefined;
  }
  const { place } = setting;
  // A store knows how much room it has, so it stays as long as the settings do.
  if (current === undefined || !isSame(current.place, place)) current = storesIn(place);
  return current;
}

/**
 * Does something with the stores for somebody who asked for it; undefined where nothing is kept on
 * request.
 *
 * @param action What is done with the compiled kernels. To clear them takes the permission to write.
 * @throws {CacheDirectoryError} If there is no place for them, it cannot be read or written, or
 * others can write to it.
 * @throws {EnvironmentError} If a variable cannot be understood.
 */
export async function withStores<Result>(
  action: "list" | "clear",
  run: (stores: CacheStores) => Promise<Result>,
): Promise<Result | undefined> {
  const refusal = (reason: string, cause?: Error) =>
    new CacheDirectoryError(`Cannot ${action} the compiled kernels as ${reason}`, { cause });
  const setting = cacheSetting();
  if (setting.kind === "unavailable") throw refusal(setting.reason);
  const stores = cacheStores();
  if (stores === undefined) return undefined;
  if (action === "clear" && !stores.place.mayWrite) {
    throw refusal(writePermissionReason(stores.place));
  }
  try {
    return await run(stores);
  } catch (error) {
    if (!isFileProblem(error)) throw error;
    throw refusal(`their directory cannot be used: ${error.message}`, error);
  }
}

function writePermissionReason({ root }: CachePlace): string {
  return `a permission is not granted: run again with --allow-write=${root}`;
}

function isSame(one: CachePlace, other: CachePlace): boolean {
  return one.root === other.root && one.directory === other.directory &&
    one.maxBytes === other.maxBytes && one.mayWrite === other.mayWrite;
}

function storesIn(place: CachePlace): CacheStores {
  return {
    place,
    kernels: new CacheStore(place),
    identities: new CacheStore({
      ...place,
      directory: `${place.directory}/compilers`,
      maxBytes: IDENTITY_BYTES,
    }),
  };
}

/** Writes to a store, where that is permitted; undefined, and a warning, where it fails. */
export function writeTo(
  store: CacheStore,
  place: CachePlace,
  key: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<number | undefined> {
  if (place.mayWrite) return attempt("not kept", () => store.write(key, bytes));
  warnOnce("not kept", writePermissionReason(place));
  return Promise.resolve(undefined);
}
