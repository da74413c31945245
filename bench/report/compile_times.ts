/**
 * How long it takes from a source to a kernel that can be launched, each sample from a process of
 * its own.
 *
 * @module
 */

import { findCppCompiler } from "../../src/ffi/build/compilers.ts";
import { type Figure, figureOf } from "./figure.ts";
import { runBenchProgram } from "./program.ts";

/** What `first_kernel.ts` prints: nanoseconds, and requests of the first time that were compiled. */
interface FirstKernel {
  readonly first: number;
  /** Out of the cache only. */
  readonly again: number | null;
  readonly misses: number;
}

type Environment = Readonly<Record<string, string>>;

const AREA = "compile";
const GROUP = "source of 100 lines to a kernel that can be launched";

/** Titles of the figures. */
export const COMPILE_TITLES = {
  compiled: "compiled",
  freshProcess: "out of the compile cache, in a fresh process",
  sameProcess: "out of the compile cache, in the same process",
} as const;

/**
 * Measures compilations, and hits of the compile cache. A process that hits the cache may start no
 * other process, and so no compiler.
 *
 * @param processes How many processes of each kind.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureCompiling(
  processes: number,
  env: Environment = {},
): Promise<Figure[]> {
  const directory = await Deno.makeTempDir({ prefix: "gridstride-bench-" });
  try {
    const kept = { ...env, GRIDSTRIDE_CACHE_DIR: directory };
    const run = (kind: string, denied: readonly string[] = []) =>
      runBenchProgram<FirstKernel>("first_kernel", { args: [kind], env: kept, denied });
    const compiled: number[] = [];
    for (let i = 0; i < processes; i++) compiled.push((await run("compiled")).first);
    await run("cached");
    const found: FirstKernel[] = [];
    for (let i = 0; i < processes; i++) found.push(await run("cached", ["--deny-run"]));
    if (found.some(({ misses }) => misses > 0)) throw new Error("Cannot measure hits: some missed");
    const named = { area: AREA, group: GROUP, baseline: false, bytes: null };
    return [
      figureOf({ ...named, title: COMPILE_TITLES.compiled, baseline: true }, compiled),
      figureOf({ ...named, title: COMPILE_TITLES.freshProcess }, found.map(({ first }) => first)),
      figureOf({ ...named, title: COMPILE_TITLES.sameProcess }, found.map(({ again }) => again!)),
      ...await measureSteps(processes, kept),
    ];
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/**
 * Measures the processor time of the steps of g++. It appends lines such as `0.23 0.02 cc1plus …` to
 * a file: seconds in user and in system mode.
 */
async function measureSteps(processes: number, env: Environment): Promise<Figure[]> {
  const compiler = await findCppCompiler(undefined, (name) => env[name] ?? Deno.env.get(name));
  if (env.GRIDSTRIDE_DEVICE === "cuda" || compiler.family !== "gcc") return [];
  const directory = await Deno.makeTempDir({ prefix: "gridstride-bench-" });
  try {
    const times = `${directory}/times`;
    const program = `${directory}/g++`;
    const command = compiler.command.map((part) => `'${part}'`).join(" ");
    await Deno.writeTextFile(program, `#!/bin/sh\nexec ${command} -time='${times}' "$@"\n`, {
      mode: 0o755,
    });
    for (let i = 0; i < processes; i++) {
      const args = ["compiled"];
      await runBenchProgram("first_kernel", { args, env: { ...env, CXX: program } });
    }
    return stepFigures(await Deno.readTextFile(times));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The compiler's steps, by what `g++ -time` calls them. */
const STEPS: Readonly<Record<string, string>> = {
  cc1plus: "compiling",
  as: "assembling",
  collect2: "linking",
};

/** Figures of what `g++ -time` has written. */
export function stepFigures(times: string): Figure[] {
  const lines = [...times.matchAll(/^([\d.]+) ([\d.]+) (?:\S*\/)?(\S+)/gm)];
  const steps = Map.groupBy(lines, ([, , , step]) => step!);
  return [...steps].filter(([step]) => step in STEPS).map(([step, samples]) =>
    figureOf(
      {
        area: AREA,
        group: "the C++ compiler's own time",
        title: STEPS[step]!,
        baseline: false,
        bytes: null,
      },
      samples.map(([, user, system]) => (Number(user) + Number(system)) * 1e9),
    )
  );
}
