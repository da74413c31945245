/**
 * Files that commands cannot read or write.
 *
 * @module
 */

/** Thrown for a file that cannot be read or written; its message is for people. */
export class FileProblem extends Error {
  override name = "FileProblem";
}

/** Whether an error is the file system's: those are Deno's classes, or have a system's code. */
export function isAboutFile(error: unknown): error is Error {
  return error instanceof Error &&
    (Object.values(Deno.errors).some((kind) => error instanceof kind) || "code" in error);
}
