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
  /** Whether tuning chose what would run without it: then all three are the same launches. */
  readonly kept: boolean;
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

/**
 * A choice must not be slower than the default by more than the noise. A kept default is
 * no slower than itself, and shows the noise.
 */
export function tuningGoals(rows: readonly TunedRow[]): GoalOutcome[] {
  if (rows.length === 0) return [];
  const changed = rows.filter(({ kept }) => !kept);
  const slower = ({ tuned, untuned, untunedAgain }: TunedRow) =>
    tuned / Math.max(untuned, untunedAgain);
  const mean = rows.reduce((sum, { tuned, untuned }) => sum + Math.log(untuned / tuned), 0) /
    rows.length;
  const noise = ({ untuned, untunedAgain, tuned, kept }: TunedRow) => {
    const times = kept ? [untuned, untunedAgain, tuned] : [untuned, untunedAgain];
    return Math.max(...times) / Math.min(...times);
  };
  return [
    ratioGoal(
      `slowest of ${changed.length} choices that leave the default (${rows.length} tuned), against it`,
      Math.max(0, ...changed.map(slower)),
      NOISE,
    ),
    speedGoal(
      "the same launches timed again, farthest apart",
      Math.max(...rows.map(noise)),
      1,
      null,
    ),
    speedGoal("speed with tuning, geometric mean", Math.exp(mean), 1, null),
  ];
}
