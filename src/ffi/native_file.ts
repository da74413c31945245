/**
 * Files that the library reads into pinned memory.
 *
 * The library opens files itself. Deno's permissions still apply: a file is opened only if Deno
 * would open it.
 *
 * @module
 */

import { call, callAsync, callStatus, check, cString, statusError } from "./check.ts";
import { requireAccess } from "./granted_environment.ts";
import type { NativeLibrary } from "./library.ts";

/** `GS_ERROR_CAPACITY`: the file is too short. */
const CAPACITY = -8;
/** `GS_ERROR_NOT_FOUND`. */
const NOT_FOUND = -9;

export interface OpenedFile {
  readonly path: string;
  readonly handle: number;
  /** The size in bytes when the file was opened. */
  readonly bytes: number;
}

/** Opens a file for reading. */
export function openFile(library: NativeLibrary, path: string): OpenedFile {
  requireRegularFile(path);
  const action = `open ${JSON.stringify(path)}`;
  const status = callStatus(library, "gs_file_open", action, cString(path));
  if (status === NOT_FOUND) throw missingError(path);
  check(library, status, action);
  return { path, handle: library.result[0]!, bytes: library.result[1]! };
}

function requireRegularFile(path: string): void {
  requireAccess("read", path, "open a file");
  try {
    // Opening a named pipe would wait for a writer.
    if (!Deno.statSync(path).isFile) {
      throw new TypeError(`Cannot open ${JSON.stringify(path)} as it is not a regular file`);
    }
    // Deno refuses further files, such as some links in /proc.
    Deno.openSync(path).close();
  } catch (error) {
    throw error instanceof Deno.errors.NotFound ? missingError(path, error) : error;
  }
}

function missingError(path: string, cause?: Error): Error {
  return new Deno.errors.NotFound(
    `Cannot open ${JSON.stringify(path)} as there is no such file`,
    cause === undefined ? {} : { cause },
  );
}

/** Closes a file; a read in progress still completes. */
export function closeFile(library: NativeLibrary, file: OpenedFile): void {
  call(library, "gs_file_close", { action: `close ${JSON.stringify(file.path)}` }, file.handle);
}

export interface PinnedPlace {
  readonly pinned: number;
  readonly offset: number;
}

/** Reads a part of a file into a pinned slab on another thread. */
export async function readFile(
  library: NativeLibrary,
  file: OpenedFile,
  offset: number,
  target: PinnedPlace,
  bytes: number,
): Promise<void> {
  const action = `read ${bytes} bytes of ${JSON.stringify(file.path)} at ${offset}`;
  const inputs = [file.handle, offset, target.pinned, target.offset, bytes] as const;
  const status = await callAsync(library, "gs_file_read_async", action, ...inputs);
  if (status === CAPACITY) {
    throw new Deno.errors.UnexpectedEof(
      `Cannot ${action} as the file must be long enough: it had ${file.bytes} bytes when it was ` +
        "opened",
    );
  }
  if (status !== 0) throw statusError(library, status, { action, call: "pread" });
}
