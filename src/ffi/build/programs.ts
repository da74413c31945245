/**
 * Finds and runs programs such as compilers.
 *
 * @module
 */

import { delimiter, isAbsolute, join } from "node:path";
import { startProgram, withheldText } from "./child_process.ts";
import type { EnvironmentReader } from "../granted_environment.ts";

export type ProgramOutput = Awaited<ReturnType<typeof runProgram>>;

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
 * The program's path: unchanged if it has a slash, else in the first directory of `PATH` that holds
 * it; undefined if there is none.
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
 */
export async function runProgram(
  command: readonly string[],
  args: readonly string[],
  cwd?: string,
  env: Readonly<Record<string, string>> = {},
) {
  const [program, ...first] = command;
  const { child, withheld } = startProgram(program!, {
    args: [...first, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // Users and this build read compiler messages: always in one language.
    env: { LC_ALL: "C", ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const output = await child.output();
  const decoder = new TextDecoder();
  const stderr = decoder.decode(output.stderr);
  return {
    success: output.success,
    code: output.code,
    stdout: decoder.decode(output.stdout),
    stderr: stderr + withheldText(withheld, stderr),
  };
}

export function readDependencies(text: string): string[] {
  const rule = text.replaceAll(/\\\r?\n/g, " ");
  const colon = /:(?=\s)/.exec(rule);
  if (colon === null) return [];
  const names = rule.slice(colon.index + 1).match(/(?:\\[ #]|\$\$|\S)+/g) ?? [];
  return names.map((name) => name.replaceAll(/\\([ #])/g, "$1").replaceAll("$$", "$"));
}
