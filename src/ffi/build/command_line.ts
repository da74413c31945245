/**
 * The command line of `build.ts`.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { UnsupportedPlatformError } from "../locate.ts";
import { BuildError } from "./build_error.ts";
import { build } from "./build_libraries.ts";
import type { BuildOptions, BuildReport, LineWriter } from "./build_options.ts";

const HELP = `Builds Gridstride's native libraries.

Usage: deno run -A jsr:@gridstride/cuda/build [options]     (in a checkout: deno task build [options])

  --target host|cuda|all   the library; all builds cuda only if there is an nvcc [all]
  --compiler NAME|PATH     C++17 compiler [CXX, else g++, clang++ or c++]
  --arch LIST              GPU architectures: sm_90, 90, 9.0, 90a, compute_90, native; several with
                           commas [CUDA_ARCH, else the GPUs here, else 8.0, 9.0 and PTX]
  --release                every architecture of a release, unless --arch or CUDA_ARCH is given
  --output DIR             directory of the libraries [build/ in a checkout, else the user cache]
  --jobs N                 sources compiled at a time [number of processors]
  --force                  compile everything again
  --warnings-as-errors     fail on any compiler warning
  --debug                  compile for a debugger instead of for speed
  --quiet                  print warnings and errors only
  --help                   this text

Exit status: 0 built or up to date; 1 the build failed; 2 a bad option or environment variable.`;

const TEXT_OPTIONS = ["target", "compiler", "arch", "output", "jobs"] as const;
const FLAGS = ["release", "force", "warnings-as-errors", "debug", "quiet", "help"] as const;

export interface BuildCommand {
  readonly options: BuildOptions;
  readonly quiet: boolean;
  readonly help: boolean;
}

/**
 * Parses the command line.
 *
 * @throws {BuildError} With exit code 2, naming the option, if one is malformed.
 */
export function parseBuildCommand(args: readonly string[]): BuildCommand {
  const parsed: Record<string, unknown> = parseArgs([...args], {
    string: [...TEXT_OPTIONS],
    // All values of each: otherwise the last of several would win.
    collect: [...TEXT_OPTIONS],
    boolean: [...FLAGS],
    unknown: (argument: string) => {
      throw new BuildError(`Cannot read the option ${argument}: see --help`, 2);
    },
  });
  const text = (name: (typeof TEXT_OPTIONS)[number]): string | undefined => {
    const values = parsed[name] as readonly string[] | undefined;
    if (values === undefined || values.length === 0) return undefined;
    if (values.length === 1 && values[0] !== "") return values[0];
    throw new BuildError(
      `Cannot read --${name} as it must have one value: it has ${
        values.length === 1 ? "none" : JSON.stringify(values)
      }`,
      2,
    );
  };
  const flag = (name: (typeof FLAGS)[number]): boolean => parsed[name] === true;
  const target = text("target");
  if (target !== undefined && target !== "host" && target !== "cuda" && target !== "all") {
    throw new BuildError(
      `Cannot read --target as it must be host, cuda or all: it is ${JSON.stringify(target)}`,
      2,
    );
  }
  const [compiler, architectures, output] = [text("compiler"), text("arch"), text("output")];
  const jobs = text("jobs");
  if (jobs !== undefined && !/^[1-9]\d*$/.test(jobs)) {
    throw new BuildError(
      `Cannot read --jobs as it must be an integer of 1 or more: it is ${JSON.stringify(jobs)}`,
      2,
    );
  }
  const options: BuildOptions = {
    ...(target === undefined ? {} : { target }),
    ...(compiler === undefined ? {} : { compiler }),
    ...(architectures === undefined ? {} : { architectures }),
    ...(output === undefined ? {} : { output }),
    ...(jobs === undefined ? {} : { jobs: Number(jobs) }),
    release: flag("release"),
    force: flag("force"),
    warningsAsErrors: flag("warnings-as-errors"),
    debug: flag("debug"),
  };
  return { options, quiet: flag("quiet"), help: flag("help") };
}

export function describeReport(report: BuildReport): string[] {
  const lines = report.libraries.map((library) => {
    const { kind, path, upToDate, compiled, reused, seconds, compiler, architectures } = library;
    const what = upToDate
      ? "is up to date"
      : `built in ${seconds.toFixed(1)} s (${compiled} compiled, ${reused} reused)`;
    return `${kind}  ${path} ${what}: ${compiler}, ${architectures}`;
  });
  for (const { kind, reason } of report.skipped) lines.push(`${kind}  skipped: ${reason}`);
  if (!report.found) {
    lines.push(`To use these libraries, set GRIDSTRIDE_LIBRARY=${report.directory}`);
  }
  return lines;
}

/**
 * Runs `build.ts` with its arguments.
 *
 * @param write Takes lines for the user; they belong on standard error.
 * @returns The exit status.
 */
export async function runBuildCommand(
  args: readonly string[],
  write: LineWriter,
): Promise<0 | 1 | 2> {
  try {
    const { options, quiet, help } = parseBuildCommand(args);
    if (help) {
      write(HELP);
      return 0;
    }
    const progress: LineWriter = quiet ? () => {} : write;
    const report = await build({ ...options, progress, warnings: write });
    for (const line of describeReport(report)) progress(line);
    return 0;
  } catch (error) {
    if (error instanceof BuildError) {
      write(error.message);
      return error.exitCode;
    }
    if (error instanceof UnsupportedPlatformError) {
      write(error.message);
      return 1;
    }
    throw error;
  }
}
