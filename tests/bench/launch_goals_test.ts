import { assertEquals } from "@std/assert";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import { formatReached } from "../../bench/report/goals.ts";
import { launchGoals } from "../../bench/report/launch_goals.ts";

function figure(area: string, title: string, ...nanoseconds: number[]): Figure {
  return figureOf({ area, group: "g", title, baseline: false, bytes: null }, nanoseconds);
}

function rows(...figures: Figure[]): string[] {
  return launchGoals(figures).map((goal) =>
    [goal.name, goal.goal, goal.measured, formatReached(goal)].join("|")
  );
}

Deno.test("Goals compare occupancy by the fastest sample", () => {
  const row = (rest: string) => `occupancy of a block|at most 200 ns|${rest}`;
  const title = "occupancy()";
  assertEquals(rows(figure("occupancy", title, 200, 900)), [row("200 ns|reached")]);
  assertEquals(rows(figure("occupancy", title, 201, 202)), [row("201 ns|missed")]);
  assertEquals(rows(figure("occupancy", "occupancyOf()", 1), figure("launch", title, 1)), []);
});
