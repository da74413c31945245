/**
 * The state of files: what tells whether they are still the same, without reading them.
 *
 * Size, times, and which file it is, much as `make` decides what is up to date.
 *
 * @module
 */

import { isFileProblem } from "./file_problem.ts";

/** The state of some files. */
export interface FileStates {
  /** A text that is another one when a file is. */
  readonly description: string;
  /** When the last change of one of them was, in milliseconds since 1970. */
  readonly changed: number;
}

/**
 * The state of files; undefined where one has none that may be read without a prompt.
 *
 * @param files Absolute paths, in an order that is always the same.
 */
export function fileStates(files: readonly string[]): FileStates | undefined {
  try {
    requireReadable(files);
    let changed = 0;
    const fields: unknown[] = [];
    for (const path of files) {
      // Of the file that a link leads to: a compiler's name often is one.
      const { dev, ino, size, mtime, ctime } = Deno.statSync(path);
      const [modified, altered] = [mtime?.getTime(), ctime?.getTime()];
      // No path holds a NUL, and of each file there are as many fields.
      fields.push(path, dev, ino, size, modified, altered);
      changed = Math.max(changed, modified ?? 0, altered ?? 0);
    }
    return { description: fields.join("\0"), changed };
  } catch (error) {
    if (isFileProblem(error)) return undefined;
    throw error;
  }
}

/** Refuses files that Deno would ask somebody for. */
function requireReadable(files: readonly string[]): void {
  // Asked for all files first: there are dozens, and mostly everything is permitted.
  if (isReadable()) return;
  const refused = files.find((path) => !isReadable(path));
  if (refused !== undefined) throw new Deno.errors.NotCapable(refused);
}

function isReadable(path?: string): boolean {
  const permission = { name: "read", ...(path === undefined ? {} : { path }) } as const;
  return Deno.permissions.querySync(permission).state === "granted";
}
