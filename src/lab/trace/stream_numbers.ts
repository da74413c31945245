/**
 * The streams of a trace, numbered and named.
 *
 * @module
 */

import type { Stream } from "../../stream/stream.ts";

/** Numbers streams in the order in which they are first seen; keeps none alive. */
export class StreamNumbers {
  readonly #numbers = new WeakMap<Stream, number>();
  readonly #names: string[] = [];

  /** The number of a stream, from 0 on. */
  of(stream: Stream): number {
    const known = this.#numbers.get(stream);
    if (known !== undefined) return known;
    const number = this.#names.length;
    this.#names.push(stream.isDefault ? "default stream" : `stream ${number + 1}`);
    this.#numbers.set(stream, number);
    return number;
  }

  /** Their names, by number. */
  get names(): readonly string[] {
    return [...this.#names];
  }
}
