/**
 * The state of files: what tells whether they are still the same, without reading them.
 *
 * Size, times, and which file it is, much as `make` decides what is up to date.
 *
 * @module
 */

import {
  ABSENT,
  fileStates as statesOf,
  STATE_CHANGED,
  STATE_MODIFIED,
  STATE_SLOTS,
} from "../../ffi/file_states.ts";
import { isFileProblem } from "./file_problem.ts";

/**
 * The state of files, of each the same number of numbers: one of them is another when a file is.
 * Undefined where one has none that may be read without a prompt.
 *
 * @param files Absolute paths, in an order that is always the same.
 * @param places Paths that need not be there: a file or directory that appears is another state. A
 * directory is another one when a name in it is added or goes.
 */
export function fileStates(
  files: readonly string[],
  places: readonly string[] = [],
): Float64Array<ArrayBuffer> | undefined {
  const paths = [...files, ...places];
  try {
    // Of the file that a link leads to: a compiler's name often is one.
    const states = statesOf(paths, { followsLinks: true });
    for (let index = 0; index < files.length; index++) {
      if (states[index * STATE_SLOTS] === ABSENT) return undefined;
    }
    return states;
  } catch (error) {
    if (isFileProblem(error)) return undefined;
    throw error;
  }
}

/** The states as a text, which is the same only if they are: short to compare, and to read. */
export function stateText(states: Float64Array<ArrayBuffer>): string {
  return new Uint8Array(states.buffer).toBase64();
}

/** When the last change of one of the files was, in milliseconds since 1970. */
export function lastChange(states: Float64Array): number {
  let last = 0;
  for (let first = 0; first < states.length; first += STATE_SLOTS) {
    last = Math.max(last, states[first + STATE_MODIFIED]!, states[first + STATE_CHANGED]!);
  }
  return last;
}
