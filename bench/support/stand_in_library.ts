/**
 * A native library with empty hot functions, to measure the time of TypeScript.
 *
 * @module
 */

import { RESULT } from "../../src/ffi/command_block.ts";
import type { NativeSymbols } from "../../src/ffi/declarations.ts";
import { NativeLibrary } from "../../src/ffi/library.ts";
import { DeviceContext } from "../../src/hardware/device_context.ts";
import { device } from "./bench_device.ts";
import { nothing } from "./call_loop.ts";

const STOOD_IN: readonly (keyof NativeSymbols)[] = [
  "gs_kernel_launch",
  "gs_memory_allocate",
  "gs_memory_free",
  "gs_event_record",
  "gs_event_query",
  "gs_copy_device",
  "gs_copy_from_pinned",
];

/** What the stood-in functions leave in their first result: an address, and "done". */
const FIRST_RESULT = 2 ** 20;

/**
 * A copy of the measured device with empty launches, copies and allocations. The two share the command
 * block: the measured device must not allocate while the copy is used.
 */
export function standInContext(): DeviceContext {
  const { library, ordinal, info } = device.context;
  const nothings = Object.fromEntries(STOOD_IN.map((name) => [name, nothing]));
  const standIn = new NativeLibrary(library.path, { ...library.symbols, ...nothings });
  standIn.block[RESULT] = FIRST_RESULT;
  return new DeviceContext(standIn, ordinal, info);
}
