/**
 * Launch parameters for problems of all forms, each of another size, as in a program with arrays of
 * another length in every call. The goal is 2 µs.
 */

import { planLaunch, type PlannedKernel } from "../src/launch/launch_planner.ts";
import type { LaunchProblem } from "../src/launch/launch_problem.ts";
import { device } from "./support/bench_device.ts";
import { measure } from "./support/measure.ts";

const CALLS = 1024;

const builtIn = device.kernels.load("empty()");
/** As one of a module, which may have several axes. */
const kernel: PlannedKernel = {
  name: builtIn.name,
  context: builtIn.context,
  attributes: builtIn.attributes,
};

/** Keeps the plans from being optimised away. */
let blocks = 0;
globalThis.addEventListener("unload", () => {
  if (!Number.isSafeInteger(blocks)) throw new Error("nothing was planned");
});

function measurePlans(
  title: string,
  problemOf: (size: number) => LaunchProblem,
  planned = kernel,
): void {
  // Steps prime to the range: small and large sizes alternate.
  const problems = Array.from({ length: CALLS }, (_, index) => problemOf((index * 9973) % 100_000));
  measure(title, { group: "launch parameters", calls: CALLS }, () => {
    for (let i = 0; i < CALLS; i++) blocks += planLaunch(planned, problems[i]!).blocks;
  });
}

measurePlans("elements", (size) => ({ elements: size ** 2 }), builtIn);
measurePlans("elements, exactly", (size) => ({ elements: size ** 2 }));
measurePlans("rows and columns", (size) => ({ rows: size, columns: 100_000 - size }));
measurePlans("rows and columns, striding", (size) => ({
  rows: size,
  columns: 100_000 - size,
  coverage: "stride",
}));
measurePlans("rows, columns and planes, striding", (size) => ({
  rows: size,
  columns: 1000,
  planes: 100_000 - size,
  coverage: "stride",
}));
measurePlans("a product by tiles", (size) => ({
  m: size,
  n: 100_000 - size,
  k: 4096,
  tile: { m: 32, n: 32 },
}));
measurePlans("shared memory by the block", (size) => ({
  rows: size,
  columns: size,
  sharedMemory: ({ x, y }) => 4 * x * y,
}));
