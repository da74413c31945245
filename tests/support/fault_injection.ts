/**
 * Makes CUDA calls fail, to test the failure paths on both libraries.
 *
 * @module
 */

import { callStatus, callText, check } from "../../src/ffi/check.ts";
import type { NativeLibrary } from "../../src/ffi/library.ts";

/** The names of the CUDA calls that a library wraps, in the order of their ids from 1. */
export function wrappedCalls(library: NativeLibrary): string[] {
  const action = "list the wrapped calls";
  check(library, callStatus(library, "gs_call_kinds", action), action);
  return Array.from({ length: library.result[0]! }, (_, index) => {
    const { status, text } = callText(library, "gs_call_name", action, index + 1);
    check(library, status, action);
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

/** The number of calls of a wrapped function, or with `"any"` of all, in this process. */
export function callTally(library: NativeLibrary, call: string): number {
  const action = `count calls of ${call}`;
  const status = callStatus(library, "gs_call_tally", action, callId(library, call));
  check(library, status, action);
  return library.result[0]!;
}

/** An armed fault; disposing of it disarms all. */
export interface ArmedFault extends Disposable {
  /** The call that fails. */
  readonly call: string;
}

/**
 * Makes the nth coming call of a function return a status without being made.
 *
 * @param call The name of a CUDA call, or `"any"`.
 * @param nth 1 for the next one.
 */
export function injectFault(
  library: NativeLibrary,
  call: string,
  nth: number,
  status: number,
): ArmedFault {
  const action = "inject a fault";
  const id = callId(library, call);
  check(library, callStatus(library, "gs_call_fail", action, id, nth, status), action);
  return {
    call,
    [Symbol.dispose]() {
      check(library, library.symbols.gs_call_restore(), "forget injected faults");
      // No device was really lost.
      library.lostDevices.clear();
    },
  };
}
