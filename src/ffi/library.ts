/**
 * An open native library, and the handshake with it.
 *
 * @module
 */

import { displayAs } from "./display.ts";
import { BLOCK_SLOTS, isolateCommandBlock } from "./command_block.ts";
import { type NativeSymbols, SYMBOLS } from "./declarations.ts";

/** The version of `csrc/gridstride.h` that this module requires. */
export const ABI_VERSION = 10;

/**
 * The two native libraries: over the CUDA runtime, and over the host device.
 * @category The native library
 */
export type LibraryKind = "cuda" | "host";

/**
 * The build of a native library.
 * @category The native library
 */
export interface BuildRecord {
  /** The kind of the library. */
  readonly kind: LibraryKind;
  /** The compiler and its version. */
  readonly compiler: string;
  /** The processor or GPU architectures of its code. */
  readonly architectures: string;
  /** A digest of its sources. */
  readonly sourceHash: string;
  /** The compiler flags. */
  readonly flags: string;
}

/** Parses the JSON text of `gs_abi_describe`. */
export function parseBuildRecord(text: string): BuildRecord {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`Cannot read the build record as it must be an object: it is ${text}`);
  }
  const { kind, ...record } = value as Record<string, unknown>;
  if (kind !== "cuda" && kind !== "host") {
    throw new TypeError(
      `Cannot read the build record as kind must be "cuda" or "host": it is ${
        JSON.stringify(kind)
      }`,
    );
  }
  const field = (name: string): string => String(record[name] ?? "unknown");
  const [compiler, architectures] = [field("compiler"), field("architectures")];
  return { kind, compiler, architectures, sourceHash: field("sourceHash"), flags: field("flags") };
}

/** Thrown for a file that is not a usable native library. */
export class LibraryOpenError extends Error {
  override readonly name: string = "LibraryOpenError";
  readonly path: string;
  readonly reason: "missing" | "permission" | "unloadable" | "abi" | "handshake";

  constructor(path: string, reason: LibraryOpenError["reason"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.path = path;
    this.reason = reason;
  }
}

/** Bytes of the longest build record. */
const RECORD_BYTES = 1 << 16;

/**
 * An open native library and this isolate's command block in it. It is never closed: a call after
 * closing would crash, and the process frees everything when it ends.
 * @category The native library
 */
export class NativeLibrary {
  /** The file. */
  readonly path: string;
  /** The kind of the library. */
  readonly kind: LibraryKind;
  /** The build of the library. */
  readonly build: BuildRecord;
  /**
   * The exported functions.
   *
   * @ignore They check nothing: `native_*.ts` has checked ones.
   */
  readonly symbols: NativeSymbols;
  /** The command block; `command_block.ts` describes its slots. */
  readonly block: Float64Array<SharedArrayBuffer>;
  /** The results of calls by value, until the next call. */
  readonly result: Float64Array<ArrayBuffer> = new Float64Array(16);
  /** Ordinals of lost devices that an error has reported; see `give_back.ts`. */
  readonly lostDevices: Set<number> = new Set();
  /** Describes the launch behind a fault, by the fault's text; only for devices that record launches. */
  readonly launchSites: Map<number, (fault: string) => string> = new Map();
  /**
   * Counts events that hot paths must notice without a query: a lost device, a closed stream, a
   * disposed module, the begin or end of a capture, and changes of a device's subscribers.
   */
  interruptions = 0;

  /** Registers the command block with a library of the right version. */
  constructor(path: string, symbols: NativeSymbols) {
    const text = new Uint8Array(RECORD_BYTES);
    const described = symbols.gs_abi_describe(text, RECORD_BYTES);
    if (described !== 0) throw handshakeError(path, "gs_abi_describe", described);
    this.build = parseBuildRecord(new TextDecoder().decode(text.subarray(0, text.indexOf(0))));
    this.path = path;
    this.kind = this.build.kind;
    this.symbols = symbols;
    this.block = isolateCommandBlock();
    const registered = symbols.gs_block_register(
      this.block,
      BLOCK_SLOTS * Float64Array.BYTES_PER_ELEMENT,
    );
    if (registered !== 0) throw handshakeError(path, "gs_block_register", registered);
    if (!isWorker()) return;
    const joined = symbols.gs_isolate_join();
    if (joined !== 0) throw handshakeError(path, "gs_isolate_join", joined);
  }
}

displayAs(NativeLibrary.prototype, "NativeLibrary", { path: ({ path }) => path });

/** Whether this isolate may end before the process. */
function isWorker(): boolean {
  const { WorkerGlobalScope } = globalThis as { WorkerGlobalScope?: new () => object };
  return WorkerGlobalScope !== undefined && globalThis instanceof WorkerGlobalScope;
}

function handshakeError(path: string, name: string, status: number): LibraryOpenError {
  const message = `Cannot open ${path} as the handshake failed: ${name} returned ${status}`;
  return new LibraryOpenError(path, "handshake", message);
}

/** The reason of a missing permission. */
export const FFI_DENIED = "permission for FFI is not granted";

const opened = new Map<string, NativeLibrary>();

/**
 * Opens a native library, or returns the one that this isolate has opened from that path. Never
 * prompts: a missing permission is an error that names the flag.
 *
 * @param path The absolute path of the library.
 */
export function openNativeLibrary(path: string): NativeLibrary {
  const known = opened.get(path);
  if (known !== undefined) return known;
  if (Deno.permissions.querySync({ name: "ffi", path }).state !== "granted") {
    if (fileExists(path) === false) {
      throw new LibraryOpenError(path, "missing", `Cannot open ${path} as there is no such file`);
    }
    throw new LibraryOpenError(
      path,
      "permission",
      `Cannot open ${path} as ${FFI_DENIED}: run again with --allow-ffi=${path}`,
    );
  }
  const { gs_abi_version } = dlopen(path, { gs_abi_version: SYMBOLS["gs_abi_version"]! });
  const version = gs_abi_version();
  if (version !== ABI_VERSION) {
    throw new LibraryOpenError(
      path,
      "abi",
      `Cannot use ${path} as its ABI version must be ${ABI_VERSION}: it is ${version}. ` +
        `Rebuild it with \`deno run -A jsr:@gridstride/cuda/build\`, or \`deno task build\` in a checkout`,
    );
  }
  const library = new NativeLibrary(path, dlopen(path, SYMBOLS));
  opened.set(path, library);
  return library;
}

function dlopen(path: string, symbols: Deno.ForeignLibraryInterface): NativeSymbols {
  try {
    return Deno.dlopen(path, symbols).symbols as unknown as NativeSymbols;
  } catch (error) {
    throw loadError(path, error);
  }
}

/** The dynamic loader reports every failure as a text, which is the only way to classify it. */
function loadError(path: string, error: unknown): LibraryOpenError {
  const text = error instanceof Error ? error.message : String(error);
  const of = (reason: LibraryOpenError["reason"], message: string) =>
    new LibraryOpenError(path, reason, message, error);
  if (error instanceof Deno.errors.NotCapable) return of("permission", text);
  const foreign = `it is not a library for this processor (${Deno.build.target})`;
  const isForeign =
    /wrong ELF class|invalid ELF header|exec format|not a mach-o|incompatible architecture/i;
  if (isForeign.test(text)) return of("unloadable", `Cannot open ${path} as ${foreign}: ${text}`);
  if (/Could not obtain symbol|undefined symbol/.test(text)) {
    return of(
      "abi",
      `Cannot use ${path} as it lacks a function of ABI version ${ABI_VERSION}: ${text}`,
    );
  }
  // The missing file may also be a dependency of this one: the text must name the file itself, as
  // "FILE: cannot open …: No such file or directory" on Linux, "'FILE' (no such file)" on macOS.
  if (!/no such file/i.test(text) || ![`${path}:`, `'${path}'`].some((it) => text.includes(it))) {
    return of("unloadable", `Cannot open ${path}: ${text}`);
  }
  // Linux reports a missing file also for one of another processor.
  const exists = fileExists(path);
  if (exists === false) return of("missing", `Cannot open ${path} as there is no such file`);
  const reason = exists ? foreign : `there is no such file, or ${foreign}`;
  return of("unloadable", `Cannot open ${path} as ${reason}`);
}

/** Whether a file exists; undefined without the permission to read it. */
function fileExists(path: string): boolean | undefined {
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return undefined;
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? false : undefined;
  }
}
