/**
 * Files by key in a directory that several processes use at once.
 *
 * A file is written under a unique name in `temporary/`, flushed, and renamed to
 * `entries/<2 digits>/<the other digits>`: a reader sees the whole file or none. Files are never
 * modified, so the modification time records the last use. The access time would change with every
 * backup, and never where the file system is mounted without it.
 *
 * @module
 */

import { join } from "node:path";
import { install, writeAll } from "../../ffi/build/atomic_install.ts";
import {
  CacheDirectoryError,
  makeCacheDirectory,
  verifyPermittedFile,
} from "../../ffi/cache_directory.ts";
import { isFileProblem } from "../compile/files.ts";
import type { CachePlace } from "./cache_settings.ts";

interface StoredFile {
  readonly key: string;
  readonly path: string;
  readonly bytes: number;
  /** The time of its last read or write. */
  readonly lastUsed: Date;
}

/** The maximum size of one file in bytes: it is read as a whole. */
const MAX_FILE_BYTES = 2 ** 30;

/** The age at which a temporary file belongs to a killed process, in milliseconds. */
const STALE_AFTER = 60 * 60 * 1000;

/**
 * The share of the store that a process may fill before it counts the files of other processes
 * again, and that it frees in excess when it makes room.
 */
const SLACK = 1 / 16;

/**
 * A store of files by key; it creates nothing before the first write. All methods throw a
 * {@linkcode CacheDirectoryError} if others can write to the store, errors of the file system (see
 * {@linkcode isFileProblem}), and a `RangeError` for a file that is too large.
 */
export class CacheStore {
  readonly #place: CachePlace;
  readonly #entries: string;
  readonly #temporary: string;
  /** The bytes that may be written before the files are counted. */
  #room = 0;
  /** The write under way: one at a time, because each reduces the room. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(place: CachePlace) {
    this.#place = place;
    this.#entries = `${place.directory}/entries`;
    this.#temporary = `${place.directory}/temporary`;
  }

  /** Reads the file of a key and marks it as used; undefined where there is none. */
  async read(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const path = this.#pathOf(key);
    return await unlessAbsent(async () => {
      const { isFile, size } = verifyPermittedFile(this.#place.root, path);
      // Opening a pipe would wait for a writer.
      if (!isFile) return undefined;
      const limit = Math.min(this.#place.maxBytes, MAX_FILE_BYTES);
      if (size > limit) {
        throw new RangeError(
          `the file ${path} must have at most ${limit} bytes: it has ${size}`,
        );
      }
      const bytes = await Deno.readFile(path);
      const now = new Date();
      if (this.#place.mayWrite) {
        await Deno.utime(path, now, now).catch((error) => {
          // Removed meanwhile, or on a read-only disk: the content is valid all the same.
          if (!isFileProblem(error)) throw error;
        });
      }
      return bytes;
    });
  }

  /**
   * Stores a file in place of the one that has the key, after making room.
   *
   * @returns The number of evicted files.
   * @throws {RangeError} If the file is larger than the store.
   */
  async write(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    const { root, mayWrite } = this.#place;
    const maxBytes = Math.min(this.#place.maxBytes, MAX_FILE_BYTES);
    if (!mayWrite) {
      throw new CacheDirectoryError(
        `a permission is not granted: run again with --allow-write=${root}`,
      );
    }
    if (bytes.length > maxBytes) {
      throw new RangeError(
        `Cannot keep ${bytes.length} bytes as a file may have ${maxBytes}`,
      );
    }
    const done = this.#writing.then(() => this.#write(key, bytes));
    this.#writing = done.catch(() => {});
    return await done;
  }

  /** Removes the file of a key, where that is permitted; returns whether there was one. */
  async remove(key: string): Promise<boolean> {
    return this.#place.mayWrite && await removeIfPresent(this.#pathOf(key));
  }

  /** Lists the files, the most recently used first. */
  async list(): Promise<StoredFile[]> {
    await unlessAbsent(() => verifyPermittedFile(this.#place.root, this.#entries));
    const files: StoredFile[] = [];
    for (const folder of await namesIn(this.#entries, /^[0-9a-f]{2}$/)) {
      for (const name of await namesIn(join(this.#entries, folder), /^[0-9a-f]{6,62}$/)) {
        const file = await storedFile(`${folder}${name}`, join(this.#entries, folder, name));
        if (file !== undefined) files.push(file);
      }
    }
    return files.sort((one, other) => other.lastUsed.getTime() - one.lastUsed.getTime());
  }

  /** Removes all files, and counts them. Reads under way succeed, and writes are stored. */
  async clear(): Promise<{ readonly entries: number; readonly bytes: number }> {
    const files = await this.list();
    await this.#sweep();
    let [entries, total] = [0, 0];
    for (const { path, bytes } of files) {
      if (!await removeIfPresent(path)) continue;
      entries++;
      total += bytes;
    }
    return { entries, bytes: total };
  }

  async #write(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    const path = this.#pathOf(key);
    makeCacheDirectory(this.#place.root, this.#temporary);
    makeCacheDirectory(this.#place.root, join(path, ".."));
    const evicted = await this.#makeRoom(bytes.length);
    const temporary = join(this.#temporary, `${Deno.pid}.${crypto.randomUUID()}`);
    await install(path, async () => {
      using file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
      await writeAll(file, bytes);
    }, temporary);
    this.#room -= bytes.length;
    return evicted;
  }

  #pathOf(key: string): string {
    return `${this.#entries}/${key.slice(0, 2)}/${key.slice(2)}`;
  }

  /** Evicts the least recently used files where there is no room for so many bytes. */
  async #makeRoom(bytes: number): Promise<number> {
    if (bytes <= this.#room) return 0;
    await this.#sweep();
    const { maxBytes } = this.#place;
    const slack = Math.floor(maxBytes * SLACK);
    const files = await this.list();
    let total = files.reduce((sum, file) => sum + file.bytes, 0);
    let evicted = 0;
    // A little more than needed: the next writes need not make room again.
    const limit = Math.max(maxBytes - slack, bytes);
    const isFull = total + bytes > maxBytes;
    while (isFull && total + bytes > limit && files.length > 0) {
      const oldest = files.pop()!;
      if (await removeIfPresent(oldest.path)) evicted++;
      total -= oldest.bytes;
    }
    this.#room = Math.min(maxBytes - total, bytes + slack);
    return evicted;
  }

  /** Removes the temporary files of killed processes. */
  async #sweep(): Promise<void> {
    const limit = Date.now() - STALE_AFTER;
    for (const name of await namesIn(this.#temporary, /./)) {
      const path = join(this.#temporary, name);
      const file = await storedFile(name, path);
      if (file !== undefined && file.lastUsed.getTime() < limit) await removeIfPresent(path);
    }
  }
}

/** The result of an operation; undefined where its file does not exist. */
async function unlessAbsent<Result>(
  operation: () => Result | Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Removes a file; returns whether there was one. */
async function removeIfPresent(path: string): Promise<boolean> {
  return await unlessAbsent(() => Deno.remove(path).then(() => true)) ?? false;
}

/** The names in a directory that match; none where there is no such directory. */
async function namesIn(directory: string, pattern: RegExp): Promise<string[]> {
  const entries = await unlessAbsent(() => Array.fromAsync(Deno.readDir(directory))) ?? [];
  return entries.map(({ name }) => name).filter((name) => pattern.test(name));
}

/** A file of the store; undefined where it was removed meanwhile, or is no file. */
async function storedFile(key: string, path: string): Promise<StoredFile | undefined> {
  const { isFile, size, mtime } = await unlessAbsent(() => Deno.lstat(path)) ?? {};
  return isFile ? { key, path, bytes: size!, lastUsed: mtime ?? new Date(0) } : undefined;
}
