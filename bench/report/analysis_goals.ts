/**
 * The goals of the access analysis, compared with the fastest samples of a run: other work on the
 * machine only ever adds to a time.
 *
 * @module
 */

import type { Figure } from "./figure.ts";
import { formatApart, formatNumber } from "./formats.ts";
import type { GoalOutcome } from "./goals.ts";
import { runBenchProgram } from "./program.ts";

const AREA = "analysis";
const MEBIBYTE = 2 ** 20;

/** Goals in millions of indices a second; `null` for none. */
const GROUPS: readonly (readonly [string, number | null])[] = [
  ["regular patterns", 200],
  ["patterns of runs", null],
  ["random indices", 40],
  ["regular patterns, with reuse", null],
  ["random indices, with reuse", null],
];
/** Bytes by which a process may grow while it analyses, before garbage is collected. */
const GROWN = 32 * MEBIBYTE;

/** The cost of analysing 10^9 indices. */
export interface AnalysisStream {
  /** Nanoseconds an index. */
  readonly nanoseconds: number;
  /** Bytes by which the process grew. */
  readonly grown: number;
}

/** Analyses 10^9 indices piece by piece in a process of its own. */
export function measureAnalysisStream(): Promise<AnalysisStream> {
  return runBenchProgram<AnalysisStream>("stream_analysis");
}

/**
 * Compares figures with the goals; empty if none was measured.
 *
 * @param figures All figures of a run.
 * @param stream The cost of 10^9 indices; `null` if it was not measured.
 */
export function analysisGoals(
  figures: readonly Figure[],
  stream: AnalysisStream | null,
): GoalOutcome[] {
  const rates = GROUPS.flatMap(([group, least]) => {
    const times = figures.filter((figure) => figure.area === AREA && figure.group === group)
      .map(({ fastest }) => fastest);
    const slowest = Math.max(...times);
    return times.length === 0 ? [] : [rateGoal(`slowest of ${group}`, slowest, least)];
  });
  if (stream === null) return rates;
  return [
    ...rates,
    rateGoal("10⁹ sequential indices, piece by piece", stream.nanoseconds, 200),
    {
      name: "memory that these took",
      goal: `at most ${GROWN / MEBIBYTE} MiB`,
      measured: `${formatNumber(stream.grown / MEBIBYTE)} MiB`,
      reached: stream.grown <= GROWN,
    },
  ];
}

function rateGoal(name: string, nanoseconds: number, least: number | null): GoalOutcome {
  const millions = 1000 / nanoseconds;
  const [measured, goal] = least === null
    ? [formatNumber(millions), null]
    : formatApart(millions, least, formatNumber);
  return {
    name,
    goal: goal === null ? "" : `at least ${goal} M indices/s`,
    measured: `${measured} M indices/s`,
    reached: least === null ? null : millions >= least,
  };
}
