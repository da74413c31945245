/**
 * The compile cache: machine code by everything that it depends on, in memory and on the disk.
 *
 * @module
 */

import { logger } from "../../ffi/logging.ts";
import type { Compiler } from "../compile/compiler.ts";
import { type CompiledSource, decodeEntry, encodeEntry } from "./cache_entry.ts";
import { cacheKey, type SourceRequest } from "./cache_key.ts";
import { type CacheSetting, cacheSetting } from "./cache_settings.ts";
import type { KernelCacheTotal } from "./cache_store.ts";
import { attempt, type CacheStores, cacheStores, withStores, writeTo } from "./cache_stores.ts";
import { RecentImages } from "./recent_images.ts";

/** Machine code of a source, and whether it was there already. */
export interface CachedSource extends CompiledSource {
  /** Whether it was there, or on its way, when it was asked for. */
  readonly cached: boolean;
}

/** What happened in the compile cache since the process began. */
export interface KernelCacheStatistics {
  /** Requests that needed no compiler: the image was in memory, on the disk or being made. */
  readonly hits: number;
  /** Requests that needed one. */
  readonly misses: number;
  /** Entries that were damaged or not what their name says. Each was compiled again, a miss. */
  readonly corrupt: number;
  /** Entries that went because there were more bytes than allowed. */
  readonly evicted: number;
  /** Entries that were stored. */
  readonly stored: number;
  /** Entries that could not be stored: no permission, a full or a read-only disk. */
  readonly failed: number;
}

/** Bytes of images that a process keeps in memory besides those that are loaded. */
const MEMORY_BYTES = 64 * 2 ** 20;

const counters = { hits: 0, misses: 0, corrupt: 0, evicted: 0, stored: 0, failed: 0 };
const recent = new RecentImages(MEMORY_BYTES);
let recentDirectory = "";
const underWay = new Map<string, Promise<CachedSource>>();

/**
 * Compiles, unless that was done before: by this process, or by another on this machine that left
 * it in the cache. Who asks for what is being compiled waits for it.
 *
 * The image is shared with whoever asks for the same, so it must not be written to.
 *
 * @param compiler What `compile` will compile it with.
 * @param compile Reads the source and compiles it. What it throws is thrown, and not remembered.
 */
export async function cachedCompile(
  compiler: Pick<Compiler, "identity">,
  request: SourceRequest,
  compile: () => Promise<CompiledSource>,
): Promise<CachedSource> {
  const setting = cacheSetting();
  if (setting.kind === "off") {
    counters.misses++;
    return { ...await compile(), cached: false };
  }
  const keyNow = async () => await cacheKey(await compiler.identity(request), request);
  const key = await keyNow();
  const compiled = imagesIn(setting).get(key);
  if (compiled !== undefined) return hit(compiled);
  const running = underWay.get(key);
  if (running !== undefined) return hit(await running);
  const made = readOrCompile({ setting, key, keyNow, source: request.name, compile });
  underWay.set(key, made);
  try {
    return await made;
  } finally {
    underWay.delete(key);
  }
}

/** The images that were used last, as long as the cache has one place: another has its own. */
function imagesIn(setting: CacheSetting): RecentImages {
  const directory = setting.kind === "on" ? setting.place.directory : "";
  if (directory !== recentDirectory) recent.clear();
  recentDirectory = directory;
  return recent;
}

function hit(compiled: CompiledSource): CachedSource {
  counters.hits++;
  return { ...compiled, cached: true };
}

/** What is looked for, and how it is made. */
interface Wanted {
  /** Where it is looked for and kept. */
  readonly setting: CacheSetting;
  readonly key: string;
  /** The key that it would have now. */
  readonly keyNow: () => Promise<string>;
  /** What diagnostics call the source. */
  readonly source: string;
  readonly compile: () => Promise<CompiledSource>;
}

async function readOrCompile(
  { setting, key, keyNow, source, compile }: Wanted,
): Promise<CachedSource> {
  const stores = cacheStores(setting);
  const images = imagesIn(setting);
  const entry = stores === undefined ? undefined : await readEntry(stores, key);
  if (entry !== undefined) {
    images.add(key, entry);
    return hit(entry);
  }
  counters.misses++;
  const compiled = await compile();
  const { unseen = [] } = compiled.image;
  if (unseen.length > 0) {
    logger("launch").debug("what was compiled of {source} is not kept as its key has no {unseen}", {
      source,
      unseen,
    });
  } // A header that was saved meanwhile may be in the image or not: nobody knows whose key it has.
  else if (await keyNow() === key) {
    images.add(key, compiled);
    if (stores !== undefined) await storeEntry(stores, key, source, compiled);
  }
  return { ...compiled, cached: false };
}

/** What an entry holds; undefined where there is none, or it is damaged. */
async function readEntry(stores: CacheStores, key: string): Promise<CompiledSource | undefined> {
  const { kernels, place } = stores;
  const file = await attempt("not found again", () => kernels.read(key));
  if (file === undefined) return undefined;
  const reading = await decodeEntry(key, file);
  if ("compiled" in reading) return reading.compiled;
  counters.corrupt++;
  logger("launch").warn("the compiled kernel {key} is compiled again: {problem}", {
    key,
    problem: reading.problem,
  });
  if (place.mayWrite) await attempt("not removed", () => kernels.remove(key));
  return undefined;
}

async function storeEntry(
  { kernels, place }: CacheStores,
  key: string,
  source: string,
  compiled: CompiledSource,
): Promise<void> {
  const evicted = await writeTo(kernels, place, key, await encodeEntry(key, source, compiled));
  if (evicted === undefined) {
    counters.failed++;
  } else {
    counters.stored++;
    counters.evicted += evicted;
  }
}

/**
 * What happened in the compile cache since the process began, in this isolate.
 *
 * @example
 * ```ts
 * import { kernelCacheStatistics } from "@gridstride/cuda";
 *
 * const { hits, misses } = kernelCacheStatistics();
 * console.log(`${hits} of ${hits + misses} sources were compiled before`);
 * ```
 */
export function kernelCacheStatistics(): KernelCacheStatistics {
  return { ...counters };
}

/**
 * Forgets all compiled kernels, in memory and on the disk. Modules that are loaded stay. What is
 * being compiled is stored when it is done.
 *
 * @returns What was on the disk.
 * @throws {CacheDirectoryError} If there is no place for them, it cannot be read or written, or
 * others can write to it.
 * @throws {EnvironmentError} If a variable cannot be understood.
 */
export async function clearKernelCache(): Promise<KernelCacheTotal> {
  recent.clear();
  const total = await withStores("clear", async ({ identities, kernels }) => {
    await identities.clear();
    return await kernels.clear();
  });
  return total ?? { entries: 0, bytes: 0 };
}
