/**
 * Numbers and names for the streams of a pool, as snapshots and reports show them.
 *
 * @module
 */

import type { MemoryStream } from "./memory_upstream.ts";

/** The streams of a pool in the order in which they were first seen. None is kept alive. */
export class StreamNames {
  readonly #numbers = new WeakMap<MemoryStream, number>();
  readonly #streams: WeakRef<MemoryStream>[] = [];
  readonly #defaults = new Set<number>();

  /** The number of a stream, from 0 on. */
  indexOf(stream: MemoryStream): number {
    const known = this.#numbers.get(stream);
    if (known !== undefined) return known;
    const number = this.#streams.push(new WeakRef(stream)) - 1;
    this.#numbers.set(stream, number);
    if (stream.isDefault === true) this.#defaults.add(number);
    return number;
  }

  /** The name of the stream of this number, as it is now; −1 is one that is gone and forgotten. */
  nameOf(number: number): string {
    if (number < 0) return "disposed stream";
    if (this.#defaults.has(number)) return "default";
    const stream = this.#streams[number]!.deref();
    // One that is collected without having been disposed cannot be used any more either.
    const kind = stream === undefined || stream.disposed ? "disposed stream" : "stream";
    return `${kind} ${number + 1}`;
  }

  /** The names of all, by number. */
  names(): string[] {
    return this.#streams.map((_, number) => this.nameOf(number));
  }
}
