/**
 * Where the process, and so every kernel, prints.
 *
 * @module
 */

import { check } from "./check.ts";
import type { NativeLibrary } from "./library.ts";

/**
 * Sends to stderr what is written to stdout, until all that was returned is disposed.
 *
 * @throws {CudaError} If one of the two is closed.
 */
export function divertOutput(library: NativeLibrary): Disposable {
  check(library, library.symbols.gs_output_divert(1), "send stdout to stderr");
  let isDiverted = true;
  return {
    [Symbol.dispose]() {
      if (!isDiverted) return;
      isDiverted = false;
      check(library, library.symbols.gs_output_divert(0), "give stdout back");
    },
  };
}
