/**
 * One run of the host device's compiler.
 *
 * @module
 */

import { NO_SEARCH_PATHS } from "../../ffi/build/compiler_environment.ts";
import { type HostProgram, requirePermission } from "./host_program.ts";

/** How a run has ended. */
export interface HostRun {
  /** Whether the compiler says that it has made what it was to make. */
  readonly success: boolean;
  /** The signal that ended it, if one did. */
  readonly signal: Deno.Signal | null;
  /** All that it said. */
  readonly output: string;
}

/**
 * Runs a compiler to its end.
 *
 * @param directory The directory of the compilation.
 * @throws {CompilerUnavailableError} If it may not be started.
 */
export async function runHostProgram(
  { command: [program, ...first] }: HostProgram,
  args: readonly string[],
  directory: string,
): Promise<HostRun> {
  requirePermission(program);
  const { success, signal, stdout, stderr } = await new Deno.Command(program, {
    args: [...first, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // Messages in one language; what the compiler keeps between its steps goes with the rest.
    env: { LC_ALL: "C", TMPDIR: directory, ...NO_SEARCH_PATHS },
  }).output();
  const decoder = new TextDecoder();
  return { success, signal, output: decoder.decode(stderr) + decoder.decode(stdout) };
}
