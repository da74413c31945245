/**
 * Turns the samples of the benchmarks into figures, and these into goals.
 *
 * @module
 */

import { impossibilities, type Peaks, peaksOf } from "./data_sheets.ts";
import {
  type AreaBench,
  type ComparedFigure,
  compareFigures,
  type Figure,
  figureOfBench,
  groupFigures,
  joinPasses,
  overlapShare,
} from "./figure.ts";
import { formatPercent } from "./formats.ts";
import type { GoalOutcome } from "./goals.ts";
import type { LoadRange, MeasuredDevice } from "./gpu_report.ts";
import { kernelGoals } from "./kernel_goals.ts";
import { launchGoals } from "./launch_goals.ts";
import { type ClockReading, dropSlowSamples, highestClock } from "./nvidia_smi.ts";
import { poolGoals } from "./pool_goals.ts";
import { productGoals } from "./product_goals.ts";
import { tensorGoals } from "./tensor_goals.ts";

/** A pass over the benchmarks of an area, with the same work in other libraries. */
export type Pass = readonly AreaBench[];

/**
 * The figures of some passes: of each work the faster pass. Samples at low clocks are dropped.
 *
 * @param readings The clocks while they ran.
 */
export function figuresOf(passes: readonly Pass[], readings: readonly ClockReading[]): Figure[] {
  const timed = (pass: Pass) => pass.filter(({ samples }) => samples.length > 0);
  return joinPasses(
    passes.map((pass) =>
      [...Map.groupBy(timed(pass), ({ area, group }) => `${area}\n${group}`).values()]
        .flatMap((group) => figuresOfGroup(group, readings))
    ),
  );
}

/**
 * The highest clock is that of the group. Work that takes so much power that most of its samples are
 * below that is compared with its own highest clock.
 */
function figuresOfGroup(group: Pass, readings: readonly ClockReading[]): Figure[] {
  const highest = highestClock(readings, group.flatMap(({ samples }) => samples));
  return group.map((bench) => {
    const { samples } = bench;
    let kept = dropSlowSamples(samples, readings, highest);
    if (kept.samples.length < samples.length / 2) {
      kept = dropSlowSamples(samples, readings, highestClock(readings, samples));
    }
    const dropped = samples.length - kept.samples.length;
    const clocks = kept.clocks === undefined ? {} : { clocks: kept.clocks };
    return figureOfBench({ ...bench, samples: kept.samples }, { dropped, ...clocks });
  });
}

/** Figures beside the peaks of the device. */
export interface CheckedFigures {
  /** The peaks; `null` for the host device. */
  readonly peaks: Peaks | null;
  /** The possible figures, compared with their baselines. */
  readonly figures: ComparedFigure[];
  /** The reasons why others are impossible. */
  readonly impossible: string[];
}

/** Leaves out the figures that exceed the peaks of the device. */
export function checkFigures(
  figures: readonly Figure[],
  device: MeasuredDevice | null,
): CheckedFigures {
  const peaks = device === null ? null : peaksOf(device);
  const reasons = figures.map((figure) =>
    device === null || peaks === null ? [] : impossibilities(figure, device, peaks)
  );
  const possible = figures.filter((_, index) => reasons[index]!.length === 0);
  // In the order of the groups' first figures: another pass or library came later.
  const sorted = groupFigures(possible).flat();
  return { peaks, figures: compareFigures(sorted), impossible: reasons.flat() };
}

/** The goals beside the figures, by subject; subjects without any are left out. */
export function goalsOf(
  figures: readonly Figure[],
  kind: "cuda" | "host",
): Record<string, GoalOutcome[]> {
  const goals = {
    "Memory pool": poolGoals(figures),
    "Kernels from source": kernelGoals(figures, kind),
    "Launch parameters": launchGoals(figures),
    "Tensors": tensorGoals(figures),
    "Products and attention": productGoals(figures, kind),
    "Uploads": overlaps(figures),
  };
  return Object.fromEntries(Object.entries(goals).filter(([, own]) => own.length > 0));
}

/** The begin of the name of the group of uploads: reading alone, copying alone, and both. */
export const OVERLAP_GROUP = "overlap of reading and copying";

/** The part of the shorter of reading and copying that passes while the other one runs. */
function overlaps(figures: readonly Figure[]): GoalOutcome[] {
  const groups = groupFigures(figures.filter(({ group }) => group.startsWith(OVERLAP_GROUP)));
  return groups.filter((group) => group.length === 3).map((group) => {
    const [read, copy, both] = group.map(({ median }) => median) as [number, number, number];
    const measured = `${formatPercent(overlapShare(read, copy, both))} of the shorter`;
    return { name: group[0]!.group, goal: "", measured, reached: null };
  });
}

/** Clocks and power at least and at most; `null` without readings. */
export function loadRange(readings: readonly ClockReading[]): LoadRange | null {
  if (readings.length === 0) return null;
  const range = (name: "sm" | "memory" | "power") => {
    const values = readings.map((reading) => reading[name]);
    return [Math.min(...values), Math.max(...values)] as const;
  };
  return { sm: range("sm"), memory: range("memory"), power: range("power") };
}
