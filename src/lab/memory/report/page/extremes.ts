/**
 * The least and the greatest of any stretch of a column in logarithmic time, so that a frame costs
 * as much for a million events as for a thousand.
 *
 * @module
 */

/** A column with the extremes of every 16 values, of every 256, and so on. NaN is no value. */
export class Extremes {
  /** The least value of the last stretch measured; Infinity when it had none. */
  low = Infinity;
  /** The greatest; −Infinity when it had none. */
  high = -Infinity;

  readonly #lows: Float64Array[];
  readonly #highs: Float64Array[];

  /** Takes a column, which must not change. */
  constructor(values: Float64Array) {
    this.#lows = [values];
    this.#highs = [values];
    for (let count = values.length; count > 16;) {
      count = Math.ceil(count / 16);
      this.#addLevel(count);
    }
  }

  #addLevel(count: number): void {
    const belowLow = this.#lows.at(-1)!;
    const belowHigh = this.#highs.at(-1)!;
    const lows = new Float64Array(count).fill(Infinity);
    const highs = new Float64Array(count).fill(-Infinity);
    for (let index = 0; index < belowLow.length; index++) {
      const group = index >> 4;
      if (belowLow[index]! < lows[group]!) lows[group] = belowLow[index]!;
      if (belowHigh[index]! > highs[group]!) highs[group] = belowHigh[index]!;
    }
    this.#lows.push(lows);
    this.#highs.push(highs);
  }

  #take(level: number, index: number): void {
    const low = this.#lows[level]![index]!;
    const high = this.#highs[level]![index]!;
    if (low < this.low) this.low = low;
    if (high > this.high) this.high = high;
  }

  /** Measures the values from one index up to, and without, another. */
  measure(from: number, to: number): void {
    this.low = Infinity;
    this.high = -Infinity;
    const top = this.#lows.length - 1;
    for (let level = 0; from < to; level++) {
      while (from < to && (level === top || (from & 15) !== 0)) this.#take(level, from++);
      while (from < to && (to & 15) !== 0) this.#take(level, --to);
      from >>= 4;
      to >>= 4;
    }
  }
}
