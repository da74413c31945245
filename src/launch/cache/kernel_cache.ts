/**
 * The compile cache: machine code by key, in memory and on the disk.
 *
 * A problem with the files costs time and nothing else: it is a warning in the log, once for each
 * kind, and never an error of a compilation.
 *
 * @module
 */

import { CacheDirectoryError } from "../../ffi/cache_directory.ts";
import { logger } from "../../ffi/logging.ts";
import type { Compiler } from "../compile/compiler.ts";
import { isFileProblem } from "../compile/files.ts";
import { type CompiledSource, decodeEntry, encodeEntry, readTitle } from "./cache_entry.ts";
import { keyText, type SourceRequest, textDigest } from "./cache_key.ts";
import { type CachePlace, type CacheSetting, cacheSetting } from "./cache_settings.ts";
import { CacheStore } from "./cache_store.ts";

/** Machine code of a source, and its origin. */
export interface CachedSource extends CompiledSource {
  /** Whether it was in the cache, or already being compiled. */
  readonly cached: boolean;
}

/** The maximum size of all images that a process keeps in memory besides the loaded ones. */
const MEMORY_BYTES = 64 * 2 ** 20;
/** The maximum size of all notes about compilers. */
const NOTE_BYTES = 2 ** 20;

const counters = { hits: 0, misses: 0, corrupt: 0, evicted: 0, stored: 0, failed: 0 };
const warned = new Set<string>();
/** Images of this process, the least recently used first. */
const recent = new Map<string, CompiledSource>();
/** A compilation that several callers wait for. It ends early when none is left. */
class SharedCompilation {
  readonly #ending = new AbortController();
  readonly #compiled: Promise<CompiledSource>;
  #waiting = 0;

  constructor(compile: (ending: AbortSignal) => Promise<CompiledSource>) {
    this.#compiled = compile(this.#ending.signal);
  }

  get isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Waits for the result, or until the caller gives up. */
  async join(signal: AbortSignal): Promise<CompiledSource> {
    signal.throwIfAborted();
    const { promise: abandoned, reject } = Promise.withResolvers<never>();
    const leave = () => {
      reject(signal.reason);
      if (this.#waiting === 1) this.#ending.abort(signal.reason);
    };
    this.#waiting++;
    signal.addEventListener("abort", leave);
    try {
      return await Promise.race([this.#compiled, abandoned]);
    } finally {
      signal.removeEventListener("abort", leave);
      this.#waiting--;
    }
  }
}

const underWay = new Map<string, SharedCompilation>();

interface CacheStores {
  readonly place: CachePlace;
  readonly kernels: CacheStore;
  /** The compilers that were used last. */
  readonly notes: CacheStore;
}

let current: CacheStores | undefined;

/**
 * Compiles, unless this process or another one has left the result in the cache. Concurrent
 * requests for the same source share one compilation.
 *
 * Callers share the image, so they must not write to it.
 *
 * @param compiler The compiler that `compile` uses; undefined to compile in any case.
 * @param compile Reads and compiles the source. Its errors are thrown and not remembered.
 * @param signal Ends this request, and the compilation unless other requests share it.
 */
export async function cachedCompile(
  compiler: Pick<Compiler, "identity"> | undefined,
  request: SourceRequest,
  compile: (ending: AbortSignal) => Promise<CompiledSource>,
  signal: AbortSignal = new AbortController().signal,
): Promise<CachedSource> {
  signal.throwIfAborted();
  const setting = compiler && cacheSetting();
  if (setting === undefined || setting.kind === "off") {
    if (setting !== undefined) counters.misses++;
    return { ...await new SharedCompilation(compile).join(signal), cached: false };
  }
  const stores = cacheStores(setting);
  const keyNow = async () => textDigest(keyText(await compiler!.identity(request), request));
  const key = await keyNow();
  const known = recent.get(key);
  const found = known ?? (stores && !underWay.has(key) ? await readEntry(stores, key) : undefined);
  if (found !== undefined) {
    counters.hits++;
    remember(key, found);
    return { ...found, cached: true };
  }
  const shared = underWay.get(key);
  if (shared !== undefined && !shared.isEnding) {
    const compiled = await shared.join(signal);
    counters.hits++;
    return { ...compiled, cached: true };
  }
  counters.misses++;
  signal.throwIfAborted();
  const compiling = new SharedCompilation(async (ending) => {
    try {
      const compiled = await compile(ending);
      if (!ending.aborted) await keep(compiled, key, stores, request.name, keyNow);
      return compiled;
    } finally {
      // A request may have replaced a compilation that is ending.
      if (underWay.get(key) === compiling) underWay.delete(key);
    }
  });
  underWay.set(key, compiling);
  return { ...await compiling.join(signal), cached: false };
}

/** Keeps a compiled source in memory and on the disk if its key covers it. */
async function keep(
  compiled: CompiledSource,
  key: string,
  stores: CacheStores | undefined,
  source: string,
  keyNow: () => Promise<string>,
): Promise<void> {
  const { untracked } = compiled.image;
  if (untracked !== undefined) {
    logger("launch").debug("the image of {source} is not kept: its key has no {untracked}", {
      source,
      untracked,
    });
  } // A header that changed meanwhile may or may not be in the image.
  else if (await keyNow() === key) {
    remember(key, compiled);
    if (stores !== undefined) await storeEntry(stores, key, source, compiled);
  }
}

/** Keeps an image in memory as the most recently used. */
function remember(key: string, compiled: CompiledSource): void {
  recent.delete(key);
  if (compiled.image.untracked !== undefined) return;
  recent.set(key, compiled);
  let bytes = 0;
  for (const { image } of recent.values()) bytes += image.image.length;
  for (const [oldest, { image }] of recent) {
    if (bytes <= MEMORY_BYTES) break;
    recent.delete(oldest);
    bytes -= image.image.length;
  }
}

/** The content of an entry; undefined where there is none, or it is damaged. */
async function readEntry(
  { kernels }: CacheStores,
  key: string,
): Promise<CompiledSource | undefined> {
  const file = await attempt("not found again", () => kernels.read(key));
  if (file === undefined) return undefined;
  const reading = await decodeEntry(key, file);
  if ("compiled" in reading) return reading.compiled;
  counters.corrupt++;
  logger("launch").warn("the compiled kernel {key} is compiled again: {problem}", {
    key,
    problem: reading.problem,
  });
  await attempt("not removed", () => kernels.remove(key));
  return undefined;
}

async function storeEntry(
  { kernels }: CacheStores,
  key: string,
  source: string,
  compiled: CompiledSource,
): Promise<void> {
  const entry = await encodeEntry(key, source, compiled);
  const evicted = await attempt("not kept", () => kernels.write(key, entry));
  if (evicted === undefined) counters.failed++;
  else counters.stored++;
  counters.evicted += evicted ?? 0;
}

/**
 * Notes the compiler that was used, for machines without one: the image of a container is often
 * built with a compiler, which fills the cache, and shipped without.
 *
 * @param selection The settings that select the compiler.
 * @param identity The compiler's identity.
 */
export async function noteCompiler(
  selection: readonly string[],
  identity: readonly string[],
): Promise<void> {
  const stores = cacheStores(cacheSetting());
  const note = identity.join("\0");
  // An unchanged note costs no write.
  if ((await notedCompiler(selection))?.join("\0") === note) return;
  const key = await textDigest(selection.join("\0"));
  await attempt("not kept", () => stores?.notes.write(key, new TextEncoder().encode(note)));
}

/** The identity of the compiler that was used last; undefined where none is noted. */
export async function notedCompiler(
  selection: readonly string[],
): Promise<readonly string[] | undefined> {
  const stores = cacheStores(cacheSetting());
  const key = await textDigest(selection.join("\0"));
  const note = await attempt("not found again", () => stores?.notes.read(key));
  // A damaged note leads to keys that no entry has.
  return note && new TextDecoder().decode(note).split("\0");
}

/** The stores in the place of a setting; undefined where there is none, with a warning. */
function cacheStores(setting: CacheSetting): CacheStores | undefined {
  if (setting.kind === "unavailable") warnOnce("not kept", setting.reason);
  const place = setting.kind === "on" ? setting.place : undefined;
  // A store counts its room, so it lives as long as the setting.
  if (JSON.stringify(current?.place) === JSON.stringify(place)) return current;
  if (current?.place.directory !== place?.directory) recent.clear();
  const notes = { directory: `${place?.directory}/compilers`, maxBytes: NOTE_BYTES };
  current = place && {
    place,
    kernels: new CacheStore(place),
    notes: new CacheStore({ ...place, ...notes }),
  };
  return current;
}

function warnOnce(about: string, reason: string): void {
  if (warned.has(about)) return;
  warned.add(about);
  logger("launch").warn("compiled kernels are {about} as {reason}", { about, reason });
}

/** The result of an operation on files; undefined, with a warning, where it fails. */
async function attempt<Result>(
  about: string,
  operation: () => Result | Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (!isFileProblem(error) && !(error instanceof RangeError)) throw error;
    const at = current?.place.directory ?? "";
    warnOnce(about, error.message.includes(at) ? error.message : `${error.message}: ${at}`);
    return undefined;
  }
}

/**
 * The counters of the compile cache since the process began, in this isolate.
 *
 * @example
 * ```ts
 * import { kernelCacheStats } from "@gridstride/cuda";
 *
 * const { hits, misses } = kernelCacheStats();
 * console.log(`${hits} of ${hits + misses} sources were compiled before`);
 * ```
 * @category Launching kernels
 */
export function kernelCacheStats(): {
  /** Requests without a compilation: the image was in memory, on the disk, or being compiled. */
  readonly hits: number;
  /** Requests with a compilation. */
  readonly misses: number;
  /** Damaged entries. Each was compiled again, a miss. */
  readonly corrupt: number;
  /** Entries that were removed to make room. */
  readonly evicted: number;
  /** Entries that were stored. */
  readonly stored: number;
  /** Entries that could not be stored: no permission, a full or a read-only disk. */
  readonly failed: number;
} {
  return { ...counters };
}

/**
 * Removes all compiled kernels from memory and disk. Loaded modules stay. A compilation under way is
 * stored when it ends.
 *
 * @returns The number of entries that were on the disk, and their bytes.
 * @throws {CacheDirectoryError} If there is no place for them, it cannot be read or written, or
 * others can write to it.
 * @throws {EnvironmentError} If a variable is malformed.
 *
 * @example
 * ```ts
 * import { clearKernelCache, configureKernelCache } from "@gridstride/cuda";
 *
 * configureKernelCache({ directory: await Deno.makeTempDir() });
 * console.log((await clearKernelCache()).entries); // 0
 * configureKernelCache();
 * ```
 * @category Launching kernels
 */
export async function clearKernelCache(): Promise<{
  /** The number of entries. */
  readonly entries: number;
  /** Their bytes. */
  readonly bytes: number;
}> {
  recent.clear();
  const total = await withStores("clear", async ({ notes, kernels }) => {
    await notes.clear();
    return await kernels.clear();
  });
  return total ?? { entries: 0, bytes: 0 };
}

/**
 * Lists the compile cache on the disk, the most recently used entry first. Empty where the cache is
 * off.
 *
 * @throws {CacheDirectoryError} If there is no place for it, it cannot be read, or others can write
 * to it.
 * @throws {EnvironmentError} If a variable is malformed.
 *
 * @example
 * ```ts
 * import { listKernelCache } from "@gridstride/cuda";
 *
 * const entries = await listKernelCache();
 * console.log(entries.length, "kernels");
 * ```
 * @category Launching kernels
 */
export async function listKernelCache(): Promise<{
  /** Its key: 64 hexadecimal digits. */
  readonly key: string;
  /** The name of the source; empty where the entry is damaged. */
  readonly source: string;
  /** The kernels in it, as C++ names them; none where the entry is damaged. */
  readonly kernels: readonly string[];
  /** Its size on the disk. */
  readonly bytes: number;
  /** The time of its last use. */
  readonly lastUsed: Date;
}[]> {
  return await withStores("list", async ({ kernels }) => {
    const entries: Awaited<ReturnType<typeof listKernelCache>> = [];
    for (const { key, path, bytes, lastUsed } of await kernels.list()) {
      try {
        const { source, kernels } = readTitle(path) ?? { source: "", kernels: [] };
        entries.push({ key, source, kernels, bytes, lastUsed });
      } catch (error) {
        // Another process may have removed it.
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    return entries;
  }) ?? [];
}

/** Runs an operation on the stores that the program requested; undefined where the cache is off. */
async function withStores<Result>(
  action: "list" | "clear",
  run: (stores: CacheStores) => Promise<Result>,
): Promise<Result | undefined> {
  const refusal = (reason: string, cause?: Error) =>
    new CacheDirectoryError(`Cannot ${action} the compiled kernels as ${reason}`, { cause });
  const setting = cacheSetting();
  if (setting.kind === "unavailable") throw refusal(setting.reason);
  const stores = cacheStores(setting);
  if (stores === undefined) return undefined;
  const { root, mayWrite } = stores.place;
  if (action === "clear" && !mayWrite) {
    throw refusal(`a permission is not granted: run again with --allow-write=${root}`);
  }
  try {
    return await run(stores);
  } catch (error) {
    if (!isFileProblem(error)) throw error;
    throw refusal(`their directory cannot be used: ${error.message}`, error);
  }
}
