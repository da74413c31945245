/**
 * The names by which C++ headers look for other headers.
 *
 * @module
 */

import { normalize } from "node:path";

/** `#include "name"` and its relatives; conditions are not evaluated. */
const INCLUDE = /^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*["<]([^">\n]+)[">]/gm;

/** A question whether there is a header. */
const HAS_INCLUDE = /\b__has_include(?:_next)?[ \t]*\(?[ \t]*["<]([^">\n]+)[">]/g;

/** All names that a text includes or asks for, in whatever conditions. */
export function includedNames(text: string): string[] {
  return [INCLUDE, HAS_INCLUDE].flatMap((pattern) =>
    Array.from(text.matchAll(pattern), ([, name]) => name!)
  );
}

/** The names by which a file is found in directories. */
export function searchedNames(file: string, directories: readonly string[]): string[] {
  return directories.filter((directory) => file.startsWith(`${directory}/`))
    .map((directory) => normalize(file.slice(directory.length + 1)));
}

/** Whether a name is looked for below the directories that are searched, and nowhere else. */
export function isBelow(name: string): boolean {
  return !name.startsWith("/") && !name.split("/").includes("..");
}

/** The directories that a compiler searches, in what g++ and clang++ print for `-v`. */
export function searchedDirectories(log: string): string[] {
  const [, list = ""] = /^#include <\.\.\.> search starts here:\n((?: .*\n)*)/m.exec(log) ?? [];
  return list.split("\n").map((line) => line.trim())
    // What macOS calls frameworks is not looked up by the name of a header.
    .filter((line) => line !== "" && !line.endsWith(" (framework directory)"));
}
