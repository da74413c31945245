// Goals of a GPU report: each compares its figure, and is absent without one.

import { assertEquals } from "@std/assert";
import { analysisGoals } from "../../bench/report/analysis_goals.ts";
import { COMPILE_TITLES } from "../../bench/report/compile_times.ts";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import {
  formatReached,
  type GoalOutcome,
  leastGoal,
  ratioGoal,
  speedGoal,
  timeGoal,
} from "../../bench/report/goals.ts";
import { kernelGoals } from "../../bench/report/kernel_goals.ts";
import { launchGoals } from "../../bench/report/launch_goals.ts";
import { poolGoals } from "../../bench/report/pool_goals.ts";
import { productGoals } from "../../bench/report/product_goals.ts";
import { tensorGoals } from "../../bench/report/tensor_goals.ts";
import { tuningGoals } from "../../bench/report/tuned_choices.ts";

function figure(area: string, group: string, title: string, ...samples: number[]): Figure {
  return figureOf({ area, group, title, baseline: false, bytes: null }, samples);
}

/** The same work as a figure of ours in another library. */
function peer(library: string, ours: Figure, ...samples: number[]): Figure {
  const { area, group, title: beside } = ours;
  const named = { area, group, title: library, baseline: false, bytes: null };
  return figureOf(named, samples, { library: { name: library, version: "1" }, beside });
}

function rows(goals: readonly GoalOutcome[]): string[] {
  return goals.map((goal) => [goal.name, goal.goal, goal.measured, formatReached(goal)].join("|"));
}

Deno.test("timeGoal() and its siblings never print the goal itself as missed", () => {
  assertEquals(
    rows([
      timeGoal("time", 5004, 5000),
      leastGoal("ratio", 0.9996, 1),
      speedGoal("speed", 0.9996, 1, 1),
      ratioGoal("ratio", 1.0804, 1.08),
    ]),
    [
      "time|at most 5.000 µs|5.004 µs|missed",
      "ratio|at least 1.000 ×|0.9996 ×|missed",
      "speed|at least 1.000 ×|0.9996 ×|missed",
      "ratio|at most 1.0800 ×|1.0804 ×|missed",
    ],
  );
});

Deno.test("kernelGoals() subtracts the fastest native call from the fastest launch", () => {
  const own = "own time over a native call that does nothing";
  const first = "first thousand launches of a process, over a native call that does nothing";
  const four = "a module's kernel.launch() with four arguments";
  const figures = [
    figure("overhead", own, "the native call", 4, 9, 9, 9),
    figure("overhead", own, four, 64, 900, 900, 900),
    figure("overhead", first, "the native call", 40),
    figure("overhead", first, four, 441),
    figure("launch", own, four, 1),
  ];
  assertEquals(rows(kernelGoals(figures, "host")), [
    "own time of a launch with four arguments|at most 60.0 ns|60.0 ns|reached",
    "the same, of the first thousand launches|at most 400 ns|401 ns|missed",
  ]);
  assertEquals(kernelGoals([figures[1]!], "host"), []);
});

Deno.test("kernelGoals() compares launches with C and peers on a GPU only", () => {
  const group = "launch of a module's kernel with four arguments";
  const figures = [
    figure("launch", group, "C loop", 1000, 1100, 1100, 1100),
    figure("launch", group, "kernel.launch()", 1080, 2000, 2000, 2000),
  ];
  const ours = figures[1]!;
  const peers = [
    peer("Triton", ours, 2700, 9000),
    peer("numba", ours, 2700),
    peer("CuPy", ours, 540),
    peer("RMM", { ...ours, title: "allocate 4 KiB" }, 1),
  ];
  assertEquals(rows(kernelGoals([...figures, ...peers], "cuda")), [
    "a launch by one in a C loop|at most 1.08 ×|1.08 ×|reached",
    "a launch by Triton|at least 2.50 ×|2.50 ×|reached",
    "a launch by numba|at least 3.00 ×|2.50 ×|missed",
    "a launch by CuPy||0.500 ×|",
  ]);
  assertEquals(kernelGoals([...figures, ...peers], "host"), []);
});

Deno.test("kernelGoals() has a goal for compilations on the host device, and for the cache", () => {
  const group = "source of 100 lines to a kernel that can be launched";
  const figures = [
    figure("compile", group, COMPILE_TITLES.compiled, 301e6),
    figure("compile", group, COMPILE_TITLES.freshProcess, 5e6, 9e6, 9e6),
    figure("signature", "deno check of a program", "200 different signatures", 4e9),
  ];
  const shared = [
    "100 lines to a kernel, out of the compile cache, in a fresh process|" +
    "at most 5.00 ms|5.00 ms|reached",
    "deno check of 200 different signatures|at most 5.00 s|4.00 s|reached",
  ];
  assertEquals(rows(kernelGoals(figures, "cuda")), shared);
  const compiled = "100 lines to a kernel, compiled|at most 300 ms|301 ms|missed";
  assertEquals(rows(kernelGoals(figures, "host")), [compiled, ...shared]);
});

Deno.test("launchGoals() compares occupancy by the fastest sample", () => {
  const row = (rest: string) => [`occupancy of a block|at most 1.00 µs|${rest}`];
  const goals = (...samples: number[]) =>
    rows(launchGoals([figure("occupancy", "g", "occupancy()", ...samples)]));
  assertEquals(goals(1000, 9000), row("1.00 µs|reached"));
  assertEquals(goals(1010, 1020), row("1.01 µs|missed"));
  assertEquals(launchGoals([figure("launch", "g", "occupancy()", 1)]), []);
});

Deno.test("analysisGoals() compares the slowest pattern of a kind, and a measured stream", () => {
  const figures = [
    figure("analysis", "regular patterns", "sequential", 1, 9, 9),
    figure("analysis", "regular patterns", "broadcast", 2.5, 100),
    figure("analysis", "random indices", "of 4 Mi", 40),
    figure("pool", "regular patterns", "x", 99),
  ];
  assertEquals(rows(analysisGoals(figures, { nanoseconds: 8, grown: 64 * 2 ** 20 })), [
    "slowest of regular patterns|at least 200 M indices/s|400 M indices/s|reached",
    "slowest of random indices|at least 40.0 M indices/s|25.0 M indices/s|missed",
    "10⁹ sequential indices, piece by piece|at least 200 M indices/s|125 M indices/s|missed",
    "memory that these took|at most 32 MiB|64.0 MiB|missed",
  ]);
  assertEquals(analysisGoals([], null), []);
});

Deno.test("poolGoals() compares pairs with malloc, cudaMalloc and peers", () => {
  const ours = "allocate() and free()";
  const device = "gs_memory_allocate and gs_memory_free in C";
  const pair = "allocate and free 4 KiB";
  const thousand = "free one of 1 000 live blocks of 512 B to 1 MiB and allocate another";
  const cuda = "against cudaMalloc and cudaFree, 1 MiB";
  const figures = [
    figure("pool", pair, ours, 60),
    figure("pool", pair, "malloc() and free() in C", 15),
    figure("pool", thousand, ours, 101),
    figure("pool", cuda, ours, 50),
    figure("pool", cuda, device, 999),
    figure("memory", pair, ours, 1),
  ];
  const peers = [peer("Slow", figures[0]!, 400), peer("Fast", figures[0]!, 100)];
  assertEquals(rows(poolGoals([...figures, ...peers])).toSorted(), [
    "Fast, 4 KiB|at least 4.00 ×|1.67 ×|missed",
    "Slow, 4 KiB|at least 4.00 ×|6.67 ×|reached",
    `${pair}|at most 60.0 ns|60.0 ns|reached`,
    "cudaMalloc and cudaFree, 1 MiB|at least 20.00 ×|19.98 ×|missed",
    `${thousand}|at most 100 ns|101 ns|missed`,
    "malloc() and free() by that||0.250 ×|",
  ]);
  assertEquals(poolGoals(peers), []);
});

Deno.test("tuningGoals() fails when one choice is slower than noise allows", () => {
  const row = (untuned: number, tuned: number, untunedAgain = untuned, kept = false) => ({
    ...{ kernel: "k", elements: 1, untuned, tuned, untunedAgain, kept },
  });
  const reached = (...choices: ReturnType<typeof row>[]) => tuningGoals(choices)[0]?.reached;
  assertEquals(reached(row(10, 5), row(10, 10.5)), true);
  assertEquals(reached(row(10, 1), row(10, 12)), false);
  assertEquals(reached(row(10, 12, 12)), true, "within the noise of untuned launches");
  assertEquals(reached(row(10, 14, 10, true)), true, "the untuned choice was kept");
  assertEquals(reached(), undefined);
  const measured = tuningGoals([row(10, 5, 8), row(10, 20)]).map((goal) => goal.measured);
  assertEquals(measured, ["2.00 ×", "1.25 ×", "1.00 ×"]);
});

Deno.test("tensorGoals() compares each size with the faster peer, and NumPy with the fused chain", () => {
  const group = (power: number) => `tensors of 2^${power} float32`;
  const small = "tensors of 1 000 float32, enqueueing";
  const figures = [
    figure("tensor", group(16), "add", 10, 99, 99, 99),
    figure("tensor", group(18), "add", 20),
    figure("tensor", group(16), "fused chain", 10),
    figure("tensor", group(16), "softmax", 10),
    figure("tensor", group(26), "softmax", 10),
    { ...figure("tensor", group(26), "copy", 90), bytes: 900 },
    { ...figure("tensor", group(26), "transpose", 100), bytes: 900 },
    figure("tensor", small, "kernel.launch()", 1000),
    figure("tensor", small, "add", 7000),
    figure("tensor", "first use of an expression", "out of the compile cache", 9e6),
  ];
  const shared = figures.filter(({ title }) => ["add", "fused chain", "softmax"].includes(title))
    .filter(({ group }) => group !== small);
  const peers = shared.flatMap((ours) => [peer("NumPy", ours, 30), peer("PyTorch", ours, 12, 99)]);
  assertEquals(rows(tensorGoals([...figures, ...peers])), [
    "add by the faster peer, worst at 2^18|at least 0.800 ×|0.600 ×|missed",
    "add, mean of all sizes|at least 1.00 ×|0.849 ×|missed",
    "softmax by the faster peer, worst at 2^16|at least 0.800 ×|1.20 ×|reached",
    "softmax, mean of all sizes|at least 1.00 ×|1.20 ×|reached",
    "softmax by the fastest peer, 256 MiB|at least 1.05 ×|1.20 ×|reached",
    "five fused operations by NumPy, 2^16|at least 3.00 ×|3.00 ×|reached",
    "bandwidth of transpose by a copy's, 256 MiB|at least 0.930 ×|0.900 ×|missed",
    "own time of add, 1 000 elements|at most 5.00 µs|6.00 µs|missed",
    "first use of an expression, out of the compile cache|at most 10.0 ms|9.00 ms|reached",
  ]);
  assertEquals(tensorGoals(peers), []);
});

Deno.test("productGoals() compares the rates of a group with the goals of the device", () => {
  const rated = (area: string, group: string, title: string, time: number, amount: number) => ({
    ...figure(area, group, title, time, 99),
    ...{ bytes: amount, operations: amount },
  });
  const [product, row] = ["product of 4096 x 4096 and 4096 x 4096 float16", "ternary 1 × 8 × 8"];
  const prompt = "attention of 8 queries, float16";
  const figures = [
    rated("matmul", "product of 512 x 512 and 512 x 512 float32", "matmul()", 10, 100),
    rated("matmul", "product of 512 x 512 and 512 x 512 float32", "NumPy", 7, 100),
    rated("matmul", "product of 64 x 512 and 512 x 64 float32", "matmul()", 10, 100),
    rated("matmul", product, "matmul()", 10, 100),
    rated("matmul", product, "own kernel", 20, 100),
    rated("matmul", product, "PyTorch", 10, 100),
    rated("ternary", row, "ternaryMatmul", 2, 1),
    rated("ternary", row, "read", 4, 4),
    rated("ternary", row, "copy", 4, 2),
    rated("attention", prompt, "attention()", 10, 100),
    rated("attention", prompt, "attention(), a block of 4", 2, 25),
  ];
  assertEquals(rows(productGoals(figures, "host")), [
    "product of 512 x 512 and 512 x 512 float32: matmul() by NumPy|" +
    "at least 0.700 ×|0.700 ×|reached",
    `${row}: ternaryMatmul by read|at least 0.700 ×|0.500 ×|missed`,
  ]);
  assertEquals(rows(productGoals(figures, "cuda")), [
    `${product}: matmul() by PyTorch|at least 0.952 ×|1.00 ×|reached`,
    `${product}: own kernel by matmul()|at least 0.650 ×|0.500 ×|missed`,
    `${row}: ternaryMatmul by copy|at least 0.650 ×|1.00 ×|reached`,
    `${prompt}: attention(), a block of 4 by attention()|at least 0.900 ×|1.25 ×|reached`,
  ]);
});
