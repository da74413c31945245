/**
 * Which stream still uses which memory, to catch memory that is taken away or handed on too early.
 *
 * @module
 */

import type { ModelStream } from "./model_stream.ts";

/** Work of a stream that touches memory. */
interface Use {
  readonly start: number;
  readonly end: number;
  readonly stream: ModelStream;
  /** The stream's work up to here must be done for the use to be over. */
  readonly position: number;
  readonly owner: unknown;
}

/** Two pieces of work touch the same memory and nothing orders them. */
export interface UseConflict {
  /** The number of the stream whose work is not done. */
  readonly stream: number;
  /** On whose behalf it uses the memory. */
  readonly owner: unknown;
  /** The first address that both touch. */
  readonly address: number;
}

/** The uses that are not over. */
export class MemoryUses {
  #uses: Use[] = [];

  /** How many uses may not be over. */
  get size(): number {
    this.#prune();
    return this.#uses.length;
  }

  /** Forgets what is over. */
  #prune(): void {
    this.#uses = this.#uses.filter(({ stream, position }) => stream.completed < position);
  }

  /** A use of the range that is not over and that a predicate objects to. */
  conflict(
    start: number,
    bytes: number,
    objects: (stream: ModelStream, owner: unknown) => boolean,
  ): UseConflict | undefined {
    const end = start + bytes;
    const use = this.#uses.find((use) =>
      use.start < end && start < use.end && use.stream.completed < use.position &&
      objects(use.stream, use.owner)
    );
    if (use === undefined) return undefined;
    return {
      stream: use.stream.number,
      owner: use.owner,
      address: Math.max(start, use.start),
    };
  }

  /** Gives a stream work that touches a range. */
  add(start: number, bytes: number, stream: ModelStream, owner: unknown): void {
    if ((this.#uses.length & 63) === 63) this.#prune();
    this.#uses.push({
      start,
      end: start + bytes,
      stream,
      position: ++stream.enqueued,
      owner,
    });
  }
}
