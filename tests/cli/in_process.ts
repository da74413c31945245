/**
 * Runs commands in this process, because starting one for each test is slow.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { compileImage, CompilerUnavailableError, configureKernelCache } from "../../mod.ts";
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

/** Runs a command and captures its output. */
export async function runInProcess(args: readonly string[]): Promise<Output> {
  const { log, error } = console;
  const printed: string[] = [];
  const problems: string[] = [];
  // The tests may run on a terminal; the captured output is none.
  const { isTerminal, writeSync } = Deno.stdout;
  const decoder = new TextDecoder();
  try {
    Deno.stdout.isTerminal = () => false;
    Deno.stdout.writeSync = (bytes) => {
      printed.push(decoder.decode(bytes, { stream: true }));
      return bytes.length;
    };
    console.log = (text: string) => void printed.push(`${text}\n`);
    console.error = (text: string) => void problems.push(`${text}\n`);
    const code = await main(args);
    return { code, stdout: printed.join(""), stderr: problems.join("") };
  } finally {
    Object.assign(console, { log, error });
    Object.assign(Deno.stdout, { isTerminal, writeSync });
  }
}

/** Asserts that every case exits with this code, prints nothing on stdout, and says why. */
export async function assertFails<T>(
  code: number,
  run: (args: T) => Promise<Output>,
  cases: readonly (readonly [args: T, message: string])[],
): Promise<void> {
  for (const [args, message] of cases) {
    const result = await run(args);
    assertEquals([result.code, result.stdout], [code, ""], `${args}: ${result.stderr}`);
    assertStringIncludes(result.stderr, message);
  }
}

/** Uses an empty cache of compiled kernels until the tests end, and returns its directory. */
export function useTemporaryCache(): string {
  const cache = Deno.makeTempDirSync();
  globalThis.addEventListener("unload", () => Deno.removeSync(cache, { recursive: true }));
  configureKernelCache({ directory: `${cache}/kernels` });
  return cache;
}

/** Whether there is no compiler for CUDA. */
export async function isCudaCompilerMissing(): Promise<boolean> {
  try {
    await compileImage("", { target: { kind: "cuda", capability: "9.0" } });
    return false;
  } catch (error) {
    if (!(error instanceof CompilerUnavailableError)) throw error;
    console.log("skipped: compiling for CUDA, as there is neither NVRTC nor nvcc here");
    return true;
  }
}
