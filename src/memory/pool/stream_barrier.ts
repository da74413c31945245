/**
 * Waiting, blocking this thread, until streams have done what they were given: what debug mode needs
 * before it may look at memory.
 *
 * @module
 */

import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolEngine } from "./pool_engine.ts";

/** Waits for the streams of a pool. */
export class StreamBarrier {
  readonly #engine: PoolEngine;
  /** Streams of the pool's device, in the order in which they were seen. */
  readonly #streams = new Set<MemoryStream>();

  /** Waits for streams that an engine knows. */
  constructor(engine: PoolEngine) {
    this.#engine = engine;
  }

  /** Notes that a stream is one of the pool's device. */
  note(stream: MemoryStream): void {
    this.#streams.add(stream);
  }

  /** Whether waiting, or reading, would spoil a capture or reach nothing. */
  get isForbidden(): boolean {
    const { upstream } = this.#engine;
    return upstream.capturing || upstream.lost;
  }

  /**
   * A stream to work on for the blocks of one: itself, or another if it is disposed; `undefined`
   * where all are.
   */
  usableFor(stream: MemoryStream): MemoryStream | undefined {
    if (!stream.disposed) return stream;
    for (const other of this.#streams) {
      if (!other.disposed) return other;
      this.#streams.delete(other);
    }
    return undefined;
  }

  /** Waits until a stream has done all work that it was given so far. */
  wait(stream: MemoryStream): void {
    if (stream.disposed) return this.#waitForRetired(stream);
    const { upstream } = this.#engine;
    const event = upstream.createEvent(stream);
    try {
      upstream.recordEvent(event, stream);
      upstream.waitSync(event);
    } finally {
      upstream.destroyEvent(event);
    }
  }

  /** A last mark was made when the stream was disposed. Without one the pool saw it through. */
  #waitForRetired(stream: MemoryStream): void {
    const { streams, upstream } = this.#engine;
    for (const slot of streams.slots()) {
      const mark = slot.stream === stream && !slot.captured ? slot.marks.at(-1) : undefined;
      if (mark !== undefined) upstream.waitSync(mark.event);
    }
  }
}
