/**
 * A graph over a model device: launching it uses the memory that was allocated while it was
 * captured.
 *
 * @module
 */

import type { StrictStream, StrictUpstream } from "./strict_upstream.ts";
import type { MemoryStream } from "../../../../src/memory/pool/memory_upstream.ts";
import type { MemoryGraph } from "../../../../src/memory/pool/pool_streams.ts";

/** Memory that a captured operation touches. */
export interface CapturedRange {
  readonly address: number;
  readonly bytes: number;
}

/** The captured ranges. */
export class ModelGraph implements MemoryGraph {
  /** The owner of its uses of memory. */
  readonly owner: object;
  readonly #upstream: StrictUpstream;
  readonly #ranges: readonly CapturedRange[];
  readonly #listeners: ((stream: MemoryStream) => void)[] = [];
  readonly #closers: ((streams: Iterable<MemoryStream>) => void)[] = [];
  readonly #streams = new Set<StrictStream>();
  #ending = false;

  /** A graph that uses these ranges. */
  constructor(upstream: StrictUpstream, ranges: readonly CapturedRange[], owner: object) {
    this.#upstream = upstream;
    this.#ranges = ranges;
    this.owner = owner;
  }

  /** Registers a function to call for each launch. */
  onLaunch(launched: (stream: MemoryStream) => void): void {
    this.#listeners.push(launched);
  }

  /** Registers a function to call on disposal. */
  onDispose(close: (streams: Iterable<MemoryStream>) => void): void {
    this.#closers.push(close);
  }

  /** Whether a pool keeps memory for it. */
  get keepsMemory(): boolean {
    return this.#closers.length > 0 && !this.#ending;
  }

  /** Enqueues its work. */
  launch(stream: StrictStream): void {
    this.#streams.add(stream);
    for (const launched of this.#listeners) launched(stream);
    for (const { address, bytes } of this.#ranges) {
      this.#upstream.use(address, bytes, stream, this.owner);
    }
  }

  /** Forgets it; its launches still complete. One that fails may be tried again. */
  [Symbol.dispose](): void {
    this.#ending = true;
    while (this.#closers.length > 0) {
      this.#closers.at(-1)!(this.#streams);
      this.#closers.pop();
    }
  }
}
