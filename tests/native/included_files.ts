/**
 * Which files of the repository a C++ source includes, directly and through others, so that a
 * program is compiled again when one of them changes and not when any other does.
 *
 * @module
 */

import { posix } from "node:path";

const INCLUDE = /^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)/gm;

/** Reads a file of the repository; undefined when there is none. */
export type FileReader = (path: string) => string | undefined;

/**
 * The files that compiling a source can read, itself among them, in order. What stands in a branch
 * that the preprocessor leaves out counts too; what is found nowhere belongs to the system.
 *
 * @param source Its path in the repository.
 * @param directories Where the compiler looks for headers (`-I`), in its order.
 */
export function includedFiles(
  source: string,
  directories: readonly string[],
  read: FileReader,
): string[] {
  const found = new Set<string>();
  const visit = (path: string, text: string) => {
    if (found.has(path)) return;
    found.add(path);
    for (const [, quoted, angled] of text.matchAll(INCLUDE)) {
      const folders = quoted === undefined ? directories : [posix.dirname(path), ...directories];
      const header = firstPresent(folders.map((at) => posix.join(at, quoted ?? angled!)), read);
      if (header !== undefined) visit(...header);
    }
  };
  const text = read(source);
  if (text === undefined) throw new Error(`Cannot read ${source}: there is no such file`);
  visit(source, text);
  return [...found].sort();
}

function firstPresent(
  paths: readonly string[],
  read: FileReader,
): [path: string, text: string] | undefined {
  for (const path of paths) {
    const text = read(path);
    if (text !== undefined) return [path, text];
  }
  return undefined;
}
