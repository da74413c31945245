import { assertEquals } from "@std/assert";
import { analysisGoals } from "../../bench/report/analysis_goals.ts";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import { formatReached } from "../../bench/report/goals.ts";

function figure(group: string, title: string, ...samples: number[]): Figure {
  return figureOf({ area: "analysis", group, title, baseline: false, bytes: null }, samples);
}

function rows(...[figures, stream]: Parameters<typeof analysisGoals>): string[] {
  return analysisGoals(figures, stream).map((goal) =>
    [goal.name, goal.goal, goal.measured, formatReached(goal)].join("|")
  );
}

Deno.test("`analysisGoals()` compares the slowest pattern of a kind by its fastest sample", () => {
  const figures = [
    figure("regular patterns", "sequential", 1, 9, 9),
    figure("regular patterns", "broadcast", 2.5, 100),
    figure("random indices", "of 4 Mi", 40),
    figure("random indices, with reuse", "of 4 Mi", 50),
    figureOf({ ...figure("regular patterns", "x", 99), area: "pool" }, [99]),
  ];
  assertEquals(rows(figures, null), [
    "slowest of regular patterns|at least 200 M indices/s|400 M indices/s|reached",
    "slowest of random indices|at least 40.0 M indices/s|25.0 M indices/s|missed",
    "slowest of random indices, with reuse||20.0 M indices/s|",
  ]);
  assertEquals(rows([], null), []);
});

Deno.test("`analysisGoals()` reports a stream of 10⁹ indices when it was measured", () => {
  assertEquals(rows([], { nanoseconds: 8, grown: 64 * 2 ** 20 }), [
    "10⁹ sequential indices, piece by piece|at least 200 M indices/s|125 M indices/s|missed",
    "memory that these took|at most 32 MiB|64.0 MiB|missed",
  ]);
  assertEquals(
    analysisGoals([], { nanoseconds: 2, grown: 0 }).map(({ reached }) => reached),
    [true, true],
  );
});
