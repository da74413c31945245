/**
 * Which part of the timeline is seen.
 *
 * @module
 */

/** A window on ascending positions of events. */
export class TimeAxis {
  /** Where the first event is. */
  readonly first: number;
  /** Where the last event is, above the first also when there is but one. */
  readonly last: number;
  /** The left of the window. */
  start: number;
  /** The right of the window. */
  end: number;

  readonly #positions: Float64Array;

  /** Shows everything. */
  constructor(positions: Float64Array) {
    this.#positions = positions;
    this.first = positions[0]!;
    const last = positions.at(-1)!;
    this.last = last > this.first ? last : this.first + 1;
    this.start = this.first;
    this.end = this.last;
  }

  /** The width of the window. */
  get span(): number {
    return this.end - this.start;
  }

  /** Whether everything is seen. */
  get isWhole(): boolean {
    return this.start <= this.first && this.end >= this.last;
  }

  /** Shows a window of this width that starts here, as far as there is something to see. */
  select(start: number, span: number): void {
    const whole = this.last - this.first;
    // Narrower than this, a double could not tell positions in the window apart.
    const least = Math.max(whole * 1e-7, Math.abs(this.last) * 1e-12);
    const allowed = Math.min(Math.max(span, least), whole);
    this.start = Math.min(Math.max(start, this.first), this.last - allowed);
    this.end = this.start + allowed;
  }

  /** Moves the window by a share of its width. */
  pan(share: number): void {
    this.select(this.start + share * this.span, this.span);
  }

  /** Shows this many times as much, with what is at a share of the width staying there. */
  zoom(factor: number, share: number): void {
    const fixed = this.start + share * this.span;
    const span = Math.min(this.span * factor, this.last - this.first);
    this.select(fixed - share * span, span);
  }

  /** Moves the window so that an event is inside. */
  reveal(index: number): void {
    const position = this.#positions[index]!;
    if (position < this.start || position > this.end) {
      this.select(position - this.span / 2, this.span);
    }
  }

  /** Where an event is, as a share of the window's width. */
  shareOf(index: number): number {
    return (this.#positions[index]! - this.start) / this.span;
  }

  /** The number of events at a share of the window's width and before it. */
  countUntil(share: number): number {
    const position = this.start + share * this.span;
    let low = 0;
    let high = this.#positions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#positions[middle]! <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
