import { assertEquals } from "@std/assert";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import { formatReached } from "../../bench/report/goals.ts";
import { layoutGoals } from "../../bench/report/layout_goals.ts";

const GROUP = "reordering 64 MiB of Float32Array";

function figure(title: string, ...nanoseconds: number[]): Figure {
  return figureOf({ area: "layout", group: GROUP, title, baseline: false, bytes: 1 }, nanoseconds);
}

function rows(...figures: Figure[]): string[] {
  return layoutGoals(figures).map((goal) =>
    [goal.name, goal.goal, goal.measured, formatReached(goal)].join("|")
  );
}

Deno.test("layouts are compared with a copy of the same kind by the fastest samples", () => {
  const copy = figure("to.set(from)", 100, 900);
  assertEquals(rows(copy, figure("transposed", 200, 1), figure("tiled", 201)), [
    "Float32Array transposed, by a copy|at least 0.500 ×|100 ×|reached",
    "Float32Array tiled, by a copy|at least 0.500 ×|0.498 ×|missed",
  ]);
  assertEquals(rows(copy, figure("to[i] = from[i]", 200), figure("Z-order", 400)), [
    "a copy of Float32Array by a loop, by a copy||0.500 ×|",
    "Float32Array Z-order, by a copy||0.250 ×|",
  ]);
  assertEquals(rows(figure("transposed", 200)), []);
});
