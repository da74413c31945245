/**
 * Follows one stride through a stream of accesses.
 *
 * An access follows if it continues the line, one stride an access, of one of the two accesses before
 * it or of the last that followed; or if it is one stride after the last that followed, as if those
 * in between were missing. A stray access therefore counts once, in the place of another or between
 * two, and so does a jump after which the pattern goes on elsewhere.
 *
 * @module
 */

import { RunPattern, type RunVerdict } from "./run_pattern.ts";

/** Follows one stride. */
export class StrideFollower {
  /** The stride. */
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

  /** Begins to follow a stride after `position` accesses. */
  constructor(stride: number, position: number) {
    this.stride = stride;
    this.breaks = position;
    this.#position = position;
    this.#anchorPosition = position;
    this.#runs = new RunPattern(stride);
  }

  /** Follows the first `count` values of a batch. */
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
