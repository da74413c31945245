/**
 * Everything a GPU host can prove, in under eight minutes: `deno task gpu` builds for the GPU at
 * hand, runs all tests and the examples on it, every kernel under compute-sanitizer where that is
 * installed, the benchmarks, and the same work in other libraries where those are installed, and
 * writes `bench/results/<gpu>.json` and `.md`. A step that fails is reported and does not stop the
 * others.
 *
 *   --commit HASH      the commit, where the files were copied without their repository
 *   --output FOLDER    where the results go
 *   --dry              only show that every step works: few tests, one short sample of each figure
 *   --device host      take the host device; the results need a folder of their own
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { compareFigures } from "../bench/report/figure.ts";
import {
  type GpuReport,
  type HostMachine,
  isProved,
  resultName,
} from "../bench/report/gpu_report.ts";
import { kernelGoals } from "../bench/report/kernel_goals.ts";
import { launchGoals } from "../bench/report/launch_goals.ts";
import { formatGpuReport } from "../bench/report/markdown.ts";
import {
  DESCRIBE_GPU,
  type GpuDescription,
  readGpuDescription,
} from "../bench/report/nvidia_smi.ts";
import { comparePeers } from "../bench/report/peers.ts";
import { poolGoals } from "../bench/report/pool_goals.ts";
import { productGoals } from "../bench/report/product_goals.ts";
import { runSteps } from "../bench/report/proof.ts";
import { tensorGoals } from "../bench/report/tensor_goals.ts";
import { tuningGoals } from "../bench/report/tuned_choices.ts";
import { findProgram, runProgram } from "../src/ffi/build/programs.ts";
import { Findings, type ProofOptions, proofSteps } from "./gpu_steps.ts";
import { ROOT } from "./steps.ts";

/** A little less than eight minutes: the report is written after it. */
const TIME_LIMIT = 470 * 1000;

/** The folder for results of GPU runs only. */
const RESULTS = new URL("bench/results/", ROOT).pathname;

/** An error that the user can correct; it is printed without a stack. */
class ProofError extends Error {
  override name = "ProofError";
}

interface CommandLine extends ProofOptions {
  readonly commit: string | undefined;
  readonly output: string;
}

function readCommandLine(args: string[]): CommandLine {
  const parsed: Record<string, unknown> = parseArgs(args, {
    string: ["commit", "output", "device"],
    boolean: ["dry"],
    unknown: (argument: string) => {
      throw new ProofError(`Cannot read the option ${argument}: see .ci/gpu.ts`);
    },
  });
  const { commit, device = "cuda", output } = parsed as Record<string, string | undefined>;
  if (device !== "cuda" && device !== "host") {
    throw new ProofError(`Cannot read --device as it must be cuda or host: it is ${device}`);
  }
  const dry = parsed.dry === true;
  if (output === undefined && (dry || device === "host")) {
    throw new ProofError("Cannot run this without --output, as bench/results is for full GPU runs");
  }
  return { device, dry, commit, output: output === undefined ? RESULTS : resolve(output) };
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
    throw new ProofError("there is no nvidia-smi, which comes with NVIDIA's driver");
  }
  const description = await outputOf(DESCRIBE_GPU);
  if (description === undefined) throw new ProofError("nvidia-smi finds no GPU");
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

async function prove({ commit, ...options }: CommandLine): Promise<GpuReport> {
  const gpu = options.device === "cuda" ? await describeGpu() : null;
  const about = {
    name: gpu?.name ?? "Host device",
    gpu,
    machine: describeMachine(),
    date: new Date().toISOString(),
    commit: await describeCommit(commit),
  };
  const findings = new Findings();
  const steps = await runSteps(proofSteps(options, findings), TIME_LIMIT);
  const { device, load, tests, figures, peers, traces, tuned } = findings;
  return {
    ...about,
    ...{ device, load, steps, tests, peers, traces },
    figures: compareFigures(figures),
    comparisons: comparePeers(figures, peers?.peers ?? []),
    poolGoals: poolGoals(figures, peers?.peers ?? []),
    kernelGoals: kernelGoals(figures, peers?.peers ?? [], options.device),
    tensorGoals: [
      ...tensorGoals(figures, peers?.peers ?? []),
      ...productGoals(figures, options.device),
    ],
    launchGoals: [...launchGoals(figures), ...tuningGoals(tuned)],
  };
}

try {
  const commandLine = readCommandLine(Deno.args);
  const report = await prove(commandLine);
  const page = formatGpuReport(report);
  const file = join(commandLine.output, resultName(report.name));
  await Deno.mkdir(commandLine.output, { recursive: true });
  await Deno.writeTextFile(`${file}.json`, JSON.stringify(report, null, 2) + "\n");
  await Deno.writeTextFile(`${file}.md`, page);
  console.log(page);
  console.error(`\nWritten to ${file}.json and .md`);
  if (!isProved(report)) Deno.exit(1);
} catch (error) {
  if (!(error instanceof ProofError)) throw error;
  console.error(`Nothing was proved on a GPU: ${error.message}`);
  Deno.exit(1);
}
