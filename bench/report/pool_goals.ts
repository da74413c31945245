/**
 * The goals of the memory pool and their measured values.
 *
 * @module
 */

import { type Figure, peersOf } from "./figure.ts";
import { formatDuration } from "./formats.ts";
import { type GoalOutcome, speedGoal, timeGoal } from "./goals.ts";

const AREA = "pool";
const OURS = "allocate() and free()";
const MALLOC = "malloc() and free() in C";

/** The sizes of the pairs that the goals are about, as the groups of `pool_bench.ts` name them. */
const PAIR_SIZES = ["256 B", "4 KiB", "64 KiB", "1 MiB", "4 MiB"] as const;
/** What a pair may take, in nanoseconds. */
const PAIR_NANOSECONDS = 60;
/** What replacing one of 1 000 live blocks of random sizes may take, in nanoseconds. */
const RANDOM_NANOSECONDS = 100;
/** How many times as long a pair of the peers' pools, and of the device's allocator, must take. */
const FASTER_THAN_PEERS = 4;
const FASTER_THAN_DEVICE = 20;

/**
 * Compares figures with the goals; empty where the pool was not measured.
 *
 * @param figures All figures of a run, those of other libraries too.
 */
export function poolGoals(figures: readonly Figure[]): GoalOutcome[] {
  const measured = figures.filter(({ area }) => area === AREA);
  const find = (group: string, title: string) =>
    measured.find((figure) => figure.group.startsWith(group) && figure.title === title);
  return [
    ...PAIR_SIZES.flatMap((size) => pairGoals(size, find)),
    ...measured.filter(({ group, title }) => group.startsWith("free one of") && title === OURS)
      .flatMap((figure) => randomGoals(figure, find)),
    ...PAIR_SIZES.flatMap((size) => deviceGoals(size, find)),
    ...PAIR_SIZES.flatMap((size) => peerGoals(size, find, measured)),
  ];
}

type Find = (group: string, title: string) => Figure | undefined;

function pairGoals(size: string, find: Find): GoalOutcome[] {
  const group = `allocate and free ${size}`;
  const ours = find(group, OURS);
  const malloc = find(group, MALLOC);
  if (ours === undefined) return [];
  return [
    timeGoal(`allocate and free ${size}`, ours.median, PAIR_NANOSECONDS),
    ...(malloc === undefined
      ? []
      : [speedGoal("malloc() and free() by that", malloc.median, ours.median, null)]),
  ];
}

function randomGoals(ours: Figure, find: Find): GoalOutcome[] {
  const malloc = find(ours.group, MALLOC);
  return [
    // More live blocks than caches hold are for comparison.
    ours.group.includes("1 000 live")
      ? timeGoal(ours.group, ours.median, RANDOM_NANOSECONDS)
      : { name: ours.group, goal: "", measured: formatDuration(ours.median), reached: null },
    ...(malloc === undefined
      ? []
      : [speedGoal("malloc() and free() by that", malloc.median, ours.median, null)]),
  ];
}

function deviceGoals(size: string, find: Find): GoalOutcome[] {
  // What the host device takes is no measure of anything.
  const allocators = [["cudaMalloc and cudaFree", FASTER_THAN_DEVICE], [
    "the host device's allocator",
    null,
  ]] as const;
  return allocators.flatMap(([name, least]) => {
    const group = `against ${name}, ${size}`;
    const ours = find(group, OURS);
    const device = find(group, "gs_memory_allocate and gs_memory_free in C");
    if (ours === undefined || device === undefined) return [];
    return [speedGoal(`${name}, ${size}`, device.median, ours.median, least)];
  });
}

function peerGoals(size: string, find: Find, measured: readonly Figure[]): GoalOutcome[] {
  const ours = find(`allocate and free ${size}`, OURS);
  if (ours === undefined) return [];
  return peersOf(measured, ours).map(({ title, median }) =>
    speedGoal(`${title}, ${size}`, median, ours.median, FASTER_THAN_PEERS)
  );
}
