/**
 * Files that the library reads into pinned memory by itself.
 *
 * The library opens files past Deno, whose permissions hold nevertheless: a file is opened only if
 * Deno would open it.
 *
 * @module
 */

import { statusError } from "./check.ts";
import { checkInt32, checkSize } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";
import { cString } from "./text.ts";

/** `GS_ERROR_CAPACITY`: the file ends before what is to be read. */
const CAPACITY = -8;
/** `GS_ERROR_NOT_FOUND`. */
const NOT_FOUND = -9;

/** A file that the library has opened. */
export interface OpenedFile {
  /** Its name, as it was opened. */
  readonly path: string;
  /** The handle by which reads name it. */
  readonly handle: number;
  /** Its size in bytes when it was opened. */
  readonly bytes: number;
}

/**
 * Opens a file for reading.
 *
 * @param path The file, absolute or from the current directory.
 * @throws {Deno.errors.NotCapable} If Deno has no permission to read it; nobody is prompted.
 * @throws {Deno.errors.NotFound} If there is none.
 * @throws {TypeError} If it is no regular file.
 */
export function openFile(library: NativeLibrary, path: string): OpenedFile {
  requireReadable(path);
  const status = library.symbols.gs_file_open(cString(path), library.result);
  if (status === NOT_FOUND) throw missing(path);
  if (status !== 0) throw statusError(library, status, { action: `open ${JSON.stringify(path)}` });
  return { path, handle: library.result[0]!, bytes: library.result[1]! };
}

function requireReadable(path: string): void {
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") {
    throw new Deno.errors.NotCapable(
      `Cannot open ${JSON.stringify(path)} as permission to read it is not granted: ` +
        `run again with --allow-read=${path}`,
    );
  }
  try {
    // Before it is opened: to open a named pipe would wait for somebody who writes to it.
    if (!Deno.statSync(path).isFile) {
      throw new TypeError(`Cannot open ${JSON.stringify(path)} as it is no regular file`);
    }
    // Deno refuses more than the permission says: what a link leads to in /proc, for instance.
    Deno.openSync(path).close();
  } catch (error) {
    throw error instanceof Deno.errors.NotFound ? missing(path, error) : error;
  }
}

function missing(path: string, cause?: Error): Error {
  return new Deno.errors.NotFound(
    `Cannot open ${JSON.stringify(path)} as there is no such file`,
    cause === undefined ? {} : { cause },
  );
}

/** Closes a file; a read under way still completes. */
export function closeFile(library: NativeLibrary, file: OpenedFile): void {
  const action = `close ${JSON.stringify(file.path)}`;
  const status = library.symbols.gs_file_close(checkInt32(file.handle, "handle", action));
  if (status !== 0) throw statusError(library, status, { action });
}

/** A part of a pinned slab. */
export interface PinnedPlace {
  /** The slab's handle. */
  readonly pinned: number;
  /** Byte offset of the first byte. */
  readonly offset: number;
}

/**
 * Reads a part of a file into a pinned slab, on another thread.
 *
 * @param offset Where in the file the part begins, in bytes.
 * @param bytes Its length.
 * @throws {Deno.errors.UnexpectedEof} If the file or the slab ends before.
 */
export async function readFile(
  library: NativeLibrary,
  file: OpenedFile,
  offset: number,
  target: PinnedPlace,
  bytes: number,
): Promise<void> {
  const action = `read ${bytes} bytes of ${JSON.stringify(file.path)} at ${offset}`;
  const status = await library.symbols.gs_file_read_async(
    checkInt32(file.handle, "file", action),
    checkSize(offset, "offset", action),
    checkInt32(target.pinned, "pinned", action),
    checkSize(target.offset, "pinned offset", action),
    checkSize(bytes, "bytes", action),
  );
  if (status === CAPACITY) {
    throw new Deno.errors.UnexpectedEof(
      `Cannot ${action} as it must not end before: it had ${file.bytes} bytes when it was opened`,
    );
  }
  // Another thread made the call: what failed last on this one has nothing to do with it.
  if (status !== 0) throw statusError(library, status, { action, call: "pread" });
}
