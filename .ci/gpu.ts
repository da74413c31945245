/**
 * Checks and measures this package on a GPU: two commands of at most six minutes on 16 processors.
 *
 *   deno task gpu check      builds, and runs all tests that use a device, `validate`, and kernels under
 *                            compute-sanitizer
 *   deno task gpu measure    times the benchmarks, and the same work in other libraries
 *
 *   --host             take the host device, few tests and small problems: shows that each step works
 *   --only TEXT,…      only test files or areas of benchmarks whose names contain one of them
 *   --ours             measure without other libraries, and each area once
 *   --output FOLDER    the folder of the results; `bench/results/` by default, which is for GPUs
 *   --commit HASH      the commit, where the files were copied without their repository
 *   --limit SECONDS    the time for all steps
 *
 * The results, `<gpu>-check.json` and `.md` or `<gpu>-measure.json` and `.md`, and a log are written after
 * every step. A step that fails is reported and does not stop the others.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { cpus } from "node:os";
import { resolve } from "node:path";
import { type GpuReport, type HostMachine, isProved } from "../bench/report/gpu_report.ts";
import { formatGpuReport } from "../bench/report/markdown.ts";
import {
  DESCRIBE_GPU,
  type GpuDescription,
  readGpuDescription,
} from "../bench/report/nvidia_smi.ts";
import { runStages } from "../bench/report/proof.ts";
import { ReportFiles } from "../bench/report/report_files.ts";
import { findProgram, runProgram } from "../src/ffi/build/programs.ts";
import { checkStages, emptyCheck, shortTests } from "./gpu/check.ts";
import type { GpuContext } from "./gpu/context.ts";
import { deviceTests } from "./gpu/device_tests.ts";
import { emptyMeasurement, MeasureRun } from "./gpu/measure.ts";
import { endPrograms } from "./gpu/processes.ts";
import { ROOT } from "./steps.ts";

/** A little less than six minutes. */
const TIME_LIMIT = 350;

/** The folder for results of GPUs only. */
const RESULTS = new URL("bench/results/", ROOT).pathname;

/** The tests of a check on the host device: they use it, and take a second. */
const SHORT_TESTS = "tests/stream/";

/** An error that the user can correct; it is printed without a stack. */
class UsageError extends Error {
  override name = "UsageError";
}

interface CommandLine {
  readonly command: "check" | "measure";
  readonly device: "cuda" | "host";
  readonly only: readonly string[];
  readonly isOursOnly: boolean;
  readonly output: string;
  readonly commit: string | undefined;
  readonly limit: number;
}

function readCommandLine(args: string[]): CommandLine {
  const parsed = parseArgs(args, {
    string: ["commit", "output", "only", "limit"],
    boolean: ["host", "ours"],
    unknown: (argument: string) => {
      if (argument.startsWith("-")) {
        throw new UsageError(`Cannot read the option ${argument}: see .ci/gpu.ts`);
      }
    },
  });
  const { commit, output, limit = `${TIME_LIMIT}`, host, ours } = parsed;
  const [command, ...others] = parsed._.map(String);
  if ((command !== "check" && command !== "measure") || others.length > 0) {
    throw new UsageError("Cannot run this as the command must be check or measure");
  }
  const isOursOnly = ours === true;
  if (command === "check" && isOursOnly) {
    throw new UsageError("Cannot run this as the command must be measure with --ours: it is check");
  }
  const device = host === true ? "host" : "cuda";
  if (device === "host" && output === undefined) {
    throw new UsageError("Cannot run this without --output, as bench/results is for GPUs");
  }
  if (!(Number(limit) > 0)) {
    throw new UsageError(`Cannot run this as --limit must be a positive number: it is ${limit}`);
  }
  const only = String(parsed.only ?? "").split(",").filter((part) => part !== "");
  if ((only.length > 0 || isOursOnly) && output === undefined) {
    throw new UsageError(
      "Cannot run this without --output, as bench/results has whole runs: --only and --ours are parts",
    );
  }
  const folder = output === undefined ? RESULTS : resolve(output);
  return { command, device, only, isOursOnly, output: folder, commit, limit: Number(limit) * 1000 };
}

const environment = (name: string): string | undefined => Deno.env.get(name);

/** The output of a program; undefined if the program is missing or fails. */
async function outputOf(command: readonly string[]): Promise<string | undefined> {
  const [name, ...args] = command;
  const program = findProgram(name!, environment);
  if (program === undefined) return undefined;
  const { success, stdout } = await runProgram([program], args, ROOT.pathname);
  return success ? stdout : undefined;
}

async function describeGpu(): Promise<GpuDescription> {
  if (findProgram(DESCRIBE_GPU[0]!, environment) === undefined) {
    throw new UsageError("Cannot find a GPU: there is no nvidia-smi, which comes with the driver");
  }
  const description = await outputOf(DESCRIBE_GPU);
  if (description === undefined) throw new UsageError("Cannot find a GPU: nvidia-smi names none");
  return readGpuDescription(description);
}

/** The commit of the files, or "unknown" without a repository. */
async function describeCommit(given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const hash = (await outputOf(["git", "rev-parse", "HEAD"]))?.trim();
  if (hash === undefined) return "unknown";
  const changes = await outputOf(["git", "status", "--porcelain", "--", ".", ":!bench/results"]);
  return changes?.trim() === "" ? hash : `${hash}-modified`;
}

function describeMachine(): HostMachine {
  const [cpu] = cpus();
  return {
    processor: cpu?.model ?? "unknown processor",
    processors: navigator.hardwareConcurrency,
    system: `${Deno.build.os} ${Deno.osRelease()} ${Deno.build.arch}`,
    deno: Deno.version.deno,
  };
}

async function run({ command, device, only, isOursOnly, output, commit, limit }: CommandLine) {
  const gpu = device === "cuda" ? await describeGpu() : null;
  const chosen = deviceTests(ROOT);
  const tests = only.length === 0 && device === "cuda"
    ? chosen
    : shortTests(chosen, only.length === 0 ? [SHORT_TESTS] : only);
  const report: GpuReport = {
    ...{ format: 1, command, name: gpu?.name ?? "Host device", finished: false, device: null, gpu },
    ...{ machine: describeMachine(), date: new Date().toISOString(), steps: [] },
    commit: await describeCommit(commit),
    ...(command === "check" ? { check: emptyCheck(tests) } : { measure: emptyMeasurement() }),
  };
  const files = new ReportFiles(output, report);
  const env = {
    ...{ GRIDSTRIDE_DEVICE: device, NO_COLOR: "1" },
    ...(device === "host" ? { GRIDSTRIDE_BENCH: "quick" } : {}),
  };
  const context: GpuContext = { device, env, report, files };
  await using measuring = report.measure &&
    new MeasureRun(context, report.measure, { only, isOursOnly });
  const stages = measuring?.stages() ?? checkStages(context, tests, report.check!);
  await runStages(stages, limit, (outcome) => {
    report.steps.push(outcome);
    files.save();
  });
  report.finished = true;
  files.save();
  console.log(formatGpuReport(report));
  console.error(`\nWritten to ${files.path}.json and .md`);
  return isProved(report);
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => {
    endPrograms();
    // The listeners of "unload" end the other processes.
    Deno.exit(130);
  });
}

try {
  const succeeded = await run(readCommandLine(Deno.args));
  // A signal listener would keep the process alive.
  Deno.exit(succeeded ? 0 : 1);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  Deno.exit(1);
}
