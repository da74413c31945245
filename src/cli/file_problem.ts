/**
 * Files that commands cannot read or write.
 *
 * @module
 */

/** Thrown for a file that cannot be read or written; its message is for people. */
export class FileProblem extends Error {
  override name = "FileProblem";
}

/** What is wrong with a file, without what Deno says of its own call behind that. */
export function reasonOf({ message }: Error): string {
  return message.replace(/: (?:open|readfile|writefile|stat) '.*'$/s, "");
}

/** Whether an error is the file system's: those are Deno's classes, or have a system's code. */
export function isAboutFile(error: unknown): error is Error {
  return error instanceof Error &&
    (Object.values(Deno.errors).some((kind) => error instanceof kind) || "code" in error);
}
