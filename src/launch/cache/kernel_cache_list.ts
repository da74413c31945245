/**
 * What is in the compile cache.
 *
 * @module
 */

import { type EntryTitle, entryTitle, TITLE_HEAD, titleBytes } from "./cache_entry.ts";
import type { StoredFile } from "./cache_store.ts";
import { withStores } from "./cache_stores.ts";

/** A source's machine code in the cache. */
export interface KernelCacheEntry {
  /** Its key: 64 hexadecimal digits. */
  readonly key: string;
  /** What diagnostics call the source; empty where the entry is damaged. */
  readonly source: string;
  /** The kernels in it, as C++ names them; none where the entry is damaged. */
  readonly kernels: readonly string[];
  /** Its size on the disk. */
  readonly bytes: number;
  /** When it was last compiled or found. */
  readonly lastUsed: Date;
}

/** Most bytes of a description that are read for a listing. */
const LONGEST_TITLE = 2 ** 20;

/**
 * What is in the compile cache on the disk, the one that was used last first. Empty where nothing
 * is kept.
 *
 * @throws {CacheDirectoryError} If there is no place for them, it cannot be read, or others can
 * write to it.
 * @throws {EnvironmentError} If a variable cannot be understood.
 */
export async function listKernelCache(): Promise<KernelCacheEntry[]> {
  return await withStores("list", async ({ kernels }) => {
    const entries: KernelCacheEntry[] = [];
    for (const file of await kernels.list()) {
      const entry = await describe(file);
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  }) ?? [];
}

/** An entry's line; undefined where it was removed meanwhile. */
async function describe(
  { key, path, bytes, lastUsed }: StoredFile,
): Promise<KernelCacheEntry | undefined> {
  try {
    const { source, kernels } = await titleOf(path) ?? { source: "", kernels: [] };
    return { key, source, kernels, bytes, lastUsed };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** What an entry says of itself, read without its image. */
async function titleOf(path: string): Promise<EntryTitle | undefined> {
  using file = await Deno.open(path);
  const head = await firstBytes(file, TITLE_HEAD);
  const length = titleBytes(head);
  if (length === 0 || length > LONGEST_TITLE) return undefined;
  await file.seek(0, Deno.SeekMode.Start);
  return entryTitle(await firstBytes(file, length));
}

/** The first bytes of a file, fewer where it has no more. */
async function firstBytes(file: Deno.FsFile, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const read = await file.read(bytes.subarray(filled));
    if (read === null) break;
    filled += read;
  }
  return bytes.subarray(0, filled);
}
