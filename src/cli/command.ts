/**
 * What a command of the command line is, and how it talks.
 *
 * @module
 */

import { FileProblem, isAboutFile, reasonOf } from "./file_problem.ts";

/** Exit codes: all commands use these three. */
export const EXIT = {
  /** Done. */
  done: 0,
  /** Ran and failed, or there is no device. */
  failed: 1,
  /** Bad usage or environment. */
  usage: 2,
} as const;

/** What was typed: options that every command takes, the command's own, and its arguments. */
export interface Invocation {
  /** Whether to print one JSON value on stdout and nothing else there. */
  readonly json: boolean;
  /** The device to use, as `openDevice()` takes it. */
  readonly device?: string;
  /** Options of the command's own that were given, by name. */
  readonly options: Readonly<Record<string, string | boolean>>;
  /** The values of those that may be given several times, in order; none where there are none. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** What is left: positional arguments. */
  readonly positional: readonly string[];
}

/** Options of one command, besides `--json`, `--device` and `--help`. */
export interface CommandOptions {
  /** Those that take a value, without dashes. */
  readonly values?: readonly string[];
  /** Those that take a value and may be given several times, without dashes. */
  readonly lists?: readonly string[];
  /** Those that are there or not, without dashes. */
  readonly flags?: readonly string[];
}

/** A command of the command line. */
export interface Command {
  /** What is typed; of a command in a group the last word. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The whole help text. */
  readonly help: string;
  /** Options of its own. */
  readonly options?: CommandOptions;
  /** Runs it and returns the exit code. */
  run(invocation: Invocation): Promise<number>;
}

/** Commands on one subject: the second word of the command line chooses one. */
export interface CommandGroup {
  /** The first word. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What there is. */
  readonly commands: readonly Command[];
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

/**
 * Prints a text on stdout.
 *
 * @throws {FileProblem} If stdout does not take it: it may be a file on a disk that is full.
 */
export function printText(text: string): void {
  try {
    console.log(text);
  } catch (error) {
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(`Cannot print the result: ${reasonOf(error)}`);
  }
}

/**
 * Prints the result: one JSON value, or text for people.
 *
 * @throws {FileProblem} If stdout does not take it.
 */
export function printResult(invocation: Invocation, value: unknown, text: () => string): void {
  printText(invocation.json ? JSON.stringify(value, null, 2) : text());
}

/** Says on stderr what is going on; replaces the line in a terminal, and is silent elsewhere. */
export function showProgress(message: string): void {
  if (!Deno.stderr.isTerminal()) return;
  Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[2K${message}`));
}
