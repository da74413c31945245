/**
 * The compile cache: machine code by everything that it depends on, in memory and on the disk.
 *
 * @module
 */

import { logger } from "../../observe/logging.ts";
import type { CompiledImage, Compiler, CompileRequest } from "../compile/compiler.ts";
import { cacheKey } from "./cache_key.ts";
import { decodeEntry, encodeEntry } from "./cache_entry.ts";
import { cacheSetting } from "./cache_settings.ts";
import type { KernelCacheTotal } from "./cache_store.ts";
import {
  attempt,
  type CacheStores,
  cacheStores,
  keepsKernels,
  withStores,
  writeTo,
} from "./cache_stores.ts";
import { RecentImages } from "./recent_images.ts";

/** Machine code, and whether it was there already. */
export type CachedImage = CompiledImage & {
  /** Whether it was there, or on its way, when it was asked for. */
  readonly cached: boolean;
};

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
const underWay = new Map<string, Promise<CachedImage>>();

/**
 * Compiles, unless that was done before: by this process, or by another on this machine that left
 * it in the cache. Who asks for what is being compiled waits for it.
 *
 * The image is shared with whoever asks for the same, so it must not be written to.
 *
 * @throws {CompileError} If the source is wrong. That is not remembered.
 */
export async function cachedCompile(
  compiler: Compiler,
  request: CompileRequest,
): Promise<CachedImage> {
  if (!keepsKernels()) {
    counters.misses++;
    return { ...await compiler.compile(request), cached: false };
  }
  const key = await keyOf(compiler, request);
  const image = imagesHere().get(key);
  if (image !== undefined) return hit(image);
  const running = underWay.get(key);
  if (running !== undefined) return hit(await running);
  const made = readOrCompile(key, compiler, request);
  underWay.set(key, made);
  try {
    return await made;
  } finally {
    underWay.delete(key);
  }
}

async function keyOf(compiler: Compiler, request: CompileRequest): Promise<string> {
  return await cacheKey(await compiler.identity(request), request);
}

/** The images that were used last, as long as the cache has one place: another has its own. */
function imagesHere(): RecentImages {
  const setting = cacheSetting();
  const directory = setting.kind === "on" ? setting.place.directory : "";
  if (directory !== recentDirectory) recent.clear();
  recentDirectory = directory;
  return recent;
}

function hit(image: CompiledImage): CachedImage {
  counters.hits++;
  return { ...image, cached: true };
}

async function readOrCompile(
  key: string,
  compiler: Compiler,
  request: CompileRequest,
): Promise<CachedImage> {
  const stores = cacheStores();
  const images = imagesHere();
  const entry = stores === undefined ? undefined : await readEntry(stores, key);
  if (entry !== undefined) {
    images.add(key, entry);
    return hit(entry);
  }
  counters.misses++;
  const image = await compiler.compile(request);
  // A header that was saved meanwhile may be in the image or not: nobody knows whose key it has.
  if (await keyOf(compiler, request) === key) {
    images.add(key, image);
    if (stores !== undefined) await storeEntry(stores, key, request, image);
  }
  return { ...image, cached: false };
}

/** The machine code in an entry; undefined where there is none, or it is damaged. */
async function readEntry(stores: CacheStores, key: string): Promise<CompiledImage | undefined> {
  const { kernels, place } = stores;
  const file = await attempt("not found again", () => kernels.read(key));
  if (file === undefined) return undefined;
  const reading = await decodeEntry(key, file);
  if ("image" in reading) return reading.image;
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
  request: CompileRequest,
  image: CompiledImage,
): Promise<void> {
  const evicted = await writeTo(kernels, place, key, await encodeEntry(key, request, image));
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
