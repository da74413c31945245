/**
 * Goals and their measured values.
 *
 * @module
 */

import { formatApart, formatDuration, formatNumber } from "./formats.ts";

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
  const [measured, goal] = formatApart(nanoseconds, most, formatDuration);
  return { name, goal: `at most ${goal}`, measured, reached: nanoseconds <= most };
}

/** A goal that is a ratio which must be reached. */
export function leastGoal(name: string, ratio: number, least: number): GoalOutcome {
  const [measured, goal] = formatApart(ratio, least, formatNumber);
  return { name, goal: `at least ${goal} ×`, measured: `${measured} ×`, reached: ratio >= least };
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
  if (least !== null) return leastGoal(name, speedup, least);
  return { name, goal: "", measured: `${formatNumber(speedup)} ×`, reached: null };
}

/** A goal that is a ratio which must not be exceeded. */
export function ratioGoal(name: string, ratio: number, most: number): GoalOutcome {
  const [measured, goal] = formatApart(ratio, most, formatNumber);
  return { name, goal: `at most ${goal} ×`, measured: `${measured} ×`, reached: ratio <= most };
}

/** The word that tables have for it. */
export function formatReached({ reached }: GoalOutcome): string {
  return reached === null ? "" : reached ? "reached" : "missed";
}
