/**
 * NVRTC, through the native library, which opens it.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { checkInt32 } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";
import { readText } from "./text.ts";

/** `GS_ERROR_NOT_FOUND`. */
const NOT_FOUND = -9;
/** `GS_ERROR_UNSUPPORTED`. */
const UNSUPPORTED = -7;
/** `NVRTC_ERROR_INVALID_OPTION` as a status. */
const INVALID_OPTION = -1005;
/** `NVRTC_ERROR_COMPILATION` as a status. */
const COMPILATION = -1006;
/** `NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID` as a status. */
const EXPRESSION_NOT_VALID = -1010;

const LOG = 0;
const PTX = 1;
const CUBIN = 2;

/** Room for a path, or for what the loader says. */
const TEXT_CAPACITY = 4096;
/** More architectures than any NVRTC compiles for. */
const MOST_ARCHITECTURES = 256;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An NVRTC that is open. */
export interface OpenedNvrtc {
  /** The file, or as the system's search names it. */
  readonly path: string;
  /** Its version: that of the CUDA toolkit it belongs to. */
  readonly version: readonly [major: number, minor: number];
}

/** NVRTC, or why it cannot be opened, in the loader's words. */
export type NvrtcOpening = OpenedNvrtc | { readonly problem: string };

/**
 * Opens NVRTC; once it is open, in any isolate of the process, this says which it is.
 *
 * @param path The library, absolute; or its name alone, for which the system is searched.
 * @param builtins The path of its library of builtins, absolute; empty if the system finds it.
 */
export function openNvrtc(library: NativeLibrary, path: string, builtins: string): NvrtcOpening {
  const text = new Uint8Array(TEXT_CAPACITY);
  const { symbols, result } = library;
  // A path that is cut off at a NUL character would be another one.
  if (`${path}${builtins}`.includes("\0")) return { problem: "its path has a NUL character" };
  const status = symbols.gs_nvrtc_open(
    encoder.encode(`${builtins}\0`),
    encoder.encode(`${path}\0`),
    text,
    TEXT_CAPACITY,
    result,
  );
  const said = decoder.decode(text.subarray(0, text.indexOf(0)));
  if (status === 0) return { path: said, version: [result[0]!, result[1]!] };
  if (status === NOT_FOUND || status === UNSUPPORTED) return { problem: said };
  throw statusError(library, status, { action: `open ${path}` });
}

/**
 * The architectures that NVRTC compiles for, ascending, such as 90 for `sm_90`.
 *
 * @throws {CudaError} Until {@linkcode openNvrtc} has opened one.
 */
export function nvrtcArchitectures(library: NativeLibrary): number[] {
  const found = new Int32Array(MOST_ARCHITECTURES);
  const status = library.symbols.gs_nvrtc_architectures(found, found.length, library.result);
  check(library, status, "ask NVRTC for its architectures");
  return [...found.subarray(0, library.result[0]!)].sort((one, other) => one - other);
}

/** What NVRTC compiles. */
export interface NvrtcProgram {
  /** The source. */
  readonly source: string;
  /** What its diagnostics call it. */
  readonly name: string;
  /** Its options. */
  readonly options: readonly string[];
  /** The texts of what the source may include, by name. */
  readonly headers: ReadonlyMap<string, string>;
  /** Kernels and variables whose names in the machine code are wanted. */
  readonly expressions: readonly string[];
}

/** What NVRTC has made of a program. */
export interface NvrtcOutput {
  /** Machine code; absent for a virtual architecture. */
  readonly cubin?: Uint8Array<ArrayBuffer>;
  /** NVIDIA's portable assembly, without a NUL character at its end. */
  readonly ptx: Uint8Array<ArrayBuffer>;
  /** The names of the expressions in the machine code, in the order of the program's. */
  readonly loweredNames: readonly string[];
  /** What NVRTC says. */
  readonly log: string;
}

/** What NVRTC has made of a program, or what it says against it. */
export type NvrtcResult = NvrtcOutput | {
  /** What is wrong: the source, an option, or the name of a kernel. */
  readonly refused: "source" | "option" | "expression";
  /** What NVRTC says. */
  readonly log: string;
};

/** The texts of a program as `gs_nvrtc_create` takes them. */
function programTexts(program: NvrtcProgram): Uint8Array<ArrayBuffer> {
  const texts = [
    program.source,
    program.name,
    ...program.options,
    ...[...program.headers].flat(),
    ...program.expressions,
  ];
  const foul = texts.find((text) => text.includes("\0"));
  if (foul !== undefined) {
    const place = foul === program.source ? "its source" : JSON.stringify(foul.slice(0, 80));
    throw new TypeError(
      `Cannot compile ${program.name} as no text may have a NUL character: ${place} has one`,
    );
  }
  return encoder.encode(texts.map((text) => `${text}\0`).join(""));
}

function createProgram(library: NativeLibrary, program: NvrtcProgram, action: string): number {
  const texts = programTexts(program);
  const status = library.symbols.gs_nvrtc_create(
    texts,
    texts.length,
    program.options.length,
    program.headers.size,
    program.expressions.length,
    library.result,
  );
  check(library, status, action);
  return library.result[0]!;
}

function output(
  library: NativeLibrary,
  handle: number,
  kind: number,
  action: string,
): Uint8Array<ArrayBuffer> | undefined {
  const { symbols, result } = library;
  const asked = symbols.gs_nvrtc_output(handle, kind, null, 0, result);
  if (asked === NOT_FOUND) return undefined;
  check(library, asked, action);
  const bytes = new Uint8Array(result[0]!);
  check(library, symbols.gs_nvrtc_output(handle, kind, bytes, bytes.length, result), action);
  return bytes;
}

function loweredName(
  library: NativeLibrary,
  handle: number,
  expression: number,
  action: string,
): string {
  const { status, text } = readText((bytes, capacity) =>
    library.symbols.gs_nvrtc_lowered_name(
      handle,
      checkInt32(expression, "expression", action),
      bytes,
      capacity,
    )
  );
  check(library, status, action);
  return text;
}

function refusal(status: number): "source" | "option" | "expression" | undefined {
  if (status === COMPILATION) return "source";
  if (status === INVALID_OPTION) return "option";
  return status === EXPRESSION_NOT_VALID ? "expression" : undefined;
}

/**
 * Compiles a program, on another thread.
 *
 * @throws {CudaError} If NVRTC fails for another reason than the program.
 * @throws {TypeError} If a text of the program has a NUL character.
 */
export async function compileNvrtc(
  library: NativeLibrary,
  program: NvrtcProgram,
): Promise<NvrtcResult> {
  const action = `compile ${program.name} with NVRTC`;
  const { symbols } = library;
  const handle = createProgram(library, program, action);
  try {
    const status = await symbols.gs_nvrtc_compile_async(handle);
    const log = decoder.decode(output(library, handle, LOG, action) ?? new Uint8Array());
    const refused = refusal(status);
    if (refused !== undefined) return { refused, log };
    if (status !== 0) {
      // Another thread made the call: what failed last on this one has nothing to do with it.
      throw statusError(library, status, { action, call: "nvrtcCompileProgram" });
    }
    const cubin = output(library, handle, CUBIN, action);
    return {
      ...(cubin === undefined ? {} : { cubin }),
      ptx: output(library, handle, PTX, action)!,
      loweredNames: program.expressions.map((_, index) =>
        loweredName(library, handle, index, action)
      ),
      log,
    };
  } finally {
    check(library, symbols.gs_nvrtc_destroy(handle), action);
  }
}
