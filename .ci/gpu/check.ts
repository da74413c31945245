/**
 * The steps of `deno task gpu check`: builds, runs the tests that use a device, validates the kernels, and
 * runs them under compute-sanitizer. Tests that may hang run first and alone. Those that fail run again
 * alone, because other processes on the same GPU take its time and memory.
 *
 * @module
 */

import { join } from "node:path";
import type { CheckFindings, FailingFile } from "../../bench/report/gpu_report.ts";
import type { ProofStage, StepResult } from "../../bench/report/proof.ts";
import { findProgram, isExecutable } from "../../src/ffi/build/programs.ts";
import { addTestSummaries, hasTestSummary, readTestSummary } from "../test_summary.ts";
import type { DeviceTests } from "./device_tests.ts";
import { forEachOf, runLimited } from "./processes.ts";
import { buildStep, describeStep, type GpuContext, passed, runStep, skipped } from "./context.ts";

/** Milliseconds that a file of tests may take, beside others and alone. */
export interface TestLimits {
  readonly beside: number;
  readonly alone: number;
}

export const TEST_LIMITS: TestLimits = { beside: 60_000, alone: 30_000 };

/** Processors that the other steps of the same stage take. */
const OTHER_STEPS = 4;

/** The tensor operations of the memory check: one of each family of kernels. */
const MEMORY_CHECKED = "add,sum,matmul,attention,ternaryMatmul";

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
  const atOnce = Math.max(1, navigator.hardwareConcurrency - OTHER_STEPS);
  const short = context.device === "host";
  return [
    buildStep(context, seconds(60)),
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
        reserve: seconds(60),
        run: (limit) =>
          validate(context, ["validate", ...(short ? ["--operations=add"] : [])], limit),
      },
      {
        name: "memory check",
        reserve: seconds(60),
        run: (limit) => {
          const operations = `--operations=${short ? "add" : MEMORY_CHECKED}`;
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
      name: "failing tests again, alone",
      reserve: seconds(30),
      run: (limit) => runAgain(context, findings, limits.alone, limit),
    },
  ];
}

/** The names of the failing tests in the output of `deno test`. */
export function failingTests(output: string): string[] {
  const list = output.slice(output.lastIndexOf("\n FAILURES "));
  if (!output.includes("\n FAILURES ")) return [];
  return [...list.matchAll(/^(.+?) => \.?\/?\S+:\d+:\d+$/gm)].map(([, name]) => name!);
}

/** The test that had begun and not ended, in the output of a hung `deno test`. */
export function hungTest(output: string): string | undefined {
  // deno test prints the name before it runs the test, and its outcome after it.
  return /^(.+) \.\.\.\s*$/m.exec(output.trimEnd().split("\n").at(-1) ?? "")?.[1];
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
      const hung = outcome === "hung" ? hungTest(output) : undefined;
      failing.push(file);
      const tests = hung === undefined ? failingTests(output) : [hung];
      findings.failing.push({ file, outcome, alone: null, tests });
      context.files.log(`${file}: ${outcome}, exit status ${result.code}`, output);
    }
    context.files.save();
  });
  if (failing.length > 0) throw new Error(`${failing.length} of ${ran} files failed: ${failing}`);
  if (ran < files.length) throw new Error(`There was time for ${ran} of ${files.length} files`);
  return passed(`${ran} files`);
}

async function runAgain(
  context: GpuContext,
  findings: CheckFindings,
  most: number,
  limit: number,
): Promise<StepResult> {
  const end = performance.now() + limit;
  const { failing } = findings;
  if (failing.length === 0) return skipped("none has failed");
  for (const [index, failed] of failing.entries()) {
    const left = end - performance.now();
    if (left <= 1000) break;
    const { file } = failed;
    const result = await runLimited(testCommand(file), context.env, Math.min(most, left));
    if (result.outcome === "hung" && left < most) break;
    const alone: FailingFile["alone"] = result.outcome;
    failing[index] = { ...failed, alone };
    if (alone !== "passed") context.files.log(`${file}, alone: ${alone}`, result.output);
    context.files.save();
  }
  const count = (alone: FailingFile["alone"]) =>
    failing.filter((file) => file.alone === alone).length;
  const detail = `${count("passed")} pass alone, ${count("failed")} fail, ${count("hung")} hang, ` +
    `${count(null)} were not run again`;
  if (count("passed") < failing.length) throw new Error(detail);
  return passed(detail);
}

/** Summary of `validate` and of the program of the race check. */
const COUNTS = /^\d+ passed, \d+ failed.*$/m;

async function validate(
  context: GpuContext,
  args: readonly string[],
  limit: number,
): Promise<StepResult> {
  const command = [Deno.execPath(), "run", "-A", "--no-check", "src/cli/main.ts", ...args];
  const output = await runStep(context, "validate", command, limit);
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
  tool: "memcheck" | "racecheck",
  program: readonly string[],
  limit: number,
): Promise<StepResult> {
  const sanitizer = findSanitizer();
  if (sanitizer === undefined) return skipped("compute-sanitizer is not installed");
  const options = [
    `--tool=${tool}`,
    `--error-exitcode=${SANITIZER_FAILURE}`,
    // Failing calls are the subject of tests; here it is the memory accesses of kernels.
    ...(tool === "memcheck" ? ["--report-api-errors=no"] : []),
  ];
  const command = [sanitizer, ...options, Deno.execPath(), "run", "-A", "--no-check", ...program];
  const result = await runLimited(command, context.env, limit);
  context.files.log(`${tool}: ${result.outcome}`, result.output);
  // Some virtual machines do not support it.
  if (/Device not supported/i.test(result.output)) {
    return skipped("compute-sanitizer: Device not supported");
  }
  if (result.outcome === "hung") throw new Error("it ran out of time");
  if (result.outcome === "failed") throw new Error(`it failed with exit status ${result.code}`);
  const summary = /^=+ (?:ERROR|RACECHECK) SUMMARY:.*$/m.exec(result.output)?.[0];
  const counts = COUNTS.exec(result.output)?.[0];
  if (counts === undefined || summary === undefined) {
    throw new Error(`Cannot find the summary of ${tool} in its output`);
  }
  return passed(`${counts}; ${summary.replace(/^=+ /, "")}`);
}

/** The tests of a run on the host device, which only shows that the steps work. */
export function shortTests({ files, suspects }: DeviceTests, only: string): DeviceTests {
  return {
    files: files.filter((file) => file.includes(only)),
    suspects: suspects.filter((file) => file.includes(only)),
  };
}
