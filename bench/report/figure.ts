/**
 * Measured figures: one per benchmark, and its comparison with the baseline of its group.
 *
 * @module
 */

import type { Arithmetic, Clock, PeerWork } from "../support/measure.ts";

/** A timed sample. */
export interface Sample {
  /** When it began, in milliseconds since 1970. */
  readonly begin: number;
  /** When it ended, likewise. */
  readonly end: number;
  /** Its nanoseconds per call. */
  readonly nanoseconds: number;
}

/** The work of a figure. */
export interface FigureWork {
  /** The name of the benchmark's file: `launch` for `launch_bench.ts`. */
  readonly area: string;
  /** The figures to compare it with. */
  readonly group: string;
  /** Its name in the group. */
  readonly title: string;
  /** Whether the others of its group are compared with it. */
  readonly baseline: boolean;
  /** Bytes that a call reads and writes; `null` where they are not the point. */
  readonly bytes: number | null;
  /** Bytes that successive calls touch in all, if these differ from `bytes`. */
  readonly footprint?: number;
  /** Multiplications and additions of a call, where they are the point. */
  readonly operations?: number;
  /** The format that these are in. */
  readonly arithmetic?: Arithmetic;
  /** The same work for other libraries. */
  readonly peer?: PeerWork;
}

/** A benchmark that was run, as `bench/support/run_area.ts` prints it without its area. */
export interface SampledBench extends Omit<FigureWork, "area"> {
  /** The clock of its samples. */
  readonly clock: Clock;
  /** Calls in a sample. */
  readonly calls: number;
  /** Its samples. */
  readonly samples: readonly Sample[];
  /** Nanoseconds of enqueueing a call, of each sample of the device's clock. */
  readonly host: readonly number[];
}

/** A benchmark of an area that was run, by us or by another library. */
export interface AreaBench extends SampledBench {
  /** The area. */
  readonly area: string;
  /** The library that did it, with its version; absent for ours. */
  readonly library?: Library;
  /** The title of our benchmark of the same work, if another library did it. */
  readonly beside?: string;
}

/** A library. */
export interface Library {
  /** Its name. */
  readonly name: string;
  /** Its version. */
  readonly version: string;
}

/** A measured time, in nanoseconds per call. */
export interface Figure extends Omit<FigureWork, "peer"> {
  /** The library that did it, with its version; absent for ours. */
  readonly library?: Library;
  /** The title of our figure that did the same work, where another library did it. */
  readonly beside?: string;
  /** The clock. */
  readonly clock: Clock;
  /** How often it was timed. */
  readonly samples: number;
  /** Samples that are not counted, as the clocks were low. */
  readonly dropped: number;
  /** The middle sample: the figure that is quoted. */
  readonly median: number;
  /** The fastest sample. */
  readonly fastest: number;
  /** The host's median time of enqueueing a call; `null` where it is not apart. */
  readonly host: number | null;
  /** Megahertz of the multiprocessors during the samples, at least and at most. */
  readonly clocks?: readonly [number, number];
  /** The medians of both passes, the slower by the faster; absent if there was one. */
  readonly drift?: number;
}

/** A figure beside the baseline of its group. */
export interface ComparedFigure extends Figure {
  /** Bytes per second; `null` where bytes are not the point. */
  readonly bytesPerSecond: number | null;
  /** Operations per second; `null` where they are not the point. */
  readonly operationsPerSecond: number | null;
  /** Its time by the baseline's; `null` for the baseline, and where there is none. */
  readonly relativeTime: number | null;
  /** Its bandwidth by the baseline's; `null` where one of them has none. */
  readonly relativeBandwidth: number | null;
  /** Its operations per second by the baseline's; `null` where one of them has none. */
  readonly relativeOperations: number | null;
}

const keyOf = ({ area, group }: Pick<Figure, "area" | "group">) => `${area}\n${group}`;

const perSecond = (amount: number | null | undefined, { median }: Figure) =>
  amount == null ? null : amount / median * 1e9;

const ratio = (own: number | null, limit: number | null) =>
  own === null || limit === null ? null : own / limit;

/** Compares each figure with the baseline of its group. */
export function compareFigures(figures: readonly Figure[]): ComparedFigure[] {
  const baselines = new Map(
    figures.filter(({ baseline }) => baseline).map((figure) => [keyOf(figure), figure]),
  );
  return figures.map((figure) => {
    const baseline = figure.baseline ? undefined : baselines.get(keyOf(figure));
    const bytesPerSecond = perSecond(figure.bytes, figure);
    const operationsPerSecond = perSecond(figure.operations, figure);
    const limit = (amount: "bytes" | "operations") =>
      baseline === undefined ? null : perSecond(baseline[amount], baseline);
    return {
      ...figure,
      bytesPerSecond,
      operationsPerSecond,
      relativeTime: baseline === undefined ? null : figure.median / baseline.median,
      relativeBandwidth: ratio(bytesPerSecond, limit("bytes")),
      relativeOperations: ratio(operationsPerSecond, limit("operations")),
    };
  });
}

/** The part of the shorter of two activities that passes while the other runs; 0 in sequence. */
export function overlapShare(first: number, second: number, both: number): number {
  return (first + second - both) / Math.min(first, second);
}

/** The figures of each group, in the order of the groups' first figures. */
export function groupFigures<F extends Figure>(figures: readonly F[]): F[][] {
  return [...Map.groupBy(figures, keyOf).values()];
}

/** The figures of other libraries that did the work of one of ours. */
export function peersOf(figures: readonly Figure[], ours: Figure): Figure[] {
  return figures.filter((figure) => figure.beside === ours.title && keyOf(figure) === keyOf(ours));
}

/** The middle of sorted numbers; of an even number the upper of the two middle ones. */
const middle = (sorted: readonly number[]) => sorted[sorted.length >> 1]!;

/** A figure from samples of one's own, in nanoseconds per call. */
export function figureOf(
  named: Omit<FigureWork, "peer">,
  samples: readonly number[],
  more: Partial<Pick<Figure, "clock" | "dropped" | "host" | "clocks" | "library" | "beside">> = {},
): Figure {
  if (samples.length === 0) throw new RangeError(`Cannot make a figure of no samples`);
  const sorted = samples.toSorted((a, b) => a - b);
  return {
    ...named,
    ...{ clock: "total", dropped: 0, host: null },
    ...more,
    ...{ samples: sorted.length, median: middle(sorted), fastest: sorted[0]! },
  };
}

/** The figure of a benchmark that was run. */
export function figureOfBench(
  { samples, host, clock, calls: _calls, library, beside, peer: _peer, ...named }: AreaBench,
  more: Partial<Pick<Figure, "clocks" | "dropped">> = {},
): Figure {
  const times = samples.map(({ nanoseconds }) => nanoseconds);
  const enqueueing = host.length === 0 ? null : middle(host.toSorted((a, b) => a - b));
  return figureOf(named, times, {
    ...{ clock, host: enqueueing, ...more },
    ...(library === undefined ? {} : { library }),
    ...(beside === undefined ? {} : { beside }),
  });
}

/** Joins the figures of several passes: of each work the faster one, with the drift of the medians. */
export function joinPasses(passes: readonly (readonly Figure[])[]): Figure[] {
  const name = (figure: Figure) => [keyOf(figure), figure.title, figure.beside ?? ""].join("\n");
  return [...Map.groupBy(passes.flat(), name).values()].map((same) => {
    const [best] = same.toSorted((a, b) => a.fastest - b.fastest);
    if (same.length === 1) return best!;
    const medians = same.map(({ median }) => median);
    return { ...best!, drift: Math.max(...medians) / Math.min(...medians) };
  });
}
