/**
 * Writing down a trace event by event.
 *
 * @module
 */

import type { MemoryTrace, TraceEvent } from "./memory_trace.ts";

/**
 * Collects the events of a trace and numbers its blocks.
 *
 * @example
 * ```ts
 * import { TraceBuilder } from "./trace_builder.ts";
 *
 * const builder = new TraceBuilder();
 * const block = builder.allocate(4096);
 * builder.free(block);
 * console.log(builder.build("one", "One block.").events.length); // 2
 * ```
 */
export class TraceBuilder {
  readonly #events: TraceEvent[] = [];
  #blocks = 0;

  /** How many events there are so far. */
  get length(): number {
    return this.#events.length;
  }

  /**
   * A block is allocated.
   *
   * @param bytes Its size.
   * @param stream The stream that uses it first.
   * @param alignment A power of two; absent means the pool's own.
   * @returns The block's number.
   */
  allocate(bytes: number, stream = 0, alignment?: number): number {
    const block = this.#blocks++;
    const event = { kind: "allocate", block, bytes, stream } as const;
    this.#events.push(alignment === undefined ? event : { ...event, alignment });
    return block;
  }

  /** A block is freed. */
  free(block: number): void {
    this.#events.push({ kind: "free", block });
  }

  /** Blocks are freed, in the order given. */
  freeAll(blocks: readonly number[]): void {
    for (const block of blocks) this.free(block);
  }

  /** A block is allocated and freed at once: scratch memory of one kernel. */
  scratch(bytes: number, stream = 0): void {
    this.free(this.allocate(bytes, stream));
  }

  /** Another stream uses a block. */
  use(block: number, stream: number): void {
    this.#events.push({ kind: "use", block, stream });
  }

  /** A stream was waited for. */
  synchronize(stream: number): void {
    this.#events.push({ kind: "synchronize", stream });
  }

  /** A stream is disposed. */
  dispose(stream: number): void {
    this.#events.push({ kind: "dispose", stream });
  }

  /** A named point. */
  point(name: string): void {
    this.#events.push({ kind: "point", name });
  }

  /** The trace of all that came so far. */
  build(name: string, description: string): MemoryTrace {
    return { name, description, events: this.#events };
  }
}
