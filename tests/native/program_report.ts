/**
 * Runs a test program of this folder and reads its report: a line for each check, which begins with
 * `ok`, `FAIL` or `skip`, with indented lines of detail after it.
 *
 * @module
 */

/** What a test program reported. */
export interface ProgramReport {
  /** How many checks held. */
  readonly passed: number;
  /** The checks that did not hold, each with its details. */
  readonly failures: readonly string[];
  /** The skipped checks, and why. */
  readonly skips: readonly string[];
}

/** Reads what a program printed. */
export function readProgramReport(output: string): ProgramReport {
  const failures: string[] = [];
  const skips: string[] = [];
  let passed = 0;
  for (const [entry] of output.matchAll(/^(?:ok|FAIL(?:ED)?|skip)\b.*(?:\n[ \t]+.*)*/gm)) {
    if (entry.startsWith("ok")) passed++;
    else if (entry.startsWith("FAIL")) failures.push(entry);
    else skips.push(entry.replace(/^skip\s+/, ""));
  }
  return { passed, failures, skips };
}

/** How a program is run. */
export interface RunOptions {
  /** Its arguments. */
  readonly args?: readonly string[];
  /** Environment variables that it does not inherit. */
  readonly without?: readonly string[];
  /** Environment variables that it has instead. */
  readonly environment?: Readonly<Record<string, string>>;
  /** How long it may take, in milliseconds. */
  readonly limit?: number;
}

/** Thrown when a test program fails; the message holds its report. */
export class ProgramFailure extends Error {
  override name = "ProgramFailure";
}

const LAST_LINES = 12;

/**
 * Runs a test program to its end.
 *
 * @returns The report of the program.
 * @throws {ProgramFailure} If a check failed, none was made, or the program did not end by itself
 * and with 0.
 */
export async function runTestProgram(
  path: string,
  { args = [], without = [], environment = {}, limit = 120_000 }: RunOptions = {},
): Promise<ProgramReport> {
  const env = Deno.env.toObject();
  for (const name of without) delete env[name];
  const deadline = AbortSignal.timeout(limit);
  const { code, signal, stdout, stderr } = await new Deno.Command(path, {
    args: [...args],
    env: { ...env, ...environment },
    clearEnv: true,
    stdin: "null",
    signal: deadline,
  }).output();
  const decoder = new TextDecoder();
  const output = decoder.decode(stdout);
  const report = readProgramReport(output);
  const end = deadline.aborted
    ? `ran out of time after ${limit / 1000} s`
    : signal !== null
    ? `was ended by ${signal}`
    : `ended with exit status ${code}`;
  if (report.failures.length > 0) {
    throw new ProgramFailure(`${path} ${end}\n${report.failures.join("\n")}`);
  }
  if (code !== 0 || report.passed === 0) {
    const lines = `${output}${decoder.decode(stderr)}`.trimEnd().split("\n").slice(-LAST_LINES);
    const checks = `after ${report.passed} checks that held`;
    throw new ProgramFailure(`${path} ${end} ${checks}; its last lines:\n${lines.join("\n")}`);
  }
  return report;
}
