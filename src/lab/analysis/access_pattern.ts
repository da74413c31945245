/**
 * The pattern that a stream of accesses follows, in constant memory.
 *
 * A stride is looked for among the first accesses, 8192 at most, and again in every 8192 of which no
 * stride known by then explains half. Each is followed from there on, so that a pattern that begins
 * late is found as well; those before count as accesses that do not follow it. In the end the stride,
 * or the tiles of its runs, that the most accesses follow is the pattern, if half of them do.
 *
 * @module
 */

import type { AccessKind, TileShape } from "./access_report.ts";
import { type Indices, StrideElection } from "./stride_election.ts";
import { StrideFollower } from "./stride_follower.ts";

/** Strides that are followed at a time. */
const FOLLOWERS = 4;

/** What is said of a pattern. */
export interface PatternVerdict {
  /** See {@linkcode AccessReport.kind}. */
  readonly kind: AccessKind;
  /** See {@linkcode AccessReport.stride}. */
  readonly stride: number | null;
  /** See {@linkcode AccessReport.confidence}. */
  readonly confidence: number;
  /** See {@linkcode AccessReport.outliers}. */
  readonly outliers: number;
  /** See {@linkcode AccessReport.tile}. */
  readonly tile: TileShape | null;
}

/** Finds the pattern. */
export class AccessPattern {
  /** Accesses so far. */
  count = 0;
  readonly #election = new StrideElection();
  readonly #followers: StrideFollower[] = [];

  /**
   * Looks at further accesses.
   *
   * @param values Their indices.
   * @param count How many of them, up to 8192; fewer only the last time.
   * @param base What was taken off each.
   */
  add(values: Indices, count: number, base: number): void {
    let isExplained = false;
    for (const follower of this.#followers) {
      const before = follower.breaks;
      follower.follow(values, count, base);
      isExplained ||= 2 * (follower.breaks - before) <= count;
    }
    if (!isExplained) this.#seek(values, count, base);
    this.count += count;
  }

  #seek(values: Indices, count: number, base: number): void {
    const stride = this.#election.commonest(values, count);
    const followers = this.#followers;
    if (stride === null || followers.some((known) => known.stride === stride)) return;
    const follower = new StrideFollower(stride, this.count);
    follower.follow(values, count, base);
    if (followers.length < FOLLOWERS) {
      followers.push(follower);
      return;
    }
    const worst = followers.reduce((one, other) => other.breaks > one.breaks ? other : one);
    if (follower.breaks < worst.breaks) followers[followers.indexOf(worst)] = follower;
  }

  /** What the pattern is. Nothing can be added after that. */
  verdict(): PatternVerdict {
    const { count } = this;
    if (count === 0) {
      return { kind: "empty", stride: null, confidence: 1, outliers: 0, tile: null };
    }
    if (count === 1) {
      return { kind: "sequential", stride: 1, confidence: 1, outliers: 0, tile: null };
    }
    let best: PatternVerdict | null = null;
    for (const { stride, breaks, tiles } of this.#followers.map(described)) {
      const outliers = tiles?.outliers ?? breaks;
      if (best !== null && best.outliers <= outliers) continue;
      const confidence = 1 - outliers / count;
      const kind = tiles === null ? kindOf(stride) : "blocked";
      best = { kind, stride, confidence, outliers, tile: tiles?.tile ?? null };
    }
    if (best !== null && best.confidence >= 0.5) return best;
    const confidence = 1 - (best?.confidence ?? 0);
    return { kind: "random", stride: null, confidence, outliers: 0, tile: null };
  }
}

function described(follower: StrideFollower) {
  return { stride: follower.stride, breaks: follower.breaks, tiles: follower.tiles() };
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
