/**
 * What can be wrong with a kernel that somebody brings, on the command line.
 *
 * @module
 */

import { CompileError, CompilerUnavailableError, CudaError } from "../../mod.ts";
import { TuningError } from "../lab/tuning/mod.ts";
import { EXIT } from "./command.ts";
import { FileProblem } from "./file_problem.ts";

/** How the library words what it refuses, and V8 does not: "Cannot launch k as it must …". */
const REFUSAL =
  /^Cannot (?!(?:read|set) propert|(?:read|write) private |destructure |mix |convert )/;

/** What ends with exit code 1: the command was right, and it did not work. */
const FAILURES = [FileProblem, CompileError, CompilerUnavailableError, CudaError, TuningError];

/** Says what is wrong with a source, a signature or an argument; everything else is a defect. */
function exitCodeOf(error: unknown): number | undefined {
  if (FAILURES.some((Failure) => error instanceof Failure)) return EXIT.failed;
  // What the library refuses was typed: it comes before anything was launched.
  const isRefusal = error instanceof TypeError || error instanceof RangeError ||
    error instanceof SyntaxError;
  return isRefusal && REFUSAL.test(error.message) ? EXIT.usage : undefined;
}

/**
 * Runs a command on a kernel, and prints in one message what is wrong with the kernel.
 *
 * @returns The exit code.
 */
export async function reportKernelProblems(run: () => Promise<void>): Promise<number> {
  try {
    await run();
    return EXIT.done;
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === undefined) throw error;
    console.error((error as Error).message);
    return code;
  }
}
