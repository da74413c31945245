/**
 * Which of the files that a compiler has read nobody could have known of before: an `#include` whose
 * name a macro makes, or that leads out of all directories. What is compiled from such a file must
 * not be kept, as its key says nothing of it.
 *
 * @module
 */

import { resolve } from "node:path";

/** What is known of the files that a compiler may read. */
export interface KnownFiles {
  /** The directory of the compilation, which relative names start from: all in it is the request's. */
  readonly directory: string;
  /** Files whose texts are part of the compiler's identity, absolute. */
  readonly files: ReadonlySet<string>;
  /** Directories of the program's own, absolute: of a file in one of these it must be known. */
  readonly searched: readonly string[];
  /** Directories that belong to the compiler, absolute. */
  readonly trusted: readonly string[];
}

/** Those of the files that a compiler has read that nobody knew of, absolute. */
export function unseenFiles(
  dependencies: readonly string[],
  { directory, files, searched, trusted }: KnownFiles,
): string[] {
  const unseen = dependencies.map((name) => resolve(directory, name)).filter((path) => {
    if (isWithin(path, directory) || files.has(path)) return false;
    return searched.some((folder) => isWithin(path, folder)) ||
      !trusted.some((folder) => isWithin(path, folder));
  });
  return [...new Set(unseen)];
}

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
