/**
 * The built libraries themselves, for tests that look at the files.
 *
 * @module
 */

import type { LibraryKind } from "../../src/ffi/library.ts";
import { libraryCandidates } from "../../src/ffi/locate.ts";

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The library that would be opened; undefined when it is not built. */
export function builtLibrary(kind: LibraryKind): string | undefined {
  return libraryCandidates(kind).map(({ path }) => path).find(isFile);
}
