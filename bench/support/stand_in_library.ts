/**
 * A native library whose hot functions do nothing: what is left of a call is what TypeScript takes.
 *
 * @module
 */

import { RESULT } from "../../src/ffi/command_block.ts";
import type { NativeLibrary, NativeSymbols } from "../../src/ffi/library.ts";
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

/** A device like the one that is measured, whose launches, copies and allocations do nothing. */
export function standInContext(): DeviceContext {
  const { library, ordinal, info } = device.context;
  const replaced = STOOD_IN.map((name) => [name, { value: nothing, enumerable: true }] as const);
  const symbols = Object.defineProperties({ ...library.symbols }, Object.fromEntries(replaced));
  const standIn: NativeLibrary = Object.create(Object.getPrototypeOf(library), {
    ...Object.getOwnPropertyDescriptors(library),
    symbols: { value: symbols, enumerable: true },
  });
  standIn.block[RESULT] = FIRST_RESULT;
  return new DeviceContext(standIn, ordinal, info);
}
