/**
 * Atomic writes: a file is written under a temporary name and renamed. And the lock of a directory.
 *
 * @module
 */

import { basename, dirname, extname, join } from "node:path";

/**
 * Writes a file under a temporary name, flushes it, and renames it if that succeeded: `path` has the
 * old file or the new one, whole, also after a loss of power.
 *
 * @param temporary The temporary name, on the same file system.
 */
export async function install<Result>(
  path: string,
  write: (temporary: string) => Promise<Result>,
  temporary: string = besides(path),
): Promise<Result> {
  try {
    const result = await write(temporary);
    using file = await Deno.open(temporary, { read: true, write: true });
    await file.sync();
    await Deno.rename(temporary, path);
    return result;
  } catch (error) {
    await removeIfPresent(temporary);
    throw error;
  }
}

function besides(path: string): string {
  const extension = extname(path);
  // A name has at most 255 bytes.
  const name = basename(path, extension).slice(0, 40);
  const unique = `${Deno.pid}.${crypto.randomUUID()}`;
  return join(dirname(path), `.${name}.${unique}${extension.slice(0, 20)}`);
}

export function installText(path: string, text: string): Promise<void> {
  return install(path, (temporary) => Deno.writeTextFile(temporary, text));
}

/** Writes all bytes. Unlike `FsFile.writable`, it does not lose the error of the last write. */
export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

export async function removeIfPresent(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Runs `body` while no other build holds the lock of this directory. The system drops the lock when
 * its process ends.
 */
export async function withBuildLock<Result>(
  directory: string,
  waiting: () => void,
  body: () => Promise<Result>,
): Promise<Result> {
  using file = await Deno.open(join(directory, ".build.lock"), { create: true, write: true });
  if (!await file.tryLock(true)) {
    waiting();
    await file.lock(true);
  }
  return await body();
}
