/**
 * Opening a native library: the handshake, and one open library per isolate and path.
 *
 * @module
 */

import { type BuildRecord, type LibraryKind, parseBuildRecord } from "./build_record.ts";
import { BLOCK_SLOTS, isolateCommandBlock } from "./command_block.ts";
import { SYMBOLS_CORE } from "./symbols_core.ts";
import { SYMBOLS_EXECUTION } from "./symbols_execution.ts";
import { SYMBOLS_FILE } from "./symbols_file.ts";
import { SYMBOLS_GRAPH } from "./symbols_graph.ts";
import { SYMBOLS_MEMORY } from "./symbols_memory.ts";
import { SYMBOLS_MODULE } from "./symbols_module.ts";
import { SYMBOLS_NVRTC } from "./symbols_nvrtc.ts";
import { SYMBOLS_OUTPUT } from "./symbols_output.ts";
import { SYMBOLS_VIRTUAL } from "./symbols_virtual.ts";
import { readText } from "./text.ts";

/** The version of `csrc/gridstride.h` these tables were written for. */
export const ABI_VERSION = 3;

/** All symbols of a native library. */
export const SYMBOLS = {
  ...SYMBOLS_CORE,
  ...SYMBOLS_MEMORY,
  ...SYMBOLS_VIRTUAL,
  ...SYMBOLS_EXECUTION,
  ...SYMBOLS_MODULE,
  ...SYMBOLS_GRAPH,
  ...SYMBOLS_FILE,
  ...SYMBOLS_NVRTC,
  ...SYMBOLS_OUTPUT,
} as const;

/** The callable symbols of an open library. */
export type NativeSymbols = Deno.StaticForeignLibraryInterface<typeof SYMBOLS>;

/** Why a file is not a usable native library. */
export class LibraryOpenError extends Error {
  /** The class's name, for what prints errors. */
  override readonly name: string = "LibraryOpenError";
  /** The file. */
  readonly path: string;
  /** What kind of failure it is. */
  readonly reason: "missing" | "permission" | "unloadable" | "abi" | "handshake";

  /** Makes the error; `message` is complete. */
  constructor(path: string, reason: LibraryOpenError["reason"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.path = path;
    this.reason = reason;
  }
}

/**
 * An open native library and this isolate's command block in it. It is never closed: calls after
 * a close would crash, and the process gives everything back at its end.
 */
export class NativeLibrary {
  /** The file it was opened from. */
  readonly path: string;
  /** Which of the two libraries it is. */
  readonly kind: LibraryKind;
  /** How it was built. */
  readonly build: BuildRecord;
  /**
   * The exported functions.
   *
   * @internal They trust their callers: use the functions of `native_*.ts`, which check.
   */
  readonly symbols: NativeSymbols;
  /**
   * The command block; see `command_block.ts` for its slots.
   *
   * @internal
   */
  readonly block: Float64Array<SharedArrayBuffer>;
  /**
   * Where calls by value write their results; overwritten by the next one.
   *
   * @internal
   */
  readonly result: Float64Array<ArrayBuffer> = new Float64Array(16);
  /**
   * Ordinals of the devices whose loss an error has told of already; see `give_back.ts`.
   *
   * @internal
   */
  readonly lostDevices: Set<number> = new Set();
  /**
   * How often a device was found lost, a stream was closed, a module was disposed, a capture of a
   * stream began or ended, or somebody began or ceased to listen to a device: what hot paths watch, for
   * which asking would take too long.
   *
   * @internal
   */
  interruptions = 0;

  /**
   * What `console.log` shows of it: not its functions.
   *
   * @internal
   */
  [Symbol.for("Deno.customInspect")](): string {
    return `NativeLibrary { ${this.path} }`;
  }

  /**
   * Registers a command block with a library whose version has been checked.
   *
   * @internal
   */
  constructor(path: string, symbols: NativeSymbols) {
    const { status, text } = readText((bytes, capacity) =>
      symbols.gs_abi_describe(bytes, capacity)
    );
    if (status !== 0) {
      throw new LibraryOpenError(
        path,
        "handshake",
        `Cannot open ${path} as it does not describe its build: gs_abi_describe returned ${status}`,
      );
    }
    this.build = parseBuildRecord(text);
    this.path = path;
    this.kind = this.build.kind;
    this.symbols = symbols;
    this.block = isolateCommandBlock();
    const registered = symbols.gs_block_register(
      this.block,
      BLOCK_SLOTS * Float64Array.BYTES_PER_ELEMENT,
    );
    if (registered !== 0) {
      throw new LibraryOpenError(
        path,
        "handshake",
        `Cannot open ${path} as it refuses the command block: gs_block_register returned ${registered}`,
      );
    }
  }
}

const opened = new Map<string, NativeLibrary>();

/**
 * Opens a native library, or returns the one this isolate has already opened from that path.
 * Never prompts: a permission that is not granted is an error that names the flag.
 *
 * @param path The library file, absolute.
 * @throws {LibraryOpenError} If the file is missing, not permitted, not loadable here (another
 * architecture, say), or of another ABI version.
 */
export function openNativeLibrary(path: string): NativeLibrary {
  const known = opened.get(path);
  if (known !== undefined) return known;
  requirePermission(path);
  checkVersion(path);
  const library = new NativeLibrary(path, dlopen(path, SYMBOLS).symbols);
  opened.set(path, library);
  return library;
}

function requirePermission(path: string): void {
  const { state } = Deno.permissions.querySync({ name: "ffi", path });
  if (state === "granted") return;
  throw new LibraryOpenError(
    path,
    "permission",
    `Cannot open ${path} as permission for FFI is not granted: run again with --allow-ffi=${path}`,
  );
}

function checkVersion(path: string): void {
  const { symbols } = dlopen(path, { gs_abi_version: SYMBOLS_CORE.gs_abi_version });
  const version = symbols.gs_abi_version();
  if (version === ABI_VERSION) return;
  throw new LibraryOpenError(
    path,
    "abi",
    `Cannot use ${path} as its ABI version must be ${ABI_VERSION}: it is ${version}. ` +
      `Rebuild it with \`deno run -A jsr:@gridstride/cuda/build\`, or \`deno task build\` in a checkout`,
  );
}

function dlopen<Symbols extends Deno.ForeignLibraryInterface>(
  path: string,
  symbols: Symbols,
): Deno.DynamicLibrary<Symbols> {
  try {
    return Deno.dlopen(path, symbols);
  } catch (error) {
    throw explainLoadFailure(path, error);
  }
}

/**
 * The dynamic loader reports everything as a plain `Error` with a text, so the text is all there
 * is to tell a missing file from one built for another processor.
 */
function explainLoadFailure(path: string, error: unknown): LibraryOpenError {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof Deno.errors.NotCapable) {
    return new LibraryOpenError(path, "permission", text, error);
  }
  if (
    /wrong ELF class|invalid ELF header|exec format|not a mach-o|incompatible architecture/i
      .test(text)
  ) {
    return new LibraryOpenError(
      path,
      "unloadable",
      `Cannot open ${path} as it is no library for this processor (${Deno.build.target}): ${text}`,
      error,
    );
  }
  if (/Could not obtain symbol|undefined symbol/.test(text)) {
    return new LibraryOpenError(
      path,
      "abi",
      `Cannot use ${path} as it lacks a function of ABI version ${ABI_VERSION}: ${text}`,
      error,
    );
  }
  // What was not found may also be a library that this one needs, so the text must name the file:
  // "FILE: cannot open …: No such file or directory" on Linux, "'FILE' (no such file)" on macOS.
  if (/no such file/i.test(text) && [`${path}:`, `'${path}'`].some((it) => text.includes(it))) {
    return explainMissing(path, error);
  }
  return new LibraryOpenError(path, "unloadable", `Cannot open ${path}: ${text}`, error);
}

/** The loader of Linux says that there is no such file also of one for another processor. */
function explainMissing(path: string, error: unknown): LibraryOpenError {
  const isThere = fileExists(path);
  if (isThere === false) {
    const message = `Cannot open ${path} as there is no such file`;
    return new LibraryOpenError(path, "missing", message, error);
  }
  const foreign = `it is no library for this processor (${Deno.build.target})`;
  const reason = isThere ? foreign : `there is no such file, or ${foreign}`;
  return new LibraryOpenError(path, "unloadable", `Cannot open ${path} as ${reason}`, error);
}

/** Whether there is a file; `undefined` where nobody may look. */
function fileExists(path: string): boolean | undefined {
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return undefined;
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? false : undefined;
  }
}
