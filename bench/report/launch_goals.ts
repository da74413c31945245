/**
 * The goals of launch parameters beside the measurements of the same run, by the fastest samples:
 * other work on the machine only ever adds to a time, and most of all to short ones.
 *
 * @module
 */

import type { Figure } from "./figure.ts";
import { type GoalOutcome, timeGoal } from "./goals.ts";

/** The limit of a call in nanoseconds. */
const GOALS = [
  { area: "occupancy", title: "occupancy()", name: "occupancy of a block", most: 1000 },
  { area: "plan", title: "elements", name: "launch parameters for elements", most: 2000 },
  { area: "plan", title: "rows and columns", name: "the same for rows and columns", most: 2000 },
  { area: "plan", title: "a product by tiles", name: "the same for a product", most: 2000 },
] as const;

/**
 * Compares figures with the goals; empty where nothing of it was measured.
 *
 * @param figures All figures of a run.
 */
export function launchGoals(figures: readonly Figure[]): GoalOutcome[] {
  return GOALS.flatMap(({ area, title, name, most }) =>
    figures.filter((figure) => figure.area === area && figure.title === title)
      .map(({ fastest }) => timeGoal(name, fastest, most))
  );
}
