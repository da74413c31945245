/**
 * The command line: `deno run -A jsr:@gridstride/cuda/cli <command>`.
 *
 * @module
 */

import { EnvironmentError } from "../../mod.ts";
import { ANALYZE } from "./analyze.ts";
import { CACHE } from "./cache.ts";
import {
  type Command,
  type CommandGroup,
  EXIT,
  isRefusal,
  showProgress,
  UsageError,
} from "./command.ts";
import { runProgram } from "./command_line.ts";
import { COMPILE } from "./compile.ts";
import { DEVICES, DOCTOR, VALIDATE } from "./devices.ts";
import { GENERATE } from "./generate.ts";
import { INSPECT } from "./inspect.ts";
import { MEMORY } from "./memory.ts";
import { OCCUPANCY } from "./occupancy.ts";
import { ROOFLINE } from "./roofline.ts";
import { RUN } from "./run.ts";
import { SERVE } from "./serve.ts";
import { TOP } from "./top.ts";
import { TUNE } from "./tune.ts";

const COMMANDS: readonly (Command | CommandGroup)[] = [
  DEVICES,
  DOCTOR,
  TOP,
  VALIDATE,
  RUN,
  COMPILE,
  TUNE,
  OCCUPANCY,
  ANALYZE,
  ROOFLINE,
  INSPECT,
  GENERATE,
  SERVE,
  CACHE,
  MEMORY,
];

/** The exit code for an error; undefined for a defect of the program. */
function exitCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof UsageError || error instanceof EnvironmentError) return EXIT.usage;
  if (["TypeError", "RangeError", "SyntaxError"].includes(error.name)) {
    return isRefusal(error) ? EXIT.usage : undefined;
  }
  // For example the chat template of a model that refuses a conversation.
  if (error.name === "Error") return isRefusal(error) ? EXIT.failed : undefined;
  // Errors of the package have names of their own.
  return error.name in globalThis || error.name in Deno.errors ? undefined : EXIT.failed;
}

/**
 * Runs the command line.
 *
 * @param args The arguments of the program.
 * @returns The exit code: 0 success, 1 failure or no device, 2 invalid usage or environment,
 * 130 interrupted.
 *
 * @example
 * ```ts
 * import { main } from "@gridstride/cuda/cli";
 *
 * console.log(await main(["devices", "--json"])); // 0
 * ```
 * @category Command line
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    return await runProgram(COMMANDS, args);
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === undefined) throw error;
    showProgress("");
    console.error((error as Error).message);
    return code;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
