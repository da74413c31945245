/**
 * `deno task bench`: runs the benchmarks and prints the time of a call and how it compares. Arguments are
 * files, such as `bench/launch_bench.ts`, and `--filter` with a regular expression of groups and titles.
 * `--save FILE` writes the figures, and `--compare FILE` compares with those of an earlier run: the exit
 * status is 1 if anything is slower beyond noise.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { defaultDevice } from "../../mod.ts";
import { textTable } from "../../src/cli/format.ts";
import { findProgram } from "../../src/ffi/build/programs.ts";
import { analysisGoals, measureAnalysisStream } from "./analysis_goals.ts";
import { AreaProcess } from "./area_process.ts";
import { measureCompiling } from "./compile_times.ts";
import { type AreaBench, type ComparedFigure, type Figure, groupFigures } from "./figure.ts";
import {
  measureFirstAllocations,
  measureFirstCopies,
  measureFirstLaunches,
  measureFirstOwnTime,
} from "./first_calls.ts";
import { formatComparison, formatDuration, formatNumber, formatRates } from "./formats.ts";
import { formatReached, type GoalOutcome } from "./goals.ts";
import type { MeasuredDevice } from "./gpu_report.ts";
import { checkFigures, figuresOf, goalsOf } from "./measurement.ts";
import { PEER_NAMES, Peers } from "./peer_process.ts";
import {
  type ComparedWork,
  compareRuns,
  readSavedFigures,
  type RunComparison,
  type SavedFigures,
} from "./regressions.ts";
import { measureFirstTensor } from "./tensor_goals.ts";
import { measureTunedChoices, tuningGoals } from "./tuned_choices.ts";
import { measureTypeChecks } from "./type_checks.ts";

/** Processes that the cost of the first calls is taken from. */
const PROCESSES = 5;

/** Milliseconds that an area may take, and its work in other libraries. */
const LIMIT = 30 * 60_000;

/** The names of the areas of the files, or of all. */
function areasOf(files: readonly string[]): string[] {
  const folder = new URL("../", import.meta.url);
  const all = [...Deno.readDirSync(folder)].map(({ name }) => name);
  const names = files.length === 0 ? all : files;
  return names.flatMap((name) => /([^/]+)_bench\.ts$/.exec(name)?.[1] ?? []).sort();
}

function describeGroup(figures: readonly ComparedFigure[]): string {
  const [{ area, group }] = figures as [ComparedFigure];
  const table = textTable(
    ["", "per call", "fastest", "rate", "against baseline"],
    figures.map((figure) => [
      figure.beside === undefined ? figure.title : `${figure.title}: ${figure.beside}`,
      formatDuration(figure.median),
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

function describeComparison({ works, missing, added }: RunComparison, isWhole: boolean): string {
  const changed = works.filter(({ verdict }) => verdict !== "same")
    .toSorted((a, b) => b.change - a.change);
  const table = textTable(
    ["", "before", "now", "change", "noise", ""],
    changed.map(({ name, before, now, change, noise, verdict }) => [
      name,
      formatDuration(before),
      formatDuration(now),
      `${formatNumber(change)} ×`,
      `${formatNumber(noise)} ×`,
      verdict,
    ]),
    "<>>>>",
  );
  const count = (verdict: ComparedWork["verdict"]) =>
    works.filter((work) => work.verdict === verdict).length;
  return [
    `\n${count("slower")} slower, ${count("faster")} faster, ${
      count("same")
    } unchanged within noise`,
    ...(changed.length === 0 ? [] : [table]),
    // A part of the benchmarks leaves the others out.
    ...(isWhole ? missing : []).map((name) => `Not measured any more: ${name}`),
    ...added.map((name) => `Not measured before: ${name}`),
  ].join("\n");
}

const { filter, save, compare, _: files } = parseArgs(Deno.args, {
  string: ["filter", "save", "compare"],
});
const isWhole = filter === undefined && files.length === 0;
const device = defaultDevice();
// Read first: a wrong file is no reason to measure for an hour.
const earlier = compare === undefined
  ? undefined
  : readSavedFigures(Deno.readTextFileSync(compare), compare, device);
const { kind } = device;
const missing: string[] = [];
const pass: AreaBench[] = [];
const python = findProgram("python3", (name) => Deno.env.get(name));
{
  const names = kind === "host" ? ["PyTorch", "NumPy"] : PEER_NAMES;
  await using peers = python === undefined ? undefined : new Peers(python, false, {}, names);
  for (const area of areasOf(files.map(String))) {
    await using process = new AreaProcess(area, filter === undefined ? {} : { filter });
    const { benches, failures } = await process.run("forward", LIMIT);
    missing.push(...failures);
    pass.push(...benches);
    if (peers === undefined) continue;
    const others = await peers.run(benches, LIMIT);
    missing.push(...others.skipped);
    pass.push(...others.benches);
  }
}
const first: Figure[] = [];
if (isWhole) {
  first.push(...await measureFirstLaunches(PROCESSES));
  first.push(...await measureFirstOwnTime(PROCESSES));
  first.push(...await measureFirstAllocations(PROCESSES));
  first.push(...await measureFirstCopies(PROCESSES));
  first.push(...await measureCompiling(PROCESSES));
  first.push(...await measureTypeChecks(PROCESSES));
  first.push(...await measureFirstTensor(PROCESSES));
}
const described: MeasuredDevice = { ...device, kind };
const { figures, impossible } = checkFigures([...figuresOf([pass], []), ...first], described);
for (const group of groupFigures(figures)) console.log(describeGroup(group));
const stream = isWhole ? await measureAnalysisStream() : null;
const tuned = isWhole ? await measureTunedChoices() : [];
const goals = {
  ...goalsOf(figures, kind),
  "Tuned launch parameters": tuningGoals(tuned),
  "Access patterns": analysisGoals(figures, stream),
};
for (const [subject, outcomes] of Object.entries(goals)) {
  if (outcomes.length > 0) console.log(describeGoals(subject, outcomes));
}
for (const reason of missing) console.log(`\nNot measured: ${reason}`);
for (const reason of impossible) console.log(`\nImpossible: ${reason}`);
console.log(
  "\nper call: the median of the samples; goals are compared with the fastest, of the pool with the " +
    "median. against baseline: bandwidth or operations in percent, or time.",
);
if (save !== undefined) {
  const saved: SavedFigures = { device: described, date: new Date().toISOString(), figures };
  Deno.writeTextFileSync(save, `${JSON.stringify(saved, null, 2)}\n`);
}
const comparison = earlier === undefined ? undefined : compareRuns(earlier, figures);
if (comparison !== undefined) console.log(describeComparison(comparison, isWhole));
const isSlower = comparison?.works.some(({ verdict }) => verdict === "slower") === true;
if (impossible.length > 0 || isSlower) Deno.exit(1);
