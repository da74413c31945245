/**
 * What a build says while it runs.
 *
 * @module
 */

/** Takes a line, without its end. */
export type LineWriter = (line: string) => void;

/** Seconds since a moment of `performance.now()`, as in "1.2 s". */
export function secondsSince(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/** Counts the steps of one library's build and writes a line for each that is done. */
export class Progress {
  readonly #label: string;
  readonly #total: number;
  readonly #write: LineWriter;
  #done = 0;

  /** Starts at 0 of `total` steps. */
  constructor(label: string, total: number, write: LineWriter) {
    this.#label = label;
    this.#total = total;
    this.#write = write;
  }

  /** Writes that a step which began at `start` is done, such as `host [ 3/27] csrc/shim/memory/copy.cu  1.2 s`. */
  step(name: string, start: number): void {
    this.#done++;
    const count = String(this.#done).padStart(String(this.#total).length);
    this.#write(`${this.#label} [${count}/${this.#total}] ${name}  ${secondsSince(start)}`);
  }
}
