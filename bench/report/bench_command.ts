/**
 * `deno task bench`: runs the benchmarks and prints what a call takes and how it compares.
 * Arguments go to `deno bench`: files, `--filter`.
 *
 * @module
 */

import { defaultDevice } from "../../mod.ts";
import { findProgram, runProgram } from "../../src/ffi/build/programs.ts";
import { textTable } from "../../src/cli/format.ts";
import { analysisGoals, measureAnalysisStream } from "./analysis_goals.ts";
import { type ComparedFigure, compareFigures, groupFigures, readBenchJson } from "./figure.ts";
import { measureCompiling } from "./compile_times.ts";
import {
  measureFirstAllocations,
  measureFirstLaunches,
  measureFirstOwnTime,
} from "./first_calls.ts";
import { formatComparison, formatDuration, formatRates } from "./formats.ts";
import { formatReached, type GoalOutcome } from "./goals.ts";
import { kernelGoals } from "./kernel_goals.ts";
import { launchGoals } from "./launch_goals.ts";
import { poolGoals } from "./pool_goals.ts";
import { productGoals } from "./product_goals.ts";
import { measureFirstTensor, tensorGoals } from "./tensor_goals.ts";
import { type Peer, readPeerResults } from "./peers.ts";
import { measureTunedChoices, tuningGoals } from "./tuned_choices.ts";
import { measureTypeChecks } from "./type_checks.ts";

/** How many processes the cost of the first calls is taken from. */
const PROCESSES = 5;

async function runBenchmarks(args: readonly string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["bench", "-A", "--json", ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (success) return text;
  console.error(text);
  Deno.exit(1);
}

/** The tensor operations in NumPy and PyTorch on the processor, as far as these are installed. */
async function measureProcessorPeers(): Promise<readonly Peer[]> {
  const python = findProgram("python3", (name) => Deno.env.get(name));
  if (python === undefined) return [];
  const script = new URL("../peers/tensor.py", import.meta.url).pathname;
  const { success, stdout, stderr } = await runProgram([python], ["-B", script, "cpu"]);
  if (!success) throw new Error(`Cannot measure NumPy and PyTorch: ${stderr}`);
  const { peers, skipped } = readPeerResults(stdout);
  for (const reason of skipped) console.log(`\nNot compared: ${reason}`);
  return peers;
}

function describeGroup(figures: readonly ComparedFigure[]): string {
  const [{ area, group }] = figures as [ComparedFigure];
  const table = textTable(
    ["", "per call", "fastest", "rate", "against baseline"],
    figures.map((figure) => [
      figure.title,
      formatDuration(figure.nanoseconds),
      formatDuration(figure.fastest),
      formatRates(figure),
      formatComparison(figure),
    ]),
    "<>>>>",
  );
  return `\n${area}: ${group}\n${table}`;
}

function describeGoals(subject: string, goals: readonly GoalOutcome[]): string {
  const table = textTable(
    ["", "goal", "measured", ""],
    goals.map((goal) => [goal.name, goal.goal, goal.measured, formatReached(goal)]),
    "<>>",
  );
  return `\n${subject}\n${table}`;
}

const figures = readBenchJson(await runBenchmarks(Deno.args));
if (Deno.args.length === 0) {
  figures.push(...await measureFirstLaunches(PROCESSES));
  figures.push(...await measureFirstOwnTime(PROCESSES));
  figures.push(...await measureFirstAllocations(PROCESSES));
  figures.push(...await measureCompiling(PROCESSES));
  figures.push(...await measureTypeChecks(PROCESSES));
  figures.push(...await measureFirstTensor(PROCESSES));
}
for (const group of groupFigures(compareFigures(figures))) console.log(describeGroup(group));
// The other peers are measured by `deno task gpu`, where there is a GPU for them.
const { kind } = defaultDevice();
const onProcessor = kind === "host" && figures.some(({ area }) => area === "tensor")
  ? await measureProcessorPeers()
  : [];
const stream = Deno.args.length === 0 ? await measureAnalysisStream() : null;
const tuned = Deno.args.length === 0 ? await measureTunedChoices() : [];
const goals = {
  "Memory pool": poolGoals(figures, []),
  "Kernels from source (by the fastest sample)": kernelGoals(figures, [], kind),
  "Launch parameters (by the fastest sample)": launchGoals(figures),
  "Tuned launch parameters": tuningGoals(tuned),
  "Tensors (by the fastest sample)": tensorGoals(figures, onProcessor),
  "Products and attention (by the fastest sample)": productGoals(figures, kind),
  "Access patterns (by the fastest sample)": analysisGoals(figures, stream),
};
for (const [subject, outcomes] of Object.entries(goals)) {
  if (outcomes.length > 0) console.log(describeGoals(subject, outcomes));
}
console.log(
  "\nper call: what three quarters of the samples took at most. against baseline: bandwidth or " +
    "operations in percent, or time.",
);
