/**
 * Commands, their errors and their output.
 *
 * @module
 */

import type { Device } from "../../mod.ts";
import { namedFile, writeNamed } from "../launch/module/named_file.ts";

/** The exit codes of all commands. */
export const EXIT = {
  done: 0,
  /** The command failed, or there is no device. */
  failed: 1,
  usage: 2,
  /** Ctrl-C, as shells report it: 128 + SIGINT. */
  interrupted: 130,
} as const;

/** The options and arguments of one call of a command. */
export interface Invocation {
  /** Prints one JSON value on stdout and nothing else. */
  readonly json: boolean;
  /** The device, in the form that `openDevice()` takes. */
  readonly device?: string;
  /** The command's options by name: a text, or `true` for a flag. */
  readonly options: Readonly<Record<string, string | true>>;
  /** The values of the options that can be repeated, in order. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly positional: readonly string[];
}

export interface Command {
  /** The word that selects it; in a group the second word. */
  readonly name: string;
  readonly summary: string;
  /** Its arguments: `<FILE.cu> [ARGUMENT...]`. */
  readonly arguments?: string;
  readonly description: string;
  /** Descriptions of the options by their flags: `--ptx`, `--grid <X,Y,Z>`. */
  readonly options?: Readonly<Record<string, string>>;
  /** Options that can be repeated. */
  readonly lists?: Readonly<Record<string, string>>;
  /** The end of the help text. */
  readonly details?: string;
  /** Runs the command; the exit code is 0 unless it returns another. */
  run(invocation: Invocation): Promise<number | void>;
}

/** The option of all commands that open a device. */
export const DEVICE_OPTION = {
  "--device <DEVICE>": "cuda, cuda:N, host or host:N [GRIDSTRIDE_DEVICE, else the best]",
} as const;

/** Commands with a common first word. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Command[];
}

/** Thrown for invalid options and arguments: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Thrown for a file that cannot be read, written or used: exit code 1. */
export class FileProblem extends Error {
  override name = "FileProblem";
}

/** Whether an error is the library's, "Cannot launch k as it must …", in contrast to those of V8. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof Error &&
    /^Cannot (?!(?:read|set) propert|(?:read|write) private |destructure |mix |convert )/
      .test(error.message);
}

/**
 * Throws a file system error as a {@linkcode FileProblem}, and any other error unchanged.
 *
 * @param action The failed action, such as `"read a.npy"`.
 */
export function throwFileProblem(action: string, error: unknown): never {
  const isFromSystem = error instanceof Error &&
    (Object.values(Deno.errors).some((kind) => error instanceof kind) || "code" in error);
  if (!isFromSystem) throw error;
  // The library's own errors name the action themselves.
  if (error.message.startsWith("Cannot ")) throw new FileProblem(error.message);
  // Deno appends its own call: "… (os error 2): open 'a.npy'".
  const reason = error.message.replace(/: (?:open|readfile|writefile|stat) '.*'$/s, "");
  throw new FileProblem(`Cannot ${action}: ${reason}`);
}

/** Reads a whole file. */
export async function readFile(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { isBlockDevice, isCharDevice } = await Deno.stat(path);
    // /dev/zero, for example, never ends; a pipe does.
    if (isBlockDevice === true || isCharDevice === true) {
      throw new FileProblem(`Cannot read ${path}: it is a device`);
    }
    return await Deno.readFile(path);
  } catch (error) {
    return throwFileProblem(`read ${path}`, error);
  }
}

/** Writes a whole file. */
export async function writeFile(path: string, content: Uint8Array | string): Promise<void> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const action = "write the result";
  await writeNamed(namedFile(path, action), action, (write) => write(bytes))
    // The cause is the error of the system, if it is not one about permissions.
    .catch((error) => throwFileProblem(`write ${path}`, error.cause ?? error));
}

/** The label of a device, which marks simulated devices: `host:0 (fake)`. */
export function labelOf({ label, info }: Device): string {
  return info.fake ? `${label} (fake)` : label;
}

/** Prints a text on stdout. */
export function printText(text: string): void {
  try {
    console.log(text);
  } catch (error) {
    throwFileProblem("print the result", error);
  }
}

/** Prints a result: as JSON with `--json`, else as text. */
export function printResult(invocation: Invocation, value: unknown, text: () => string): void {
  printText(invocation.json ? JSON.stringify(value, null, 2) : text());
}

/** Replaces the progress line on stderr if that is a terminal. */
export function showProgress(message: string): void {
  if (!Deno.stderr.isTerminal()) return;
  Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[2K${message}`));
}
