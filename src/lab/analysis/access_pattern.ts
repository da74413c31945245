/**
 * Finds the pattern that a stream of accesses follows, in constant memory.
 *
 * The first batch of accesses elects a stride, and so does every later batch of which no known stride
 * explains half. Each stride is followed from there on, which finds a pattern that begins late; the
 * accesses before it count as outliers. The result is the stride, or the tiles of its runs, that the
 * most accesses follow, if half of them do.
 *
 * @module
 */

import type { AccessKind, AccessReport } from "./access_report.ts";
import { StrideFollower } from "./stride_follower.ts";

/** Strides that are followed at a time. */
const FOLLOWERS = 4;
/** Steps of fewer indices are counted in any case. */
const FEW = 64;
/** Accesses for each of which one has to repeat a step; with fewer, counting steps is useless. */
const REPEATING = 8;

/** The part of a report that describes the pattern. */
export type PatternVerdict = Pick<
  AccessReport,
  "kind" | "stride" | "confidence" | "outliers" | "tile"
>;

/** Finds the pattern. */
export class AccessPattern {
  #count = 0;
  readonly #followers: StrideFollower[] = [];

  /** Adds the first `count` values of a batch; only the last batch may be incomplete. */
  add(values: Float64Array, count: number): void {
    let isExplained = false;
    for (const follower of this.#followers) {
      const before = follower.breaks;
      follower.follow(values, count);
      isExplained ||= 2 * (follower.breaks - before) <= count;
    }
    if (!isExplained) this.#elect(values, count);
    this.#count += count;
  }

  #elect(values: Float64Array, count: number): void {
    const stride = commonestStep(values, count);
    const followers = this.#followers;
    if (stride === null || followers.some((known) => known.stride === stride)) return;
    const follower = new StrideFollower(stride, this.#count);
    follower.follow(values, count);
    if (followers.length < FOLLOWERS) {
      followers.push(follower);
      return;
    }
    const worst = followers.reduce((one, other) => other.breaks > one.breaks ? other : one);
    if (follower.breaks < worst.breaks) followers[followers.indexOf(worst)] = follower;
  }

  /** The pattern of all accesses. Nothing can be added afterwards. */
  verdict(): PatternVerdict {
    const count = this.#count;
    const exact = { confidence: 1, outliers: 0, tile: null };
    if (count === 0) return { kind: "empty", stride: null, ...exact };
    if (count === 1) return { kind: "sequential", stride: 1, ...exact };
    let best: PatternVerdict | null = null;
    for (const follower of this.#followers) {
      const { stride, breaks } = follower;
      const tiles = follower.tiles();
      const outliers = tiles?.outliers ?? breaks;
      if (best !== null && best.outliers <= outliers) continue;
      const kind = tiles === null ? kindOf(stride) : "blocked";
      best = {
        kind,
        stride,
        confidence: 1 - outliers / count,
        outliers,
        tile: tiles?.tile ?? null,
      };
    }
    if (best !== null && best.confidence >= 0.5) return best;
    const confidence = 1 - (best?.confidence ?? 0);
    return { kind: "random", stride: null, confidence, outliers: 0, tile: null };
  }
}

function kindOf(stride: number): AccessKind {
  switch (stride) {
    case 0:
      return "broadcast";
    case 1:
      return "sequential";
    case -1:
      return "reversed";
    default:
      return "strided";
  }
}

/**
 * The commonest step between neighbours, of equals the first to be as common; null if no step occurs
 * twice, unless there is only one.
 */
function commonestStep(values: Float64Array, count: number): number | null {
  if (count < 2 || !repeatsSteps(values, count)) return null;
  const counts = new Map<number, number>();
  let best = 0;
  let max = 0;
  for (let i = 1; i < count; i++) {
    const step = values[i]! - values[i - 1]!;
    const times = (counts.get(step) ?? 0) + 1;
    counts.set(step, times);
    if (times > max) [best, max] = [step, times];
  }
  return max > 1 || count === 2 ? best : null;
}

/**
 * Whether steps repeat as in every pattern that half of the accesses follow: one of two neighbours in
 * runs of two, one of three in longer runs. Random steps hardly ever do.
 */
function repeatsSteps(values: Float64Array, count: number): boolean {
  if (count < FEW) return true;
  let last = values[1]! - values[0]!;
  let beforeLast = NaN;
  let repeated = 0;
  for (let i = 2; i < count; i++) {
    const step = values[i]! - values[i - 1]!;
    if (step === last || step === beforeLast) repeated++;
    beforeLast = last;
    last = step;
  }
  return repeated * REPEATING >= count;
}
