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

import type { AccessKind, AccessReport, TileShape } from "./access_report.ts";

/** Strides that are followed at a time. */
const FOLLOWERS = 4;
/** Steps of fewer indices are counted in any case. */
const FEW = 64;
/** Accesses for each of which one has to repeat a step; with fewer, counting steps is useless. */
const REPEATING = 8;

export type PatternVerdict = Pick<
  AccessReport,
  "kind" | "stride" | "confidence" | "outliers" | "tile"
>;

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

/**
 * Follows one stride. An access follows if it continues the line, one stride an access, of one of the
 * two accesses before it or of the last that followed; or if it is one stride after the last that
 * followed, as if those in between were missing. A stray access therefore counts once, in the place of
 * another or between two, and so does a jump after which the pattern goes on elsewhere.
 */
export class StrideFollower {
  readonly stride: number;
  /** Accesses that do not follow it, with all before its first. */
  breaks: number;

  readonly #runs: RunPattern;
  #position: number;
  /** Position and index of the last access that followed. */
  #anchorPosition: number;
  #anchor = 0;
  /** The last two indices, and whether these accesses broke the stride. */
  #last = NaN;
  #beforeLast = NaN;
  #lastBroke = false;
  #beforeLastBroke = false;
  #begun = false;
  /** Runs that began after the first. */
  #begins = 0;

  constructor(stride: number, position: number) {
    this.stride = stride;
    this.breaks = position;
    this.#position = position;
    this.#anchorPosition = position;
    this.#runs = new RunPattern(stride);
  }

  follow(values: Float64Array, count: number): void {
    const { stride } = this;
    for (let i = 0; i < count;) {
      this.#step(values[i++]!);
      if (this.#lastBroke) continue;
      const begin = i;
      while (i < count && values[i]! - values[i - 1]! === stride) i++;
      if (i > begin) this.#skip(i - begin, values[i - 1]!);
    }
  }

  #step(value: number): void {
    const { stride } = this;
    const position = this.#position++;
    if (!this.#begun) {
      this.#begun = true;
      this.#runs.begin({ position, value, strays: 0 });
      this.#accept(position, value);
    } else if (value - this.#last === stride) {
      if (this.#lastBroke) this.#beginRun(position - 1, this.#last);
      this.#accept(position, value);
    } else if (this.#continues(position, value)) {
      this.#accept(position, value);
    } else if (value - this.#beforeLast === 2 * stride) {
      if (this.#beforeLastBroke) this.#beginRun(position - 2, this.#beforeLast);
      this.#accept(position, value);
    } else {
      this.breaks++;
      this.#beforeLastBroke = this.#lastBroke;
      this.#lastBroke = true;
    }
    this.#beforeLast = this.#last;
    this.#last = value;
  }

  #continues(position: number, value: number): boolean {
    const ahead = value - this.#anchor;
    return ahead === this.stride || ahead === this.stride * (position - this.#anchorPosition);
  }

  #beginRun(position: number, value: number): void {
    this.#begins++;
    this.#runs.begin({ position, value, strays: position - 1 - this.#anchorPosition });
  }

  #accept(position: number, value: number): void {
    this.#anchor = value;
    this.#anchorPosition = position;
    this.#beforeLastBroke = this.#lastBroke;
    this.#lastBroke = false;
  }

  /** Passes accesses that all follow; the last one has the given index. */
  #skip(count: number, value: number): void {
    this.#position += count;
    this.#anchor = value;
    this.#anchorPosition = this.#position - 1;
    this.#beforeLast = value - this.stride;
    this.#last = value;
    this.#beforeLastBroke = false;
    this.#lastBroke = false;
  }

  /**
   * The tiles that the runs of the stride make, if they explain more accesses than the stride does.
   * Nothing can be followed afterwards.
   */
  tiles(): RunVerdict | null {
    const runs = this.#runs.verdict(this.#position);
    if (runs === null) return null;
    const outliers = runs.outliers + this.breaks - this.#begins;
    return outliers < this.breaks ? { ...runs, outliers } : null;
  }
}

/** Runs from which length and pitch are taken. */
const FIRST_RUNS = 64;
/** Heights of tiles that are counted; tiles of further heights are irregular. */
const HEIGHTS = 64;

/** The tiles of runs, and the runs that begin where none should. */
export interface RunVerdict {
  readonly tile: TileShape;
  readonly outliers: number;
}

/** Position and index of a run's first access, and the strays right before it. */
interface Run {
  readonly position: number;
  readonly value: number;
  readonly strays: number;
}

/**
 * Collects the beginnings of runs, and finds tiles that have them as rows.
 *
 * A run is in place if it begins where the run before it puts it: a run's accesses later and a pitch
 * further on, or a multiple of both if runs are missing; with its first accesses missing, as much
 * later. Otherwise a new tile begins. A tile is regular if it has as many rows as most others.
 */
class RunPattern {
  readonly #stride: number;
  #first: Run[] = [];
  /** Accesses of a run and pitch; 0 and 0 before they are known. */
  #columns = 0;
  #pitch = 0;
  /** Position and index of the first access of the last run, also if that access is missing. */
  #position = 0;
  #value = 0;
  #tilePosition = 0;
  #inPlace = 0;
  #irregular = 0;
  /** Finished tiles, by rows. */
  readonly #heights = new Map<number, number>();

  constructor(stride: number) {
    this.#stride = stride;
  }

  begin(run: Run): void {
    if (this.#columns !== 0) {
      this.#place(run);
    } else {
      this.#first.push(run);
      if (this.#first.length === FIRST_RUNS) this.#settle();
    }
  }

  /** The tiles of the runs of `end` accesses; null if they make none. */
  verdict(end: number): RunVerdict | null {
    const [start] = this.#first;
    if (this.#columns === 0) this.#settle();
    const columns = this.#columns;
    // Two runs are no more than a jump, unless the second is as long as the first.
    const repeated = this.#inPlace > 1 || this.#inPlace === 1 && end - this.#position === columns;
    if (start === undefined || columns < 2 || !repeated) return null;
    const [height, tiles] = this.#commonestHeight(end);
    const others = [...this.#heights.values()].reduce((sum, count) => sum + count, 0) - tiles;
    const overlong = end - this.#position > columns ? 1 : 0;
    const rows = tiles > 0 ? height : Math.ceil((end - start.position) / columns);
    return {
      tile: { columns, rows, pitch: this.#pitch },
      outliers: this.#irregular + others + overlong,
    };
  }

  /** Takes length and pitch from the first runs, and then places these. */
  #settle(): void {
    const commonest = commonestRunStep(this.#first);
    if (commonest === null) return;
    [this.#columns, this.#pitch] = commonest;
    const [first, ...others] = this.#first as [Run, ...Run[]];
    this.#first = [first];
    this.#position = this.#tilePosition = first.position;
    this.#value = first.value;
    for (const run of others) this.#place(run);
  }

  #place({ position, value, strays }: Run): void {
    const columns = this.#columns;
    const later = position - this.#position;
    const column = later % columns;
    const row = (later - column) / columns;
    if (this.#isAhead(value, row, column)) {
      this.#stay(position - column, value - column * this.#stride);
    } else if (row > 1 && this.#isAhead(value - columns * this.#stride, row - 1, column)) {
      // The last row of a tile and the first of the next lie side by side: two runs as one.
      this.#beginTile(this.#position + columns, this.#value + columns * this.#stride, 0);
      this.#stay(position - column, value - column * this.#stride);
    } else {
      // Strays in the places of a row's first accesses leave the row in place.
      this.#beginTile(position, value, column <= strays ? column : 0);
    }
  }

  /** Whether an index is as far ahead of the last run's first as rows and columns are. */
  #isAhead(value: number, rows: number, columns: number): boolean {
    return value - this.#value === rows * this.#pitch + columns * this.#stride;
  }

  #stay(position: number, value: number): void {
    this.#inPlace++;
    this.#position = position;
    this.#value = value;
  }

  #beginTile(position: number, value: number, column: number): void {
    const begin = position - column;
    const rows = (begin - this.#tilePosition) / this.#columns;
    const known = this.#heights.get(rows);
    if (known !== undefined) this.#heights.set(rows, known + 1);
    else if (Number.isInteger(rows) && this.#heights.size < HEIGHTS) this.#heights.set(rows, 1);
    else this.#irregular++;
    this.#position = this.#tilePosition = begin;
    this.#value = value - column * this.#stride;
  }

  /** The rows of most finished tiles and the number of these; 0 if that may be chance. */
  #commonestHeight(end: number): readonly [number, number] {
    let height = 0;
    let max = 0;
    for (const [rows, tiles] of this.#heights) {
      if (rows > 1 && tiles > max) [height, max] = [rows, tiles];
    }
    const isLast = end - this.#tilePosition === height * this.#columns;
    return max > 1 || max === 1 && isLast ? [height, max] : [0, 0];
  }
}

/** The commonest number of accesses and elements from one run to the next, of equals the first. */
function commonestRunStep(runs: readonly Run[]): readonly [number, number] | null {
  const steps = runs.slice(1).map(({ position, value }, i) =>
    [position - runs[i]!.position, value - runs[i]!.value] as const
  );
  const groups = Map.groupBy(steps, (step) => step.join(" "));
  let best: readonly (readonly [number, number])[] = [];
  for (const group of groups.values()) if (group.length > best.length) best = group;
  return best[0] ?? null;
}
