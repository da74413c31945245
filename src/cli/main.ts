/**
 * The command line: `deno run -A jsr:@gridstride/cuda/cli <command>`.
 *
 * @module
 */

import {
  EnvironmentError,
  LibraryNotFoundError,
  NoDeviceError,
  UnsupportedPlatformError,
} from "../../mod.ts";
import { ANALYZE } from "./analyze.ts";
import { type Command, type CommandGroup, EXIT, printText, UsageError } from "./command.ts";
import { CACHE } from "./cache.ts";
import { readCommandLine } from "./command_line.ts";
import { COMPILE } from "./compile.ts";
import { DEVICES } from "./devices.ts";
import { DOCTOR } from "./doctor.ts";
import { FileProblem } from "./file_problem.ts";
import { MEMORY } from "./memory.ts";
import { OCCUPANCY } from "./occupancy.ts";
import { ROOFLINE } from "./roofline.ts";
import { RUN } from "./run.ts";
import { TUNE } from "./tune.ts";
import { VALIDATE } from "./validate.ts";

const COMMANDS: readonly (Command | CommandGroup)[] = [
  DEVICES,
  DOCTOR,
  VALIDATE,
  RUN,
  COMPILE,
  TUNE,
  OCCUPANCY,
  ANALYZE,
  ROOFLINE,
  CACHE,
  MEMORY,
];

function list(entries: readonly (Command | CommandGroup)[]): string {
  const width = Math.max(...entries.map(({ name }) => name.length));
  return entries.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join("\n");
}

function help(): string {
  return `gridstride: CUDA for Deno

Usage: gridstride <command> [--json] [--device DEVICE]

${list(COMMANDS)}

gridstride <command> --help tells more. Exit codes: 0 done, 1 ran and failed or no device,
2 bad usage or environment.`;
}

function groupHelp({ name, summary, commands }: CommandGroup): string {
  return `gridstride ${name}: ${summary}

Usage: gridstride ${name} <command> [--json]

${list(commands)}

gridstride ${name} <command> --help tells more.`;
}

/** Prints help where it was asked for, and on stderr where a command is missing. */
function printHelp(text: string, wantsHelp: boolean): number {
  if (wantsHelp) printText(text);
  else console.error(text);
  return wantsHelp ? EXIT.done : EXIT.usage;
}

/** The exit code for what a command threw; everything unexpected is a defect and goes on. */
function explain(error: unknown): number {
  if (
    error instanceof UsageError || error instanceof EnvironmentError ||
    error instanceof RangeError && error.message.startsWith("Cannot select a device")
  ) {
    console.error(error.message);
    return EXIT.usage;
  }
  if (
    error instanceof NoDeviceError || error instanceof LibraryNotFoundError ||
    error instanceof UnsupportedPlatformError || error instanceof FileProblem
  ) {
    console.error(error.message);
    return EXIT.failed;
  }
  throw error;
}

/**
 * Runs the command line.
 *
 * @param args What follows the program's name.
 * @returns The exit code: 0 done, 1 ran and failed or no device, 2 bad usage or environment.
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const { command, help: wantsHelp, invocation } = readCommandLine(COMMANDS, args);
    if (command === undefined) return printHelp(help(), wantsHelp);
    if ("commands" in command) return printHelp(groupHelp(command), wantsHelp);
    if (wantsHelp) return printHelp(command.help, true);
    return await command.run(invocation);
  } catch (error) {
    return explain(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
