/**
 * Reads and writes files that callers name by a path or a URL.
 *
 * @module
 */

import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { requireAccess } from "../../ffi/granted_environment.ts";
import { describeValue } from "../../ffi/describe_value.ts";

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

/** Opens a file for writing, and truncates it. */
export async function openNamedFile({ path }: NamedFile, action: string): Promise<Deno.FsFile> {
  requireAccess("write", path, action);
  try {
    return await Deno.open(path, { write: true, create: true, truncate: true });
  } catch (error) {
    throw withPath(error, `Cannot ${action} as ${JSON.stringify(path)} cannot be written`);
  }
}

/** An error of Deno with other words before its own. */
function withPath(error: unknown, words: string): unknown {
  const Kind = Object.values(Deno.errors).find((kind) => error instanceof kind);
  if (Kind === undefined) return error;
  // Deno ends with the name of the call, and the path.
  const message = (error as Error).message.replace(/: (?:readfile|open|stat) '.*'$/s, "");
  return new Kind(`${words}: ${message}`, { cause: error });
}
