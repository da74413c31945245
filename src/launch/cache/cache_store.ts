/**
 * Files by key in a directory that several processes use at once.
 *
 * A file is written under a name of its own in `temporary/`, flushed, and renamed to its place
 * `entries/<2 digits>/<all others>`: a reader sees all of it or nothing. A file's modification time
 * is when it was last used, as it is never modified; the time of access would change with every
 * backup, and not at all where the file system is mounted without it.
 *
 * @module
 */

import { join } from "node:path";
import { makeCacheDirectory, verifyPermittedFile } from "../../ffi/cache_directory.ts";
import { isFileProblem, removeIfPresent } from "./file_problem.ts";

/** Where a store is, and how much it may hold. */
export interface StoreOptions {
  /** The directory whose owner is checked, and that of everything below it. */
  readonly root: string;
  /** The store's own directory: the root or below it. */
  readonly directory: string;
  /** Most bytes that its files have together. */
  readonly maxBytes: number;
  /** Whether the process has the permission to write there: without it Deno would ask for it. */
  readonly mayWrite: boolean;
}

/** A file of the store. */
export interface StoredFile {
  /** Its key. */
  readonly key: string;
  /** Where it is. */
  readonly path: string;
  /** Its size. */
  readonly bytes: number;
  /** When it was last read or written. */
  readonly lastUsed: Date;
}

/** How many entries, and their bytes together. */
export interface KernelCacheTotal {
  /** How many. */
  readonly entries: number;
  /** Their bytes. */
  readonly bytes: number;
}

/** After this time nobody is still writing a temporary file, in milliseconds. */
const STALE_AFTER = 60 * 60 * 1000;

/**
 * What a process may write before it looks again at what the others have written, as a share of the
 * store; and what is freed in excess when room is made.
 */
const SLACK = 1 / 16;

/**
 * The size up to which a file takes less time to read than to hand to another thread, and which
 * keeps the event loop for some hundred microseconds where the disk must be asked, in bytes.
 */
const READ_AT_ONCE = 2 ** 18;

const FOLDER = /^[0-9a-f]{2}$/;
const FILE = /^[0-9a-f]{6,62}$/;

/** A store of files by key. */
export class CacheStore {
  readonly #options: StoreOptions;
  readonly #entries: string;
  readonly #temporary: string;
  /** What may be written before the files are counted; nothing until they were once. */
  #room = 0;
  /** The write under way: one at a time, as each counts on the room that the one before left. */
  #writing: Promise<unknown> = Promise.resolve();

  /** The store there; nothing is created before something is written. */
  constructor(options: StoreOptions) {
    this.#options = options;
    this.#entries = `${options.directory}/entries`;
    this.#temporary = `${options.directory}/temporary`;
  }

  /**
   * The file of a key, which is then the one that was used last; undefined where there is none.
   *
   * @throws {CacheDirectoryError} If others can write to it.
   * @throws {Error} If it cannot be read; see {@linkcode isFileProblem}.
   */
  async read(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const path = this.#pathOf(key);
    try {
      const size = this.#sizeOf(path);
      if (size === undefined) return undefined;
      const bytes = size <= READ_AT_ONCE ? Deno.readFileSync(path) : await Deno.readFile(path);
      this.#markUsed(path);
      return bytes;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /**
   * The same of a file of a few KiB, at once, and not noted as a use.
   *
   * @throws {CacheDirectoryError} If others can write to it.
   * @throws {Error} If it cannot be read; see {@linkcode isFileProblem}.
   */
  readSmall(key: string): Uint8Array<ArrayBuffer> | undefined {
    const path = this.#pathOf(key);
    try {
      return this.#sizeOf(path) === undefined ? undefined : Deno.readFileSync(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /**
   * Stores a file, in the place of the one that had its key, and makes room for it.
   *
   * @returns How many other files had to go.
   * @throws {RangeError} If it is larger than the store.
   * @throws {CacheDirectoryError} If others can write to the store.
   * @throws {Error} If it cannot be written; see {@linkcode isFileProblem}.
   */
  async write(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    const { maxBytes } = this.#options;
    if (bytes.length > maxBytes) {
      throw new RangeError(
        `Cannot keep ${bytes.length} bytes as all files together may have ${maxBytes}`,
      );
    }
    const done = this.#writing.then(() => this.#write(key, bytes));
    this.#writing = done.catch(() => {});
    return await done;
  }

  /** Removes the file of a key, if there is one. */
  remove(key: string): Promise<boolean> {
    return removeIfPresent(this.#pathOf(key));
  }

  /**
   * The files there are, the one that was used last first.
   *
   * @throws {CacheDirectoryError} If others can write to the store.
   * @throws {Error} If it cannot be read; see {@linkcode isFileProblem}.
   */
  async list(): Promise<StoredFile[]> {
    const files: StoredFile[] = [];
    if (!this.#exists()) return files;
    for (const folder of await namesIn(this.#entries, FOLDER)) {
      for (const name of await namesIn(join(this.#entries, folder), FILE)) {
        const file = await storedFile(`${folder}${name}`, join(this.#entries, folder, name));
        if (file !== undefined) files.push(file);
      }
    }
    return files.sort((one, other) => other.lastUsed.getTime() - one.lastUsed.getTime());
  }

  /**
   * Removes all files. Who is reading one goes on; who is writing one stores it.
   *
   * @throws {CacheDirectoryError} If others can write to the store.
   * @throws {Error} If a file cannot be removed; see {@linkcode isFileProblem}.
   */
  async clear(): Promise<KernelCacheTotal> {
    const files = await this.list();
    await this.#sweep();
    let total: KernelCacheTotal = { entries: 0, bytes: 0 };
    for (const { path, bytes } of files) {
      if (!await removeIfPresent(path)) continue;
      total = { entries: total.entries + 1, bytes: total.bytes + bytes };
    }
    return total;
  }

  async #write(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    const { root } = this.#options;
    const path = this.#pathOf(key);
    makeCacheDirectory(root, this.#temporary);
    makeCacheDirectory(root, join(path, ".."));
    const evicted = await this.#makeRoom(bytes.length);
    await this.#install(path, bytes);
    this.#room -= bytes.length;
    return evicted;
  }

  /** Whether the store has been written to, and is still ours. */
  #exists(): boolean {
    try {
      verifyPermittedFile(this.#options.root, this.#entries);
      return true;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  /** The size of a file that is still ours; undefined where it is none. */
  #sizeOf(path: string): number | undefined {
    const { isFile, size } = verifyPermittedFile(this.#options.root, path);
    // Opening a pipe would wait for somebody who writes to it.
    return isFile ? size : undefined;
  }

  /** Makes a file the one that was used last, where that can be noted. */
  #markUsed(path: string): void {
    if (!this.#options.mayWrite) return;
    const now = new Date();
    try {
      Deno.utimeSync(path, now, now);
    } catch (error) {
      // Removed meanwhile, or on a disk that is read only: what was read is good all the same.
      if (!isFileProblem(error)) throw error;
    }
  }

  #pathOf(key: string): string {
    return `${this.#entries}/${key.slice(0, 2)}/${key.slice(2)}`;
  }

  async #install(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const temporary = join(this.#temporary, `${Deno.pid}.${crypto.randomUUID()}`);
    try {
      await writeThrough(temporary, bytes);
      await Deno.rename(temporary, path);
    } catch (error) {
      await removeIfPresent(temporary);
      throw error;
    }
  }

  /** Lets the files that were not used for longest go, if there is no room for so many bytes. */
  async #makeRoom(bytes: number): Promise<number> {
    if (bytes <= this.#room) return 0;
    await this.#sweep();
    const { maxBytes } = this.#options;
    const slack = Math.floor(maxBytes * SLACK);
    const files = await this.list();
    let total = files.reduce((sum, file) => sum + file.bytes, 0);
    let evicted = 0;
    // A little more than is needed, so that the next files need not make room again.
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

  /** Removes what processes left behind that ended while they wrote. */
  async #sweep(): Promise<void> {
    const limit = Date.now() - STALE_AFTER;
    for (const name of await namesIn(this.#temporary, /./)) {
      const path = join(this.#temporary, name);
      const file = await storedFile(name, path);
      if (file !== undefined && file.lastUsed.getTime() < limit) await removeIfPresent(path);
    }
  }
}

/** Writes a file that was not there before, to the disk and not only to the system's memory. */
async function writeThrough(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  let written = 0;
  while (written < bytes.length) written += await file.write(bytes.subarray(written));
  await file.sync();
}

/** The names in a directory that match; none where there is no such directory. */
async function namesIn(directory: string, pattern: RegExp): Promise<string[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(directory));
    return entries.map(({ name }) => name).filter((name) => pattern.test(name));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** A file of the store; undefined where it is gone or none. */
async function storedFile(key: string, path: string): Promise<StoredFile | undefined> {
  try {
    const { isFile, size, mtime } = await Deno.lstat(path);
    return isFile ? { key, path, bytes: size, lastUsed: mtime ?? new Date(0) } : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
