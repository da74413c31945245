/**
 * What tuning gains, and whether it ever loses.
 *
 * @module
 */

import { type GoalOutcome, ratioGoal, speedGoal } from "./goals.ts";
import { runBenchProgram } from "./program.ts";

/** A kernel with and without tuning; times in microseconds. */
export interface TunedRow {
  /** The kernel. */
  readonly kernel: string;
  /** Number of elements. */
  readonly elements: number;
  /** Without tuning. */
  readonly untuned: number;
  /** With what tuning chose. */
  readonly tuned: number;
  /** Without tuning, timed once more: what differs from the first time is noise. */
  readonly untunedAgain: number;
}

/** Medians of the same launches differ by less than this from one set of rounds to another. */
const NOISE = 1.1;

/**
 * Tunes and measures in a process of its own.
 *
 * @param env Its environment variables in addition to those of this process.
 */
export function measureTunedChoices(
  env: Readonly<Record<string, string>> = {},
): Promise<TunedRow[]> {
  return runBenchProgram<TunedRow[]>("tuned_choices", { env });
}

/** A choice must not be slower than what would run without it, by more than noise. */
export function tuningGoals(rows: readonly TunedRow[]): GoalOutcome[] {
  if (rows.length === 0) return [];
  const slowest = (ratio: (row: TunedRow) => number) => Math.max(...rows.map(ratio));
  const mean = rows.reduce((sum, { tuned, untuned }) => sum + Math.log(untuned / tuned), 0) /
    rows.length;
  const noise = ({ untuned, untunedAgain }: TunedRow) =>
    Math.max(untuned / untunedAgain, untunedAgain / untuned);
  return [
    ratioGoal(
      `slowest choice of ${rows.length}, against no tuning`,
      slowest(({ tuned, untuned, untunedAgain }) => tuned / Math.max(untuned, untunedAgain)),
      NOISE,
    ),
    speedGoal("the same launches timed twice, farthest apart", slowest(noise), 1, null),
    speedGoal("speed with tuning, geometric mean", Math.exp(mean), 1, null),
  ];
}
