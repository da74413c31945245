/**
 * File access that never prompts: a file that may not be read counts as absent.
 *
 * @module
 */

import { CacheDirectoryError } from "../../ffi/cache_directory.ts";
import { mayRead } from "../../ffi/granted_environment.ts";

/**
 * Whether an error is the file system's (full, read-only, gone, not permitted) or about the owner of
 * the cache. Some errors of Deno have no class of their own but the system's code.
 */
export function isFileProblem(error: unknown): error is Error {
  if (error instanceof CacheDirectoryError) return true;
  return error instanceof Error &&
    (Object.values(Deno.errors).some((kind) => error instanceof kind) ||
      "code" in error && /^E[A-Z0-9]+$/.test(String(error.code)));
}

function isAbsence(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.IsADirectory || error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.FilesystemLoop;
}

/** The result of `look`; undefined where nothing can be read. */
function unlessAbsent<Found>(path: string, look: (path: string) => Found): Found | undefined {
  if (!mayRead(path)) return undefined;
  try {
    return look(path);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** The state of a file or directory; undefined where there is none. */
export function statOf(path: string): Deno.FileInfo | undefined {
  return unlessAbsent(path, Deno.statSync);
}

/** A path with size and time of its last change: another text when the file is another one. */
export function fileState(path: string): string {
  const found = statOf(path);
  return found === undefined ? path : `${path} ${found.size} ${found.mtime?.getTime()}`;
}

/** The path without links; as given where that cannot be found out. */
export function realPath(path: string): string {
  return unlessAbsent(path, (given) => Deno.realPathSync(given)) ?? path;
}

/** The sorted names in a directory; undefined where there is none. */
export function namesIn(directory: string): string[] | undefined {
  const list = (path: string) => [...Deno.readDirSync(path)].map(({ name }) => name).sort();
  return unlessAbsent(directory, list);
}

/** The text of a file; undefined where there is none, or it is no regular file. */
export function textOf(path: string): string | undefined {
  if (statOf(path)?.isFile !== true) return undefined;
  return unlessAbsent(path, Deno.readTextFileSync);
}
