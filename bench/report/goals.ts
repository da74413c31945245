/**
 * Goals and their measured values.
 *
 * @module
 */

import { formatDuration, formatNumber } from "./formats.ts";

/** A goal and how far it was reached. */
export interface GoalOutcome {
  /** The measured work. */
  readonly name: string;
  /** The goal as text: `at most 60.0 ns`. */
  readonly goal: string;
  /** The measured value as text. */
  readonly measured: string;
  /** Whether that reaches it; `null` where there is no goal, and the figure is for comparison. */
  readonly reached: boolean | null;
}

/** A goal that is a time, in nanoseconds. */
export function timeGoal(name: string, nanoseconds: number, most: number): GoalOutcome {
  return {
    name,
    goal: `at most ${formatDuration(most)}`,
    measured: formatDuration(nanoseconds),
    reached: nanoseconds <= most,
  };
}

/**
 * A goal that is how many times as long the others take.
 *
 * @param least The goal; `null` if there is none.
 */
export function speedGoal(
  name: string,
  theirs: number,
  ours: number,
  least: number | null,
): GoalOutcome {
  const speedup = theirs / ours;
  return {
    name,
    goal: least === null ? "" : `at least ${formatNumber(least)} ×`,
    measured: `${formatNumber(speedup)} ×`,
    reached: least === null ? null : speedup >= least,
  };
}

/** A goal that is a ratio which must not be exceeded. */
export function ratioGoal(name: string, ratio: number, most: number): GoalOutcome {
  return {
    name,
    goal: `at most ${formatNumber(most)} ×`,
    measured: `${formatNumber(ratio)} ×`,
    reached: ratio <= most,
  };
}

/** The word that tables have for it. */
export function formatReached({ reached }: GoalOutcome): string {
  return reached === null ? "" : reached ? "reached" : "missed";
}
