/**
 * Which accesses follow a stride.
 *
 * An access follows if it continues the line, one stride an access, of one of the two accesses before
 * it or of the last that followed; or if it is one stride after the last that followed, as if those
 * in between had not been. So one stray access is one that does not follow, whether it stands in the
 * place of another or between two, and a jump from which the pattern goes on elsewhere is one, too.
 *
 * @module
 */

import { RunPattern, type RunVerdict } from "./run_pattern.ts";
import type { Indices } from "./stride_election.ts";

/** Follows one stride through a stream of accesses. */
export class StrideFollower {
  /** The stride. */
  readonly stride: number;
  /** Accesses that do not follow it, with all before the first that it saw. */
  breaks: number;

  readonly #runs: RunPattern;
  #position: number;
  /** Where the last access that followed was, and its index. */
  #anchorPosition: number;
  #anchor = 0;
  /** The last index and the one before it, and whether these accesses did not follow. */
  #last = NaN;
  #beforeLast = NaN;
  #lastBroke = false;
  #beforeLastBroke = false;
  #begun = false;
  #begins = 0;

  /**
   * @param stride The stride.
   * @param position How many accesses there were before the first.
   */
  constructor(stride: number, position: number) {
    this.stride = stride;
    this.breaks = position;
    this.#position = position;
    this.#anchorPosition = position;
    this.#runs = new RunPattern(stride);
  }

  /**
   * Looks at further accesses.
   *
   * @param values Their indices.
   * @param count How many of them.
   * @param base What was taken off each.
   */
  follow(values: Indices, count: number, base: number): void {
    let i = 0;
    while (i < count) {
      this.#step(base + values[i]!);
      i++;
      if (this.#lastBroke) continue;
      const end = values instanceof Uint32Array
        ? this.#endOfRun(values, i, count)
        : this.#endOfDistantRun(values, i, count);
      if (values[end - 1]! - values[i - 1]! === this.stride * (end - i)) {
        if (end > i) this.#skip(end - i, base + values[end - 1]!);
        i = end;
      } else {
        // The steps are the stride plus or minus 2^32.
        while (i < end) this.#step(base + values[i++]!);
      }
    }
  }

  /** Where steps of the stride end, as far as their lower 32 bits say. */
  #endOfRun(values: Uint32Array, from: number, count: number): number {
    const stride = this.stride | 0;
    let end = from;
    while (end < count && (values[end]! - values[end - 1]! | 0) === stride) end++;
    return end;
  }

  /** The same where steps of 2^32 more and less may make up for each other. */
  #endOfDistantRun(values: Float64Array, from: number, count: number): number {
    let end = from;
    while (end < count && values[end]! - values[end - 1]! === this.stride) end++;
    return end;
  }

  #step(value: number): void {
    const { stride } = this;
    const position = this.#position++;
    if (!this.#begun) this.#start(position, value);
    else if (value - this.#last === stride) {
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

  #start(position: number, value: number): void {
    this.#begun = true;
    this.#runs.begin(position, value, 0);
    this.#accept(position, value);
  }

  #beginRun(position: number, value: number): void {
    this.#begins++;
    this.#runs.begin(position, value, position - 1 - this.#anchorPosition);
  }

  #accept(position: number, value: number): void {
    this.#anchor = value;
    this.#anchorPosition = position;
    this.#beforeLastBroke = this.#lastBroke;
    this.#lastBroke = false;
  }

  /** Passes accesses that all follow. */
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
   * What the runs of the stride make together, if that explains more accesses than the stride does;
   * null where it does not. Nothing can be followed after that.
   */
  tiles(): RunVerdict | null {
    const runs = this.#runs.verdict(this.#position);
    if (runs === null) return null;
    const outliers = runs.outliers + this.breaks - this.#begins;
    return outliers < this.breaks ? { ...runs, outliers } : null;
  }
}
