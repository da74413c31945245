/**
 * The goals of reordering data beside what was measured in the same run, by the fastest samples:
 * other work on the machine only ever adds to a time.
 *
 * @module
 */

import type { Figure } from "./figure.ts";
import { type GoalOutcome, speedGoal } from "./goals.ts";

const AREA = "layout";
const COPY = "to.set(from)";
const LOOP = "to[i] = from[i]";
/** The share of a copy's bandwidth that layouts must reach. */
const SHARE = 0.5;
/** Those that it is asked of; what misses every cache at every element is for comparison. */
const LAYOUTS = ["transposed", "structure of arrays", "tiled"];

/**
 * Compares figures with the goals; empty where nothing of it was measured.
 *
 * @param figures All figures of a run.
 */
export function layoutGoals(figures: readonly Figure[]): GoalOutcome[] {
  const measured = figures.filter(({ area }) => area === AREA);
  return [...Map.groupBy(measured, ({ group }) => group).values()].flatMap(groupGoals);
}

function groupGoals(figures: readonly Figure[]): GoalOutcome[] {
  const copy = figures.find(({ title }) => title === COPY);
  if (copy === undefined) return [];
  const type = copy.group.split(" ").at(-1);
  return figures.filter(({ title }) => title !== COPY).map(({ title, fastest }) => {
    const name = title === LOOP ? `a copy of ${type} by a loop` : `${type} ${title}`;
    const least = LAYOUTS.includes(title) ? SHARE : null;
    return speedGoal(`${name}, by a copy`, copy.fastest, fastest, least);
  });
}
