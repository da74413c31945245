/**
 * What a command of the command line is, and how it talks.
 *
 * @module
 */

/** Exit codes: all commands use these three. */
export const EXIT = {
  /** Done. */
  done: 0,
  /** Ran and failed, or there is no device. */
  failed: 1,
  /** Bad usage or environment. */
  usage: 2,
} as const;

/** Options that every command takes, and its positional arguments. */
export interface Invocation {
  /** Whether to print one JSON value on stdout and nothing else there. */
  readonly json: boolean;
  /** The device to use, as `openDevice()` takes it. */
  readonly device?: string;
  /** What is left: positional arguments. */
  readonly positional: readonly string[];
}

/** A command of the command line. */
export interface Command {
  /** What is typed. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The whole help text. */
  readonly help: string;
  /** Runs it and returns the exit code. */
  run(invocation: Invocation): Promise<number>;
}

/** Thrown for arguments a command does not take; ends with exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/**
 * Refuses positional arguments.
 *
 * @throws {UsageError} If there are any.
 */
export function requireNoArguments(command: string, invocation: Invocation): void {
  const [first] = invocation.positional;
  if (first === undefined) return;
  throw new UsageError(`Cannot run ${command} as it takes no arguments: there is "${first}"`);
}

/** Prints the result: one JSON value, or text for people. */
export function printResult(invocation: Invocation, value: unknown, text: () => string): void {
  console.log(invocation.json ? JSON.stringify(value, null, 2) : text());
}

/** Says on stderr what is going on; replaces the line in a terminal, and is silent elsewhere. */
export function showProgress(message: string): void {
  if (!Deno.stderr.isTerminal()) return;
  Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[2K${message}`));
}
