/**
 * The goals of reordering data beside what was measured in the same run, by the fastest samples:
 * other work on the machine only ever adds to a time.
 *
 * @module
 */

import type { Figure } from "./figure.ts";
import { type GoalOutcome, speedGoal } from "./goals.ts";

const AREA = "layout";
/** What layouts are compared with: a copy into memory that is there, and one into new memory. */
const COPIES = ["to.set(from)", "data.slice()"];
const LOOP = "to[i] = from[i]";
/** Which type a group is of, and where its elements go. */
const GROUP = / of (?<type>\w+) (?<where>into .+)$/;
/** The share of a copy's bandwidth that layouts must reach, wherever they go. */
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
  const copy = figures.find(({ title }) => COPIES.includes(title));
  const group = GROUP.exec(copy?.group ?? "")?.groups;
  if (copy === undefined || group === undefined) return [];
  return figures.filter((figure) => figure !== copy).map(({ title, fastest }) => {
    const what = title === LOOP ? `a copy of ${group.type} by a loop` : `${group.type} ${title}`;
    const least = LAYOUTS.includes(title) ? SHARE : null;
    return speedGoal(`${what} ${group.where}, by ${copy.title}`, copy.fastest, fastest, least);
  });
}
