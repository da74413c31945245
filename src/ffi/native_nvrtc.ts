/**
 * NVRTC, which the native library opens.
 *
 * @module
 */

import { call, callAsync, callStatus, callText, check, statusError } from "./check.ts";
import type { NativeLibrary } from "./library.ts";

/** `GS_ERROR_UNSUPPORTED`. */
const UNSUPPORTED = -7;
/** `GS_ERROR_NOT_FOUND`. */
const NOT_FOUND = -9;

/** The statuses for mistakes in a program: `NVRTC_ERROR_COMPILATION` and two more. */
const REFUSALS: ReadonlyMap<number, "source" | "option" | "expression"> = new Map([
  [-1006, "source"],
  [-1005, "option"],
  [-1010, "expression"],
]);

/** The kinds of `gs_nvrtc_output`. */
const [LOG, PTX, CUBIN] = [0, 1, 2] as const;

/** Bytes for a path, or for a message of the loader. */
const TEXT_CAPACITY = 4096;
/** More than any NVRTC supports. */
const MAX_ARCHITECTURES = 256;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The file of NVRTC, or its name in the search of the system; or the loader's reason for a failure. */
export type NvrtcOpening =
  | { readonly path: string; readonly version: readonly [major: number, minor: number] }
  | { readonly problem: string };

/**
 * Opens NVRTC. Once it is open in any isolate of the process, the result is that library.
 *
 * @param path The absolute path of the library, or a name that the system searches.
 * @param builtins The absolute path of its library of builtins; empty if the system finds it.
 */
export function openNvrtc(library: NativeLibrary, path: string, builtins: string): NvrtcOpening {
  // NUL characters would cut off a path.
  if (`${path}${builtins}`.includes("\0")) return { problem: "its path has a NUL character" };
  const bytes = new Uint8Array(TEXT_CAPACITY);
  const names = [encoder.encode(`${builtins}\0`), encoder.encode(`${path}\0`)] as const;
  const action = `open ${path}`;
  const status = callStatus(library, "gs_nvrtc_open", action, ...names, bytes, TEXT_CAPACITY);
  const text = decoder.decode(bytes.subarray(0, bytes.indexOf(0)));
  if (status === NOT_FOUND || status === UNSUPPORTED) return { problem: text };
  check(library, status, action);
  return { path: text, version: [library.result[0]!, library.result[1]!] };
}

/** The architectures that NVRTC compiles for, ascending, such as 90 for `sm_90`. */
export function nvrtcArchitectures(library: NativeLibrary): number[] {
  const found = new Int32Array(MAX_ARCHITECTURES);
  const context = { action: "list the architectures of NVRTC" };
  const [count] = call(library, "gs_nvrtc_architectures", context, found, found.length);
  return [...found.subarray(0, count)].sort((one, other) => one - other);
}

export interface NvrtcProgram {
  readonly source: string;
  /** The name in diagnostics. */
  readonly name: string;
  readonly options: readonly string[];
  /** The headers for `#include`, by name. */
  readonly headers: ReadonlyMap<string, string>;
  /** Kernels and variables; the output has their names in the machine code. */
  readonly expressions: readonly string[];
}

export interface NvrtcOutput {
  /** Machine code; absent for a virtual architecture. */
  readonly cubin?: Uint8Array<ArrayBuffer>;
  /** PTX, without a NUL character at its end. */
  readonly ptx: Uint8Array<ArrayBuffer>;
  /** The names of the expressions in the machine code, in the order of the program. */
  readonly loweredNames: readonly string[];
  readonly log: string;
}

/** A compiled program, or the mistake in it. */
export type NvrtcResult = NvrtcOutput | {
  /** The part with the mistake: the source, an option, or the name of a kernel. */
  readonly refused: "source" | "option" | "expression";
  readonly log: string;
};

function createProgram(library: NativeLibrary, program: NvrtcProgram, action: string): number {
  const { source, name, options, headers, expressions } = program;
  const texts = [source, name, ...options, ...[...headers].flat(), ...expressions];
  const invalid = texts.find((text) => text.includes("\0"));
  if (invalid !== undefined) {
    const place = invalid === source ? "its source" : JSON.stringify(invalid.slice(0, 80));
    throw new TypeError(
      `Cannot compile ${name} as no text may have a NUL character: ${place} has one`,
    );
  }
  const bytes = encoder.encode(texts.map((text) => `${text}\0`).join(""));
  const counts = [options.length, headers.size, expressions.length] as const;
  return call(library, "gs_nvrtc_create", { action }, bytes, bytes.length, ...counts)[0]!;
}

function output(
  library: NativeLibrary,
  handle: number,
  kind: number,
  action: string,
): Uint8Array<ArrayBuffer> | undefined {
  const status = callStatus(library, "gs_nvrtc_output", action, handle, kind, null, 0);
  if (status === NOT_FOUND) return undefined;
  check(library, status, action);
  const bytes = new Uint8Array(library.result[0]!);
  call(library, "gs_nvrtc_output", { action }, handle, kind, bytes, bytes.length);
  return bytes;
}

/**
 * Compiles a program on another thread.
 *
 * @param signal Ends the compilation, where NVRTC is 12.9 or newer.
 */
export async function compileNvrtc(
  library: NativeLibrary,
  program: NvrtcProgram,
  signal?: AbortSignal,
): Promise<NvrtcResult> {
  const action = `compile ${program.name} with NVRTC`;
  const handle = createProgram(library, program, action);
  const cancel = () => call(library, "gs_nvrtc_cancel", { action }, handle);
  signal?.addEventListener("abort", cancel);
  try {
    const status = await callAsync(library, "gs_nvrtc_compile_async", action, handle);
    signal?.throwIfAborted();
    const log = decoder.decode(output(library, handle, LOG, action) ?? new Uint8Array());
    const refused = REFUSALS.get(status);
    if (refused !== undefined) return { refused, log };
    if (status !== 0) throw statusError(library, status, { action, call: "nvrtcCompileProgram" });
    const cubin = output(library, handle, CUBIN, action);
    return {
      ...(cubin === undefined ? {} : { cubin }),
      ptx: output(library, handle, PTX, action)!,
      loweredNames: program.expressions.map((_, index) => {
        const lowered = callText(library, "gs_nvrtc_lowered_name", action, handle, index);
        check(library, lowered.status, action);
        return lowered.text;
      }),
      log,
    };
  } finally {
    signal?.removeEventListener("abort", cancel);
    call(library, "gs_nvrtc_destroy", { action }, handle);
  }
}
