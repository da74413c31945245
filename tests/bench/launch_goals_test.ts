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
  const row = (rest: string) => `occupancy of a block|at most 1.00 µs|${rest}`;
  const title = "occupancy()";
  assertEquals(rows(figure("occupancy", title, 1000, 9000)), [row("1.00 µs|reached")]);
  assertEquals(rows(figure("occupancy", title, 1010, 1020)), [row("1.01 µs|missed")]);
  assertEquals(rows(figure("occupancy", "occupancyOf()", 1), figure("launch", title, 1)), []);
});
