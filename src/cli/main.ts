/**
 * The command line: `deno run -A jsr:@gridstride/cuda/cli <command>`.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import {
  EnvironmentError,
  LibraryNotFoundError,
  NoDeviceError,
  UnsupportedPlatformError,
} from "../../mod.ts";
import { type Command, EXIT, type Invocation, UsageError } from "./command.ts";
import { DEVICES } from "./devices.ts";
import { DOCTOR } from "./doctor.ts";
import { VALIDATE } from "./validate.ts";

const COMMANDS: readonly Command[] = [DEVICES, DOCTOR, VALIDATE];

function help(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const list = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `gridstride: CUDA for Deno

Usage: gridstride <command> [--json] [--device DEVICE]

${list.join("\n")}

gridstride <command> --help tells more. Exit codes: 0 done, 1 ran and failed or no device,
2 bad usage or environment.`;
}

interface ParsedArguments {
  readonly command: string | undefined;
  readonly help: boolean;
  readonly invocation: Invocation;
}

function parse(args: readonly string[]): ParsedArguments {
  const parsed = parseArgs([...args], {
    boolean: ["json", "help"],
    string: ["device"],
    alias: { h: "help" },
    unknown: (argument: string, key?: string) => {
      if (key === undefined) return true;
      throw new UsageError(`Cannot use ${argument} as there is no such option`);
    },
  });
  const [command, ...positional] = parsed._.map(String);
  const device = parsed["device"];
  if (device === "") throw new UsageError("Cannot use --device as it must name a device");
  return {
    command,
    help: parsed["help"] === true,
    invocation: {
      json: parsed["json"] === true,
      ...(typeof device === "string" ? { device } : {}),
      positional,
    },
  };
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
    error instanceof UnsupportedPlatformError
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
    const { command: name, help: wantsHelp, invocation } = parse(args);
    if (name === undefined) {
      if (wantsHelp) console.log(help());
      else console.error(help());
      return wantsHelp ? EXIT.done : EXIT.usage;
    }
    const command = COMMANDS.find((candidate) => candidate.name === name);
    if (command === undefined) {
      throw new UsageError(
        `Cannot run ${name} as the command must be one of ${
          COMMANDS.map(({ name }) => name).join(", ")
        }`,
      );
    }
    if (wantsHelp) {
      console.log(command.help);
      return EXIT.done;
    }
    return await command.run(invocation);
  } catch (error) {
    return explain(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
