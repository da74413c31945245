import { assertEquals } from "@std/assert";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import { formatReached } from "../../bench/report/goals.ts";
import { layoutGoals } from "../../bench/report/layout_goals.ts";

const GROUP = "reordering 64 MiB of Float32Array into";
const GIVEN = `${GROUP} memory that is there`;
const NEW = `${GROUP} new memory`;

function figure(group: string, title: string, ...nanoseconds: number[]): Figure {
  return figureOf({ area: "layout", group, title, baseline: false, bytes: 1 }, nanoseconds);
}

function rows(...figures: Figure[]): string[] {
  return layoutGoals(figures).map((goal) =>
    [goal.name, goal.goal, goal.measured, formatReached(goal)].join("|")
  );
}

Deno.test("layouts are compared with a copy of the same kind by the fastest samples", () => {
  const copy = figure(GIVEN, "to.set(from)", 100, 900);
  const where = "into memory that is there, by to.set(from)";
  assertEquals(rows(copy, figure(GIVEN, "transposed", 200, 1), figure(GIVEN, "tiled", 201)), [
    `Float32Array transposed ${where}|at least 0.500 ×|100 ×|reached`,
    `Float32Array tiled ${where}|at least 0.500 ×|0.498 ×|missed`,
  ]);
  assertEquals(rows(copy, figure(GIVEN, "to[i] = from[i]", 200), figure(GIVEN, "Z-order", 400)), [
    `a copy of Float32Array by a loop ${where}||0.500 ×|`,
    `Float32Array Z-order ${where}||0.250 ×|`,
  ]);
  assertEquals(rows(figure(GIVEN, "transposed", 200)), []);
});

Deno.test("what goes into new memory is compared with what does the same, whatever else is there", () => {
  const figures = [
    figure(GIVEN, "transposed", 300),
    figure(NEW, "structure of arrays", 800),
    figure(NEW, "data.slice()", 400),
    figure(GIVEN, "to.set(from)", 100),
  ];
  assertEquals(rows(...figures), [
    "Float32Array transposed into memory that is there, by to.set(from)|at least 0.500 ×|0.333 ×|" +
    "missed",
    "Float32Array structure of arrays into new memory, by data.slice()|at least 0.500 ×|0.500 ×|" +
    "reached",
  ]);
});
