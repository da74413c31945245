/**
 * Runs commands in this process, because starting one for each test is slow.
 *
 * @module
 */

import { main } from "../../src/cli/main.ts";

/** The result of a command. */
export interface Output {
  /** The exit code. */
  readonly code: number;
  /** The output on stdout. */
  readonly stdout: string;
  /** The output on stderr. */
  readonly stderr: string;
}

/** Runs a command and captures its output by `console`. */
export async function runInProcess(args: readonly string[]): Promise<Output> {
  const { log, error } = console;
  const printed: string[] = [];
  const problems: string[] = [];
  try {
    console.log = (text: string) => void printed.push(`${text}\n`);
    console.error = (text: string) => void problems.push(`${text}\n`);
    const code = await main(args);
    return { code, stdout: printed.join(""), stderr: problems.join("") };
  } finally {
    Object.assign(console, { log, error });
  }
}
