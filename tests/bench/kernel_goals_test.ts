import { assertEquals } from "@std/assert";
import { COMPILE_TITLES } from "../../bench/report/compile_times.ts";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import { formatReached, type GoalOutcome } from "../../bench/report/goals.ts";
import { kernelGoals } from "../../bench/report/kernel_goals.ts";

const OWN = "own time over a native call that does nothing";
const FIRST = "first thousand launches of a process, over a native call that does nothing";
const LAUNCH = "launch of a module's kernel with four arguments";
const FOUR = "a module's kernel.launch() with four arguments";

function figure(area: string, group: string, title: string, ...samples: number[]): Figure {
  return figureOf({ area, group, title, baseline: false, bytes: null }, samples);
}

function rows(goals: readonly GoalOutcome[]): string[] {
  return goals.map((goal) => [goal.name, goal.goal, goal.measured, formatReached(goal)].join("|"));
}

Deno.test("ownTime() subtracts the fastest native call from the fastest launch", () => {
  const goals = kernelGoals(
    [
      figure("overhead", OWN, "the native call", 4, 9, 9, 9),
      figure("overhead", OWN, FOUR, 64, 900, 900, 900),
      figure("overhead", FIRST, "the native call", 40),
      figure("overhead", FIRST, FOUR, 441),
      // Without its native call nothing can be said of it.
      figure("launch", OWN, FOUR, 1),
    ],
    [],
    "host",
  );
  assertEquals(rows(goals), [
    "own time of a launch with four arguments|at most 60.0 ns|60.0 ns|reached",
    "the same, of the first thousand launches|at most 400 ns|401 ns|missed",
  ]);
  assertEquals(kernelGoals([figure("overhead", OWN, FOUR, 64)], [], "host"), []);
});

Deno.test("Launch goals apply on a GPU only", () => {
  const figures = [
    figure("launch", LAUNCH, "C loop", 1000, 1100, 1100, 1100),
    figure("launch", LAUNCH, "kernel.launch()", 1080, 2000, 2000, 2000),
  ];
  const peers = [
    { name: "Triton", version: "1", nanoseconds: { "launch axpy": 5000 } },
    { name: "numba", version: "1", nanoseconds: { "launch axpy": 5000 } },
    { name: "CuPy", version: "1", nanoseconds: { "launch axpy": 1000 } },
    { name: "RMM", version: "1", nanoseconds: { "allocate 4 KiB": 1 } },
  ];
  assertEquals(rows(kernelGoals(figures, peers, "cuda")), [
    "a launch by one in a C loop|at most 1.08 ×|1.08 ×|reached",
    "a launch by Triton|at least 2.50 ×|2.50 ×|reached",
    "a launch by numba|at least 3.00 ×|2.50 ×|missed",
    "a launch by CuPy||0.500 ×|",
  ]);
  assertEquals(kernelGoals(figures, peers, "host"), []);
});

Deno.test("Compile goals apply on the host device, cache goals everywhere", () => {
  const group = "source of 100 lines to a kernel that can be launched";
  const figures = [
    figure("compile", group, COMPILE_TITLES.compiled, 301e6),
    figure("compile", group, COMPILE_TITLES.freshProcess, 5e6, 9e6, 9e6),
    figure("compile", group, COMPILE_TITLES.sameProcess, 1e6),
    figure("signature", "deno check of a program", "no signatures", 2e9),
    figure("signature", "deno check of a program", "200 different signatures", 4e9),
  ];
  const shared = [
    "100 lines to a kernel, out of the compile cache, in a fresh process|" +
    "at most 5.00 ms|5.00 ms|reached",
    "deno check of 200 different signatures|at most 5.00 s|4.00 s|reached",
  ];
  assertEquals(rows(kernelGoals(figures, [], "cuda")), shared);
  assertEquals(rows(kernelGoals(figures, [], "host")), [
    "100 lines to a kernel, compiled|at most 300 ms|301 ms|missed",
    ...shared,
  ]);
});
