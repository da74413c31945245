/**
 * Atomic writes: a file is written under a temporary name and renamed. And the lock of a directory.
 *
 * @module
 */

import { basename, dirname, extname, join } from "node:path";

/**
 * Writes a file under a temporary name and renames it if that succeeded; a reader of `path` sees the
 * old file or the new one, whole.
 */
export async function install<Result>(
  path: string,
  write: (temporary: string) => Promise<Result>,
): Promise<Result> {
  const extension = extname(path);
  const name = `.${basename(path, extension)}.${Deno.pid}.${crypto.randomUUID()}${extension}`;
  const temporary = join(dirname(path), name);
  try {
    const result = await write(temporary);
    await Deno.rename(temporary, path);
    return result;
  } catch (error) {
    await removeIfPresent(temporary);
    throw error;
  }
}

export function installText(path: string, text: string): Promise<void> {
  return install(path, (temporary) => Deno.writeTextFile(temporary, text));
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
