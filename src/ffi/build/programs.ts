/**
 * Finding programs and asking them for a line or two.
 *
 * @module
 */

import { delimiter, isAbsolute, join } from "node:path";
import type { EnvironmentReader } from "../granted_environment.ts";

/** What a finished program said. */
export interface ProgramOutput {
  /** Whether it exited with 0. */
  readonly success: boolean;
  /** Its exit status. */
  readonly code: number;
  /** Its standard output. */
  readonly stdout: string;
  /** Its standard error. */
  readonly stderr: string;
}

/** Whether the path is a file this user can start. */
export function isExecutable(path: string): boolean {
  try {
    const { isFile, mode } = Deno.statSync(path);
    return isFile && (mode === null || (mode & 0o111) !== 0);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/**
 * The program's path: as given when it has a slash, else in the first directory of `PATH` that
 * holds it; undefined when there is none.
 */
export function findProgram(name: string, environment: EnvironmentReader): string | undefined {
  if (isAbsolute(name)) return isExecutable(name) ? name : undefined;
  if (name.includes("/")) {
    const path = join(Deno.cwd(), name);
    return isExecutable(path) ? path : undefined;
  }
  return (environment("PATH") ?? "").split(delimiter)
    .filter((directory) => isAbsolute(directory))
    .map((directory) => join(directory, name))
    .find(isExecutable);
}

/**
 * Runs a program to its end with nothing on its standard input.
 *
 * @param command The program and its first arguments, such as `["ccache", "g++"]`.
 * @param cwd Where it runs.
 * @param env Variables that it gets besides those of this process.
 */
export async function runProgram(
  command: readonly string[],
  args: readonly string[],
  cwd?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramOutput> {
  const [program, ...first] = command;
  const output = await new Deno.Command(program!, {
    args: [...first, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // Compiler messages are read by people and by this build: always in one language.
    env: { LC_ALL: "C", ...env },
    ...(cwd === undefined ? {} : { cwd }),
  }).output();
  const decoder = new TextDecoder();
  return {
    success: output.success,
    code: output.code,
    stdout: decoder.decode(output.stdout),
    stderr: decoder.decode(output.stderr),
  };
}
