/**
 * Offsets in a source as lines and columns.
 *
 * @module
 */

/** The lines of a source. */
export class SourceLines {
  readonly #source: string;
  readonly #starts: readonly number[];

  /** Finds the lines. */
  constructor(source: string) {
    this.#source = source;
    const starts = [0];
    for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) {
      starts.push(at + 1);
    }
    this.#starts = starts;
  }

  /** How many there are; a line break at the end starts an empty one. */
  get count(): number {
    return this.#starts.length;
  }

  /** The line of a character, from 1. */
  lineOf(offset: number): number {
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.#starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  }

  /** Which character of its line this is, from 1. */
  columnOf(offset: number): number {
    return offset - this.#starts[this.lineOf(offset) - 1]! + 1;
  }

  /** The text of a line without its line break; undefined where there is no such line. */
  textOf(line: number): string | undefined {
    const start = this.#starts[line - 1];
    if (start === undefined) return undefined;
    const next = this.#starts[line];
    return this.#source.slice(start, next === undefined ? undefined : next - 1).replace(/\r$/, "");
  }
}
