/**
 * Making CUDA calls fail on purpose, so that failure paths are tested on both libraries.
 *
 * @module
 */

import { check } from "./check.ts";
import { checkInt32, checkSize } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";
import { readText } from "./text.ts";

/** The names of the CUDA calls a library wraps, in the order of their ids from 1. */
export function wrappedCalls(library: NativeLibrary): string[] {
  check(library, library.symbols.gs_call_kinds(library.result), "count the wrapped calls");
  const kinds = library.result[0]!;
  return Array.from({ length: kinds }, (_, index) => {
    const { status, text } = readText((bytes, capacity) =>
      library.symbols.gs_call_name(index + 1, bytes, capacity)
    );
    check(library, status, "name a wrapped call");
    return text;
  });
}

function callId(library: NativeLibrary, call: string): number {
  if (call === "any") return 0;
  const names = wrappedCalls(library);
  const index = names.indexOf(call);
  if (index >= 0) return index + 1;
  throw new RangeError(
    `Cannot inject a fault as call must be "any" or one of ${names.join(", ")}: it is "${call}"`,
  );
}

/** How often a wrapped call, or with `"any"` all of them, was made in this process. */
export function callTally(library: NativeLibrary, call: string): number {
  const id = callId(library, call);
  check(library, library.symbols.gs_call_tally(id, library.result), `count calls of ${call}`);
  return library.result[0]!;
}

/** An armed fault; disposing it disarms all. */
export interface ArmedFault extends Disposable {
  /** The call that is going to fail. */
  readonly call: string;
}

/**
 * Makes the nth coming call of a kind return a status without being made.
 *
 * @param call The name of a CUDA call, or `"any"`.
 * @param nth 1 for the next one.
 * @param status What it returns.
 */
export function injectFault(
  library: NativeLibrary,
  call: string,
  nth: number,
  status: number,
): ArmedFault {
  const action = "inject a fault";
  check(
    library,
    library.symbols.gs_call_fail(
      callId(library, call),
      checkSize(nth, "nth", action),
      checkInt32(status, "status", action),
    ),
    action,
  );
  return {
    call,
    [Symbol.dispose]() {
      check(library, library.symbols.gs_call_restore(), "forget injected faults");
      library.lostDevices.clear(); // what was injected has happened to no device
    },
  };
}
