/**
 * Compares the figures of two runs and tells regressions from noise.
 *
 * @module
 */

import type { Figure } from "./figure.ts";
import type { MeasuredDevice } from "./gpu_report.ts";

/** The figures of a run, as `deno task bench --save` writes them. */
export interface SavedFigures {
  /** The device that was measured. */
  readonly device: Pick<MeasuredDevice, "kind" | "name">;
  /** When, as an ISO date and time. */
  readonly date: string;
  /** The figures. */
  readonly figures: readonly Figure[];
}

/** A work that both runs measured. */
export interface ComparedWork {
  /** Its area, group and title. */
  readonly name: string;
  /** The earlier median in nanoseconds. */
  readonly before: number;
  /** The median now. */
  readonly now: number;
  /** The time now by the earlier time: the smaller change of the medians and the fastest samples. */
  readonly change: number;
  /** The change that counts as noise: that of the samples within a run, and at least 10 %. */
  readonly noise: number;
  /** Whether the change exceeds the noise. */
  readonly verdict: "slower" | "faster" | "same";
}

/** The comparison of two runs. */
export interface RunComparison {
  readonly works: readonly ComparedWork[];
  /** The works that only the earlier run measured. */
  readonly missing: readonly string[];
  /** The works that only this run measured. */
  readonly added: readonly string[];
}

/** The least noise: medians of an idle machine differ by this much from day to day. */
const LEAST_NOISE = 1.1;

/** The slowest usual sample by the fastest one, and the difference between passes. */
const spreadOf = ({ median, fastest, drift = 1 }: Figure) => Math.max(median / fastest, drift);

/** The ratio that is nearer to 1; 1 if one is slower and the other one faster. */
function smallerChange(one: number, other: number): number {
  if (one > 1 && other > 1) return Math.min(one, other);
  if (one < 1 && other < 1) return Math.max(one, other);
  return 1;
}

function compareWork(name: string, before: Figure, now: Figure): ComparedWork {
  // Both must change: a busy machine moves the median, and one lucky sample the fastest.
  const change = smallerChange(now.median / before.median, now.fastest / before.fastest);
  const noise = Math.max(LEAST_NOISE, spreadOf(before), spreadOf(now));
  const verdict = change > noise ? "slower" : change < 1 / noise ? "faster" : "same";
  return { name, before: before.median, now: now.median, change, noise, verdict };
}

/** Our own figures by their names; those of other libraries are not ours to hold. */
function byName(figures: readonly Figure[]): Map<string, Figure> {
  const own = figures.filter(({ library }) => library === undefined);
  return new Map(own.map((figure) => [`${figure.area}: ${figure.group}: ${figure.title}`, figure]));
}

/** Compares the figures of two runs on the same device. */
export function compareRuns(before: readonly Figure[], now: readonly Figure[]): RunComparison {
  const [earlier, own] = [byName(before), byName(now)];
  return {
    works: [...own].flatMap(([name, figure]) => {
      const known = earlier.get(name);
      return known === undefined ? [] : [compareWork(name, known, figure)];
    }),
    missing: [...earlier.keys()].filter((name) => !own.has(name)),
    added: [...own.keys()].filter((name) => !earlier.has(name)),
  };
}

/**
 * Reads the figures of a file that `deno task bench --save` or `deno task gpu measure` has written.
 *
 * @throws {TypeError} If it has none, or is of another device.
 */
export function readSavedFigures(
  text: string,
  path: string,
  { kind, name }: SavedFigures["device"],
): readonly Figure[] {
  const refuse = (must: string, is: string): never => {
    throw new TypeError(`Cannot compare with ${path} as it must ${must}: it ${is}`);
  };
  let saved: Partial<SavedFigures> & { readonly measure?: Partial<SavedFigures> };
  try {
    saved = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return refuse("be JSON", `is not: ${error.message}`);
  }
  const figures = saved?.measure?.figures ?? saved?.figures;
  const { device } = saved ?? {};
  if (!Array.isArray(figures) || device === undefined || device === null) {
    return refuse("be written by `deno task bench --save` or `gpu measure`", "has no figures");
  }
  if (device.kind !== kind || device.name !== name) {
    return refuse(`be of ${name} (${kind})`, `is of ${device.name} (${device.kind})`);
  }
  return figures;
}
