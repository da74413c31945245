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

/** Parses the command line. */
export function parseBuildCommand(
  args: readonly string[],
): { options: BuildOptions; quiet: boolean; help: boolean } {
  const parsed: Record<string, unknown> = parseArgs([...args], {
    string: [...TEXT_OPTIONS],
    // All values of each: otherwise the last of several would win.
    collect: [...TEXT_OPTIONS],
    boolean: [...FLAGS],
    unknown: (argument: string) => {
      throw new BuildError(`Cannot read the option ${argument}: see --help`, 2);
    },
  });
  const refuse = (name: string, allowed: string, problem: string): never => {
    throw new BuildError(`Cannot read --${name} as it must ${allowed}: it ${problem}`, 2);
  };
  const text = (name: (typeof TEXT_OPTIONS)[number], allowed = "", form = /./): string[] => {
    const values = parsed[name] as string[] | undefined ?? [];
    if (values.length > 1) refuse(name, "have one value", `has ${JSON.stringify(values)}`);
    if (values[0] === "") refuse(name, "have one value", "has none");
    const wrong = values.find((value) => !form.test(value));
    return wrong === undefined ? values : refuse(name, allowed, `is ${JSON.stringify(wrong)}`);
  };
  const [target] = text("target", "be host, cuda or all", /^(?:host|cuda|all)$/);
  const [compiler] = text("compiler");
  const [architectures] = text("arch");
  const [output] = text("output");
  const [jobs] = text("jobs", "be an integer of 1 or more", /^[1-9]\d*$/);
  const options: BuildOptions = {
    ...(target === undefined ? {} : { target: target as NonNullable<BuildOptions["target"]> }),
    ...(compiler === undefined ? {} : { compiler }),
    ...(architectures === undefined ? {} : { architectures }),
    ...(output === undefined ? {} : { output }),
    ...(jobs === undefined ? {} : { jobs: Number(jobs) }),
    release: parsed["release"] === true,
    force: parsed["force"] === true,
    warningsAsErrors: parsed["warnings-as-errors"] === true,
    debug: parsed["debug"] === true,
  };
  return { options, quiet: parsed["quiet"] === true, help: parsed["help"] === true };
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

/** Runs `build.ts` with its arguments. */
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
    const isBuild = error instanceof BuildError;
    if (!isBuild && !(error instanceof UnsupportedPlatformError)) throw error;
    write(error.message);
    return isBuild ? error.exitCode : 1;
  }
}
