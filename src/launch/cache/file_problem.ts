/**
 * What can go wrong with files through no fault of the program.
 *
 * @module
 */

import { CacheDirectoryError } from "../../ffi/cache_directory.ts";

/**
 * Whether an error is the file system's (full, read-only, gone, not permitted) or about whom it
 * belongs to. Of Deno's errors these are the classes in `Deno.errors`, and for what has no class of
 * its own an error with the system's code.
 */
export function isFileProblem(error: unknown): error is Error {
  if (error instanceof CacheDirectoryError) return true;
  return error instanceof Error &&
    (Object.values(Deno.errors).some((kind) => error instanceof kind) || "code" in error);
}

/** Removes a file; returns whether there was one. */
export async function removeIfPresent(path: string): Promise<boolean> {
  try {
    await Deno.remove(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
