/**
 * Reads and writes files that callers name by a path or a URL.
 *
 * @module
 */

import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { install, writeAll } from "../../ffi/build/atomic_install.ts";
import { requireAccess } from "../../ffi/granted_environment.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { isFileProblem, realPath, statOf } from "../compile/files.ts";

export interface NamedFile {
  readonly path: string;
  /** The last part of the path, for messages. */
  readonly name: string;
}

/**
 * Checks the name of a file.
 *
 * @param action The action of the caller; completes "Cannot …".
 * @param field The parameter's name in messages.
 */
export function namedFile(file: unknown, action: string, field = "path"): NamedFile {
  const path = pathOf(file);
  if (path !== undefined) return { path, name: basename(path) || "kernel.cu" };
  throw new TypeError(
    `Cannot ${action} as ${field} must be a text that is not empty, or a file's URL: it is ${
      describeValue(file instanceof URL ? file.href : file)
    }`,
  );
}

function pathOf(file: unknown): string | undefined {
  if (typeof file === "string") return file === "" || file.includes("\0") ? undefined : file;
  if (!(file instanceof URL)) return undefined;
  try {
    return fileURLToPath(file);
  } catch {
    // Not the URL of a file, with a host, or with an invalid escape.
    return undefined;
  }
}

/**
 * Reads a file.
 *
 * @param read `Deno.readTextFile`, or `Deno.readFile` for bytes.
 */
export async function readNamed<Content>(
  { path }: NamedFile,
  action: string,
  read: (path: string) => Promise<Content>,
): Promise<Content> {
  requireAccess("read", path, action);
  try {
    const { isFile, isDirectory } = await Deno.stat(path);
    // /dev/zero has no end, and a pipe may have no writer. Deno refuses directories.
    if (!isFile && !isDirectory) {
      throw new Deno.errors.NotSupported("it is not a regular file");
    }
    return await read(path);
  } catch (error) {
    throw withPath(error, `Cannot ${action} as ${JSON.stringify(path)} cannot be read`);
  }
}

/** Writes bytes to a file; resolves when the system has taken all of them. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>;

/** Open files of a process, whose paths name no place in a folder. */
const DESCRIPTOR = /^\/(?:dev\/(?:stdout|stderr|fd\/)|proc\/)/;

/**
 * Writes a file. It is written beside its place, flushed and renamed: if `fill` or the system fails,
 * an earlier file stays as it was. Devices and pipes are written in place.
 *
 * @param fill Passes all bytes to its argument, in order.
 */
export async function writeNamed(
  { path }: NamedFile,
  action: string,
  fill: (write: WriteBytes) => Promise<void>,
): Promise<void> {
  const existing = statOf(path);
  const isInPlace = existing !== undefined && (!existing.isFile || DESCRIPTOR.test(path));
  if (isInPlace) requireAccess("write", path, action);
  else requireFolder(path, action);
  try {
    if (isInPlace) {
      using file = await (existing.isFifo ? openPipe(path) : Deno.open(path, { write: true }));
      if (existing.isFile) await file.truncate();
      await fill((bytes) => writeAll(file, bytes));
    } else if (existing === undefined) {
      await writeBeside(path, fill);
    } else {
      const place = realPath(path);
      if (place !== path) requireFolder(place, action);
      // A file that may not be written is not replaced either.
      (await Deno.open(place, { write: true })).close();
      await writeBeside(place, fill, existing.mode);
    }
  } catch (error) {
    throw withPath(error, `Cannot ${action} as ${JSON.stringify(path)} cannot be written`);
  }
}

async function writeBeside(
  path: string,
  fill: (write: WriteBytes) => Promise<void>,
  mode?: number | null,
): Promise<void> {
  await install(path, async (temporary) => {
    using file = await Deno.open(temporary, { write: true, createNew: true });
    if (typeof mode === "number") await Deno.chmod(temporary, mode & 0o777);
    await fill((bytes) => writeAll(file, bytes));
  });
}

function requireFolder(path: string, action: string): void {
  const folder = dirname(path);
  const missing = (["read", "write"] as const).filter((name) =>
    Deno.permissions.querySync({ name, path: folder }).state !== "granted"
  );
  if (missing.length === 0) return;
  throw new Deno.errors.NotCapable(
    `Cannot ${action} as ${JSON.stringify(path)} is written beside its place and renamed, and ` +
      `permission to ${missing.join(" and ")} its folder is not granted: run again with ` +
      missing.map((name) => `--allow-${name}=${folder}`).join(" "),
  );
}

/**
 * Opens a pipe for writing.
 *
 * @param limit The time in milliseconds for which it waits for a reader.
 * @throws {Deno.errors.TimedOut} If there is none.
 */
export async function openPipe(path: string, limit = 10_000): Promise<Deno.FsFile> {
  const opening = Deno.open(path, { write: true });
  const timeout = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => timeout.resolve(undefined), limit);
  try {
    const file = await Promise.race([opening, timeout.promise]);
    if (file !== undefined) return file;
  } finally {
    clearTimeout(timer);
  }
  // Without a reader, the other open would occupy a thread for ever.
  (await Deno.open(path, { read: true })).close();
  (await opening).close();
  throw new Deno.errors.TimedOut(`no program has opened the pipe for reading within ${limit} ms`);
}

/** An error of the file system with other words before its own. */
function withPath(error: unknown, words: string): unknown {
  if (!isFileProblem(error) || error.message.startsWith("Cannot ")) return error;
  // Deno ends with the name of the call, and the path.
  const message = `${words}: ${error.message.replace(/: (?:readfile|open|stat) '.*'$/s, "")}`;
  const Kind = Object.values(Deno.errors).find((kind) => error instanceof kind);
  if (Kind !== undefined) return new Kind(message, { cause: error });
  // Deno has no class for such as a full disk, only the system's code.
  const { code } = error as Error & { readonly code?: string };
  return Object.assign(new Error(message, { cause: error }), { code });
}
