/**
 * The state of files: what tells whether they are still the same, without reading them.
 *
 * Size, times, and which file it is, much as `make` decides what is up to date.
 *
 * @module
 */

import { mayRead, mayReadAll } from "../compile/readable_files.ts";
import { isFileProblem } from "./file_problem.ts";

/** The state of some files. */
export interface FileStates {
  /** Of each file the same number of numbers: one of them is another when a file is. */
  readonly numbers: readonly number[];
  /** When the last change of one of them was, in milliseconds since 1970. */
  readonly changed: number;
}

/** Says that there is no file; sizes and times are never negative. */
const ABSENT = -1;

/**
 * The state of files; undefined where one has none that may be read without a prompt.
 *
 * @param files Absolute paths, in an order that is always the same.
 * @param places Paths that need not be there: a file or directory that appears is another state. A
 * directory is another one when a name in it is added or goes.
 */
export function fileStates(
  files: readonly string[],
  places: readonly string[] = [],
): FileStates | undefined {
  try {
    // There are dozens, and mostly everything is permitted.
    if (!mayReadAll()) requireReadable([...files, ...places]);
    // Numbers, as to make a text of them takes longer than to ask for them.
    const numbers: number[] = [];
    let changed = 0;
    const add = ({ dev, ino, size, mtime, ctime }: Deno.FileInfo) => {
      const modified = mtime === null ? ABSENT : mtime.getTime();
      const altered = ctime === null ? ABSENT : ctime.getTime();
      numbers.push(dev, ino ?? ABSENT, size, modified, altered);
      changed = Math.max(changed, modified, altered);
    };
    // Of the file that a link leads to: a compiler's name often is one.
    for (const path of files) add(Deno.statSync(path));
    for (const path of places) {
      const state = statOfPlace(path);
      if (state === undefined) numbers.push(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT);
      else add(state);
    }
    return { numbers, changed };
  } catch (error) {
    if (isFileProblem(error)) return undefined;
    throw error;
  }
}

/** Whether states are the same. */
export function areSameStates(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) {
    if (one[index] !== other[index]) return false;
  }
  return true;
}

function statOfPlace(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    const isAbsent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory;
    if (isAbsent) return undefined;
    throw error;
  }
}

/** Refuses files that Deno would ask somebody for. */
function requireReadable(files: readonly string[]): void {
  const refused = files.find((path) => !mayRead(path));
  if (refused !== undefined) throw new Deno.errors.NotCapable(refused);
}
