/**
 * The goals of kernels from source and their measured values.
 *
 * Other work on the machine only adds to a time, and most to short ones. The fastest sample is
 * therefore compared with a goal.
 *
 * @module
 */

import { COMPILE_TITLES } from "./compile_times.ts";
import { type Figure, peersOf } from "./figure.ts";
import { type GoalOutcome, ratioGoal, speedGoal, timeGoal } from "./goals.ts";

/** What TypeScript may add to the native call of a launch, in nanoseconds. */
const OWN_NANOSECONDS = 60;
/** The same on average of the first thousand launches of a process. */
const FIRST_NANOSECONDS = 400;
/** What launches may take by the same launches in a C loop, where they are a GPU's. */
const AGAINST_C = 1.08;
/** How many times as long peers must take for a launch. */
const FASTER_THAN: Readonly<Record<string, number | null>> = {
  PyTorch: 2.5,
  Triton: 2.5,
  numba: 3,
  CuPy: null,
  "cuda.core": null,
};
/** What source to kernel may take on the host device, in nanoseconds. */
const COMPILED_NANOSECONDS = 0.3e9;
/** The same out of the compile cache. */
const CACHED_NANOSECONDS = 5e6;
/** What checking the types of 200 signatures may take, in nanoseconds. */
const CHECKED_NANOSECONDS = 5e9;

const OWN_TITLE = "a module's kernel.launch() with four arguments";
const LAUNCH_GROUP = "launch of a module's kernel with four arguments";

type Find = (area: string, group: string, title: string) => Figure | undefined;

/**
 * Compares figures with the goals; empty where nothing of it was measured.
 *
 * @param figures All figures of a run, those of other libraries too.
 * @param kind The device that was measured.
 */
export function kernelGoals(
  figures: readonly Figure[],
  kind: "cuda" | "host",
): GoalOutcome[] {
  const find: Find = (area, group, title) =>
    figures.find((figure) =>
      figure.area === area && figure.group.startsWith(group) && figure.title === title
    );
  return [
    ...ownTimeGoals(find),
    ...(kind === "cuda" ? launchGoals(find, figures) : []),
    ...compileGoals(find, kind),
    ...checkGoals(figures),
  ];
}

/** The time of launches over an empty native call, without that call. */
function ownTimeGoals(find: Find): GoalOutcome[] {
  const goals = [
    ["own time over", "own time of a launch with four arguments", OWN_NANOSECONDS],
    ["first thousand launches", "the same, of the first thousand launches", FIRST_NANOSECONDS],
  ] as const;
  return goals.flatMap(([group, name, most]) => {
    const launch = find("overhead", group, OWN_TITLE);
    const native = find("overhead", group, "the native call");
    if (launch === undefined || native === undefined) return [];
    return [timeGoal(name, Math.max(0, launch.fastest - native.fastest), most)];
  });
}

function launchGoals(find: Find, figures: readonly Figure[]): GoalOutcome[] {
  const ours = find("launch", LAUNCH_GROUP, "kernel.launch()");
  const loop = find("launch", LAUNCH_GROUP, "C loop");
  if (ours === undefined || loop === undefined) return [];
  return [
    ratioGoal("a launch by one in a C loop", ours.fastest / loop.fastest, AGAINST_C),
    ...peersOf(figures, ours).map(({ title, fastest }) =>
      speedGoal(`a launch by ${title}`, fastest, ours.fastest, FASTER_THAN[title] ?? null)
    ),
  ];
}

function compileGoals(find: Find, kind: "cuda" | "host"): GoalOutcome[] {
  const goals = [
    // How long NVRTC takes is NVIDIA's.
    ...(kind === "host" ? [[COMPILE_TITLES.compiled, COMPILED_NANOSECONDS] as const] : []),
    [COMPILE_TITLES.freshProcess, CACHED_NANOSECONDS] as const,
  ];
  return goals.flatMap(([title, most]) => {
    const figure = find("compile", "source of 100 lines", title);
    return figure === undefined
      ? []
      : [timeGoal(`100 lines to a kernel, ${title}`, figure.fastest, most)];
  });
}

function checkGoals(figures: readonly Figure[]): GoalOutcome[] {
  return figures.filter(({ area, title }) => area === "signature" && /^200 /.test(title))
    .map(({ title, fastest }) => timeGoal(`deno check of ${title}`, fastest, CHECKED_NANOSECONDS));
}
