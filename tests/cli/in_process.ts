/**
 * The command line in this process, for tests that would start dozens of others.
 *
 * @module
 */

import { main } from "../../src/cli/main.ts";

/** What a command printed, and its exit code. */
export interface Output {
  /** The exit code. */
  readonly code: number;
  /** What it printed on stdout. */
  readonly stdout: string;
  /** What it printed on stderr. */
  readonly stderr: string;
}

/** Runs a command. What it prints by other means than `console` is not seen. */
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
