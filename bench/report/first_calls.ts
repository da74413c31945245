/**
 * The cost of the first calls of a process, each sample from a process of its own.
 *
 * @module
 */

import { type Figure, figureOf } from "./figure.ts";
import { runBenchProgram } from "./program.ts";

/** What the programs print, in nanoseconds. */
interface FirstCalls {
  readonly first: number;
  readonly following: number;
}

/**
 * Measures the first allocations.
 *
 * @param processes How many processes.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureFirstAllocations(
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Figure[]> {
  const samples: FirstCalls[] = [];
  for (let i = 0; i < processes; i++) {
    samples.push(await runBenchProgram<FirstCalls>("first_allocations", { env }));
  }
  const named = { area: "pool", title: "allocate() and free()", baseline: false, bytes: null };
  return [
    figureOf(
      { ...named, group: "first thousand pairs of a process" },
      samples.map(({ following }) => following),
    ),
    figureOf(
      { ...named, group: "first pair of a process, with the pool's first growth" },
      samples.map(({ first }) => first),
    ),
  ];
}

/**
 * Measures the first launches.
 *
 * @param processes How many processes of each kind.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureFirstLaunches(
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Figure[]> {
  const fromC: FirstCalls[] = [];
  const fromJavaScript: FirstCalls[] = [];
  for (let i = 0; i < processes; i++) {
    fromC.push(await runBenchProgram<FirstCalls>("first_launches", { args: ["C"], env }));
    fromJavaScript.push(await runBenchProgram<FirstCalls>("first_launches", { env }));
  }
  const following = { area: "launch", group: "first thousand launches of a process", bytes: null };
  return [
    figureOf(
      { ...following, title: "C loop", baseline: true },
      fromC.map((times) => times.following),
    ),
    figureOf(
      { ...following, title: "kernel.launch()", baseline: false },
      fromJavaScript.map((times) => times.following),
    ),
    figureOf(
      {
        ...following,
        group: "first launch of a process",
        title: "kernel.launch()",
        baseline: false,
      },
      [...fromC, ...fromJavaScript].map((times) => times.first),
    ),
  ];
}

/**
 * Measures what TypeScript adds to the first launches: over a native call that does nothing.
 *
 * @param processes How many processes of each kind.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureFirstOwnTime(
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Figure[]> {
  const program = "first_own_time";
  const native: number[] = [];
  const launches: number[] = [];
  for (let i = 0; i < processes; i++) {
    const nothing = await runBenchProgram<FirstCalls>(program, { args: ["nothing"], env });
    native.push(nothing.following);
    launches.push((await runBenchProgram<FirstCalls>(program, { env })).following);
  }
  const named = {
    area: "overhead",
    group: "first thousand launches of a process, over a native call that does nothing",
    bytes: null,
  };
  return [
    figureOf({ ...named, title: "the native call", baseline: true }, native),
    figureOf(
      { ...named, title: "a module's kernel.launch() with four arguments", baseline: false },
      launches,
    ),
  ];
}

/** Sizes of the first copies. Where they are only to show that they run, it is the smallest. */
const COPIES = [["1 MiB", 2 ** 20], ["64 MiB", 2 ** 26], ["256 MiB", 2 ** 28]] as const;

/**
 * Measures the first copies between an array and the device.
 *
 * @param processes How many processes of each size.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureFirstCopies(
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Figure[]> {
  const sizes = env.GRIDSTRIDE_BENCH === "quick" ? COPIES.slice(0, 1) : COPIES;
  const figures: Figure[] = [];
  for (const [size, bytes] of sizes) {
    const samples: { readonly up: number; readonly down: number }[] = [];
    for (let i = 0; i < processes; i++) {
      samples.push(await runBenchProgram("first_copies", { args: [String(bytes)], env }));
    }
    const named = {
      area: "copy",
      group: `first copies of a process, ${size}`,
      baseline: false,
      bytes,
    };
    figures.push(
      figureOf({ ...named, title: "from an array" }, samples.map(({ up }) => up)),
      figureOf({ ...named, title: "await copyTo() an array" }, samples.map(({ down }) => down)),
    );
  }
  return figures;
}
