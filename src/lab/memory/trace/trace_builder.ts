/**
 * Builds a trace event by event.
 *
 * @module
 */

import type { MemoryTrace, TraceEvent } from "./memory_trace.ts";

/** Collects the events of a trace and numbers its blocks. */
export class TraceBuilder {
  readonly #events: TraceEvent[] = [];
  #blocks = 0;

  /** The number of events so far. */
  get length(): number {
    return this.#events.length;
  }

  /** Adds an allocation and returns the number of its block. */
  allocate(bytes: number, stream = 0, alignment?: number): number {
    const block = this.#blocks++;
    const event = { kind: "allocate", block, bytes, stream } as const;
    this.#events.push(alignment === undefined ? event : { ...event, alignment });
    return block;
  }

  /** Frees a block. */
  free(block: number): void {
    this.#events.push({ kind: "free", block });
  }

  /** Frees blocks in the given order. */
  freeAll(blocks: readonly number[]): void {
    for (const block of blocks) this.free(block);
  }

  /** Allocates a block and frees it at once, as a kernel does with scratch memory. */
  scratch(bytes: number, stream = 0): void {
    this.free(this.allocate(bytes, stream));
  }

  /** Adds the use of a block by another stream. */
  use(block: number, stream: number): void {
    this.#events.push({ kind: "use", block, stream });
  }

  /** Adds a wait for a stream. */
  synchronize(stream: number): void {
    this.#events.push({ kind: "synchronize", stream });
  }

  /** Disposes a stream. */
  dispose(stream: number): void {
    this.#events.push({ kind: "dispose", stream });
  }

  /** Adds a named point. */
  point(name: string): void {
    this.#events.push({ kind: "point", name });
  }

  /** Returns the trace of all events so far. */
  build(name: string, description: string): MemoryTrace {
    return { name, description, events: this.#events };
  }
}
