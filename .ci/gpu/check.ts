/**
 * The steps of `deno task gpu check`: builds, runs the tests that use a device, validates the kernels, and
 * runs them under compute-sanitizer. Tests that may hang run first and alone. Those that fail run again
 * beside few others, then alone, because other processes on the same GPU take its time and memory.
 *
 * @module
 */

import { join } from "node:path";
import type { CheckFindings, FailingFile } from "../../bench/report/gpu_report.ts";
import type { ProofStage, StepResult } from "../../bench/report/proof.ts";
import { findProgram, isExecutable } from "../../src/ffi/build/programs.ts";
import { KERNEL_OPERATIONS } from "../../src/device/validation/kernel_cases.ts";
import { addTestSummaries, hasTestSummary, readTestSummary } from "../test_summary.ts";
import type { DeviceTests } from "./device_tests.ts";
import { missedFaults, type SanitizerTool } from "./planted_faults.ts";
import { forEachOf, runLimited } from "./processes.ts";
import {
  buildStep,
  describeStep,
  type GpuContext,
  passed,
  PRECOMPILED,
  skipped,
} from "./context.ts";

/** Milliseconds that a file of tests may take, beside others and alone. */
export interface TestLimits {
  readonly beside: number;
  readonly alone: number;
}

export const TEST_LIMITS: TestLimits = { beside: 60_000, alone: 30_000 };

/** Processors that the other steps of the same stage take. */
const OTHER_STEPS = 4;

/** Failing files that run again at the same time. */
const AGAIN_AT_ONCE = 4;

/** The operations of the memory check: all built-in kernels, and further families of kernels. */
const MEMORY_CHECKED = [...KERNEL_OPERATIONS, "matmul", "attention", "ternaryMatmul"];

/** compute-sanitizer's exit status when it found something; it is no program's own. */
const SANITIZER_FAILURE = 99;

/** The findings before the first step. */
export function emptyCheck({ files }: DeviceTests): CheckFindings {
  const tests = { passed: 0, failed: 0, ignored: 0 };
  return { files: files.length, ran: 0, tests, failing: [] };
}

/** The steps, which write to `findings` as the tests end. */
export function checkStages(
  context: GpuContext,
  { files, suspects }: DeviceTests,
  findings: CheckFindings,
  limits: TestLimits = TEST_LIMITS,
): ProofStage[] {
  const seconds = (count: number) => count * 1000;
  const others = files.filter((file) => !suspects.includes(file));
  const run = (chosen: readonly string[], atOnce: number, most: number) => (limit: number) =>
    runTests(context, chosen, findings, { atOnce, most, limit });
  const atOnce = Math.max(2, navigator.hardwareConcurrency - OTHER_STEPS);
  const short = context.device === "host";
  return [
    buildStep(context, seconds(45)),
    describeStep(context, seconds(5)),
    {
      name: "tests that may hang",
      reserve: seconds(30),
      run: run(suspects, 1, limits.alone),
    },
    [
      { name: "tests", reserve: seconds(150), run: run(others, atOnce, limits.beside) },
      {
        name: "validate",
        reserve: seconds(120),
        run: (limit) => validate(context, short, limit),
      },
      {
        name: "memory check",
        reserve: seconds(60),
        run: (limit) => {
          const operations = `--operations=${short ? PRECOMPILED : MEMORY_CHECKED}`;
          return sanitize(context, "memcheck", ["src/cli/main.ts", "validate", operations], limit);
        },
      },
      {
        name: "race check",
        reserve: seconds(60),
        run: (limit) => sanitize(context, "racecheck", [".ci/gpu/checked_kernels.ts"], limit),
      },
    ],
    {
      name: "failing tests again",
      // Two rounds of four files, of which one hangs, and the few that fail alone.
      reserve: seconds(75),
      run: (limit) => runAgain(context, findings, limits.alone, limit),
    },
  ];
}

/** A line of `deno test`: the name of a test, and its outcome where it has ended. */
const TEST_LINE = /^(\S.*) \.\.\.(?: (ok|FAILED|ignored)\b.*)?\s*$/;

/** The names of tests in the output of `deno test`: those that failed, and the one that did not end. */
export function unsuccessfulTests(
  output: string,
): { readonly failed: string[]; readonly unfinished: string | undefined } {
  const failed: string[] = [];
  let unfinished: string | undefined;
  for (const line of output.split("\n")) {
    const [, name, outcome] = TEST_LINE.exec(line) ?? [];
    if (name === undefined) continue;
    if (outcome === "FAILED") failed.push(name);
    if (outcome === undefined) unfinished = name;
    else if (name === unfinished) unfinished = undefined;
  }
  return { failed, unfinished };
}

const testCommand = (file: string) => [Deno.execPath(), "test", "-A", "--no-check", file];

async function runTests(
  context: GpuContext,
  files: readonly string[],
  findings: CheckFindings,
  { atOnce, most, limit }: {
    readonly atOnce: number;
    readonly most: number;
    readonly limit: number;
  },
): Promise<StepResult> {
  if (files.length === 0) return skipped("there are none");
  const end = performance.now() + limit;
  const failing: string[] = [];
  let ran = 0;
  await forEachOf(files, atOnce, async (file) => {
    const left = end - performance.now();
    // Too little time for a verdict: the file counts as not run.
    if (left <= 1000) return;
    const result = await runLimited(testCommand(file), context.env, Math.min(most, left));
    if (result.outcome === "hung" && left < most) return;
    ran++;
    findings.ran++;
    if (hasTestSummary(result.output)) {
      findings.tests = addTestSummaries([findings.tests, readTestSummary(result.output)]);
    }
    if (result.outcome !== "passed") {
      const { outcome, output } = result;
      const { failed, unfinished } = unsuccessfulTests(output);
      failing.push(file);
      const tests = unfinished === undefined ? failed : [...failed, unfinished];
      // A file that ran alone needs no further run.
      findings.failing.push({ file, outcome, alone: atOnce === 1 ? outcome : null, tests });
      context.files.log(`${file}: ${outcome}, exit status ${result.code}`, output);
    }
    context.files.save();
  });
  if (ran < files.length) throw new Error(`There was time for ${ran} of ${files.length} files`);
  if (failing.length === 0) return passed(`${ran} files`);
  const detail = `${failing.length} of ${ran} files failed`;
  if (atOnce === 1) throw new Error(`${detail}: ${failing.join(", ")}`);
  return passed(`${detail}, and run again`);
}

/** Runs failing files again, several at a time; those that fail once more run alone. */
async function runAgain(
  context: GpuContext,
  findings: CheckFindings,
  most: number,
  limit: number,
): Promise<StepResult> {
  const end = performance.now() + limit;
  const { failing } = findings;
  const names = failing.filter(({ alone }) => alone === null).map(({ file }) => file);
  if (names.length === 0) return skipped("none has failed");
  const placeOf = (name: string) => failing.findIndex(({ file }) => file === name);
  for (const atOnce of [AGAIN_AT_ONCE, 1]) {
    const left = names.filter((name) => failing[placeOf(name)]!.alone !== "passed");
    await forEachOf(left, atOnce, async (file) => {
      const left = end - performance.now();
      if (left <= 1000) return;
      const result = await runLimited(testCommand(file), context.env, Math.min(most, left));
      if (result.outcome === "hung" && left < most) return;
      const place = placeOf(file);
      failing[place] = { ...failing[place]!, alone: result.outcome };
      const title = `${file}, again${atOnce === 1 ? ", alone" : ""}: ${result.outcome}`;
      if (result.outcome !== "passed") context.files.log(title, result.output);
      context.files.save();
    });
  }
  const ends = names.map((name) => failing[placeOf(name)]!);
  const count = (alone: FailingFile["alone"]) => ends.filter((file) => file.alone === alone).length;
  const detail = `${count("passed")} pass, ${count("failed")} fail, ${count("hung")} hang, ` +
    `${count(null)} were not run again`;
  if (count("passed") < names.length) throw new Error(detail);
  return passed(detail);
}

/** Summary of `validate` and of the program of the race check. */
const COUNTS = /^\d+ passed, \d+ failed.*$/m;

/** Failures in their output, with errors and bounds, and what compute-sanitizer finds. */
const FAILURES = /^✗ .*$|^=+ (?:Invalid |Error: (?!Potential)|Uninitialized |Leaked ).*$/gm;
/** A race that compute-sanitizer finds, with the function of the first access. */
const HAZARD = /^=+ \w+: (Potential \w+ hazard) .*\n=+ +\w+ Thread \S+ at (?:void )?([\w:]+)/gm;
/** Failures that a report lists. The log has all. */
const MAX_FAILURES = 12;

/** The counts and the failures in the output of `validate` or of compute-sanitizer. */
export function describeFailure(output: string, code: number): string {
  const found = [...output.matchAll(FAILURES)]
    .map(([line]) => line.replace(/^(?:✗|=+) +/, "").replaceAll(/ {2,}/g, ", ").trim());
  const hazards = [...output.matchAll(HAZARD)].map(([, kind, name]) => `${kind} in ${name}`);
  found.push(...new Set(hazards));
  const rest = found.length > MAX_FAILURES ? [`${found.length - MAX_FAILURES} more`] : [];
  const all = [...COUNTS.exec(output) ?? [], ...found.slice(0, MAX_FAILURES), ...rest];
  return `it failed with exit status ${code}${all.length === 0 ? "" : `: ${all.join("; ")}`}`;
}

async function validate(
  context: GpuContext,
  isShort: boolean,
  limit: number,
): Promise<StepResult> {
  const program = ["run", "-A", "--no-check", "src/cli/main.ts", "validate"];
  const options = isShort ? [`--operations=${PRECOMPILED}`] : [];
  const command = [Deno.execPath(), ...program, ...options];
  const { outcome, code, output } = await runLimited(command, context.env, limit);
  context.files.log(`validate: ${outcome}`, output);
  if (outcome === "hung") throw new Error("it ran out of time");
  if (outcome === "failed") throw new Error(describeFailure(output, code));
  return passed(COUNTS.exec(output)?.[0] ?? "");
}

/** compute-sanitizer, from the toolkit or from PATH; undefined when it is not installed. */
function findSanitizer(): string | undefined {
  const name = "compute-sanitizer";
  const variable = (name: string) => Deno.env.get(name);
  const homes = [variable("CUDA_HOME"), variable("CUDA_PATH"), "/usr/local/cuda"]
    .filter((home) => home !== undefined && home !== "");
  return homes.map((home) => join(home!, "bin", name)).find(isExecutable) ??
    findProgram(name, variable);
}

/** Runs a program of ours under compute-sanitizer. */
async function sanitize(
  context: GpuContext,
  tool: SanitizerTool,
  program: readonly string[],
  limit: number,
): Promise<StepResult> {
  const sanitizer = findSanitizer();
  if (sanitizer === undefined) return skipped("compute-sanitizer is not installed");
  const options = [
    `--tool=${tool}`,
    `--error-exitcode=${SANITIZER_FAILURE}`,
    // memcheck: failing calls are the subject of tests; here it is the memory accesses of kernels.
    // racecheck's default, an analysis, reported no race of a process that an H200 had run.
    ...(tool === "memcheck"
      ? ["--report-api-errors=no"]
      : ["--racecheck-report=hazard", "--print-limit=1000"]),
  ];
  const end = performance.now() + limit;
  const runTool = (...program: string[]) => {
    const command = [sanitizer, ...options, Deno.execPath(), "run", "-A", "--no-check", ...program];
    return runLimited(command, context.env, end - performance.now());
  };
  const result = await runTool(...program);
  context.files.log(`${tool}: ${result.outcome}`, result.output);
  // Some virtual machines do not support it.
  if (/Device not supported/i.test(result.output)) {
    return skipped("compute-sanitizer: Device not supported");
  }
  if (result.outcome === "hung") throw new Error("it ran out of time");
  if (result.outcome === "failed") throw new Error(describeFailure(result.output, result.code));
  const summary = /^=+ (?:ERROR|RACECHECK) SUMMARY:.*$/m.exec(result.output)?.[0];
  const counts = COUNTS.exec(result.output)?.[0];
  if (counts === undefined || summary === undefined) {
    throw new Error(`Cannot find the summary of ${tool} in its output`);
  }
  const control = await runTool(".ci/gpu/planted_faults.ts", tool);
  context.files.log(`${tool} of a planted fault`, control.output);
  const missed = missedFaults(tool, control.output);
  if (missed.length > 0) {
    return skipped(`${counts}, but compute-sanitizer does not find ${missed.join(", ")} here`);
  }
  return passed(`${counts}; ${summary.replace(/^=+ /, "")}`);
}

/** The tests of a run on the host device, which only shows that the steps work. */
export function shortTests(
  { files, suspects }: DeviceTests,
  only: readonly string[],
): DeviceTests {
  const isWanted = (file: string) => only.some((part) => file.includes(part));
  return { files: files.filter(isWanted), suspects: suspects.filter(isWanted) };
}
