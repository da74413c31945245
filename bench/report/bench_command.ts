/**
 * `deno task bench`: runs the benchmarks and prints what a call takes and how it compares.
 * Arguments go to `deno bench`: files, `--filter`.
 *
 * @module
 */

import { textTable } from "../../src/cli/text_table.ts";
import { type ComparedFigure, compareFigures, groupFigures, readBenchJson } from "./figure.ts";
import { measureFirstLaunches } from "./first_launches.ts";
import { formatBandwidth, formatComparison, formatDuration } from "./formats.ts";

/** How many processes the cost of the first launches is taken from. */
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

function describeGroup(figures: readonly ComparedFigure[]): string {
  const [{ area, group }] = figures as [ComparedFigure];
  const table = textTable(
    ["", "per call", "fastest", "bandwidth", "against baseline"],
    figures.map((figure) => [
      figure.title,
      formatDuration(figure.nanoseconds),
      formatDuration(figure.fastest),
      figure.bytesPerSecond === null ? "" : formatBandwidth(figure.bytesPerSecond),
      formatComparison(figure),
    ]),
    ["left", "right", "right", "right", "right"],
  );
  return `\n${area}: ${group}\n${table}`;
}

const figures = readBenchJson(await runBenchmarks(Deno.args));
if (Deno.args.length === 0) figures.push(...await measureFirstLaunches(PROCESSES));
for (const group of groupFigures(compareFigures(figures))) console.log(describeGroup(group));
console.log(
  "\nper call: what three quarters of the samples took at most. against baseline: bandwidth in " +
    "percent, or time.",
);
