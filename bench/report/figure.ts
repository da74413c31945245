/**
 * Measured figures: one per benchmark, and its comparison with the baseline of its group.
 *
 * @module
 */

import { readBenchName } from "./bench_name.ts";

/** A measured time, in nanoseconds per call. */
export interface Figure {
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
  /** Multiplications and additions of a call, where they are the point. */
  readonly operations?: number;
  /** Operations per second of a GPU by its data sheet. */
  readonly peak?: number;
  /** How often it was timed. */
  readonly samples: number;
  /** What three quarters of the samples took at most: the figure that is quoted. */
  readonly nanoseconds: number;
  /** The fastest sample. */
  readonly fastest: number;
  /** The mean, which other work on the machine raises. */
  readonly mean: number;
  /** What 99 % of the samples took at most. */
  readonly slow: number;
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

interface BenchJson {
  readonly benches: readonly {
    readonly origin: string;
    readonly group: string | null;
    readonly name: string;
    readonly baseline: boolean;
    readonly results: readonly {
      readonly ok?: { n: number; avg: number; min: number; p75: number; p99: number };
    }[];
  }[];
}

/** The area of a benchmark's file. */
function areaOf(origin: string): string {
  return origin.slice(origin.lastIndexOf("/") + 1).replace(/_bench\.ts$/, "");
}

/**
 * Reads what `deno bench --json` prints.
 *
 * @throws {Error} If a benchmark failed.
 */
export function readBenchJson(json: string): Figure[] {
  const { benches }: BenchJson = JSON.parse(json);
  return benches.map(({ origin, group, name, baseline, results }) => {
    const timing = results[0]?.ok;
    if (timing === undefined) throw new Error(`The benchmark ${JSON.stringify(name)} failed`);
    const { title, calls, bytes, ...work } = readBenchName(name);
    return {
      area: areaOf(origin),
      group: group ?? "",
      title,
      baseline,
      bytes,
      ...work,
      samples: timing.n,
      nanoseconds: timing.p75 / calls,
      fastest: timing.min / calls,
      mean: timing.avg / calls,
      slow: timing.p99 / calls,
    };
  });
}

const perSecond = (amount: number | null | undefined, { nanoseconds }: Figure) =>
  amount == null ? null : amount / nanoseconds * 1e9;

const ratio = (own: number | null, limit: number | null) =>
  own === null || limit === null ? null : own / limit;

/** Compares each figure with the baseline of its group. */
export function compareFigures(figures: readonly Figure[]): ComparedFigure[] {
  const key = ({ area, group }: Figure) => `${area}\n${group}`;
  const baselines = new Map(
    figures.filter(({ baseline }) => baseline).map((figure) => [key(figure), figure]),
  );
  return figures.map((figure) => {
    const baseline = figure.baseline ? undefined : baselines.get(key(figure));
    const bytesPerSecond = perSecond(figure.bytes, figure);
    const operationsPerSecond = perSecond(figure.operations, figure);
    const limit = (amount: "bytes" | "operations") =>
      baseline === undefined ? null : perSecond(baseline[amount], baseline);
    return {
      ...figure,
      bytesPerSecond,
      operationsPerSecond,
      relativeTime: baseline === undefined ? null : figure.nanoseconds / baseline.nanoseconds,
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
  return [...Map.groupBy(figures, ({ area, group }) => `${area}\n${group}`).values()];
}

/** A figure from samples of one's own. */
export function figureOf(
  named: Pick<Figure, "area" | "group" | "title" | "baseline" | "bytes">,
  samples: readonly number[],
): Figure {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!;
  if (sorted.length === 0) throw new RangeError(`Cannot make a figure of no samples`);
  return {
    ...named,
    samples: sorted.length,
    nanoseconds: at(0.75),
    fastest: sorted[0]!,
    mean: sorted.reduce((sum, sample) => sum + sample, 0) / sorted.length,
    slow: at(0.99),
  };
}
