/**
 * Which stream still uses which memory, to catch memory that is taken away or handed on too early.
 *
 * Uses are kept by the stretches of addresses that they touch, so that finding those of a block
 * does not take longer the more there are elsewhere.
 *
 * @module
 */

import type { ModelStream } from "./model_stream.ts";

/** Work of a stream that touches memory. */
interface Use {
  readonly start: number;
  readonly end: number;
  readonly stream: ModelStream;
  readonly owner: unknown;
  /** The stream's work up to here must be done for the use to be over. */
  position: number;
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

/** Bytes of a stretch. */
const STRETCH = 2 ** 20;
/** A use of more stretches than this is kept in one list for all of those. */
const MOST_STRETCHES = 16;

function isOver({ stream, position }: Use): boolean {
  return stream.completed >= position;
}

/** The uses that are not over. */
export class MemoryUses {
  readonly #byStretch = new Map<number, Use[]>();
  #wide: Use[] = [];
  #added = 0;
  #addedAtPrune = 0;
  #kept = 0;

  /** How many uses may not be over. */
  get size(): number {
    this.#prune();
    const uses = new Set(this.#wide);
    for (const some of this.#byStretch.values()) for (const use of some) uses.add(use);
    return uses.size;
  }

  /** A use of the range that is not over and that a predicate objects to. */
  conflict(
    start: number,
    bytes: number,
    objects: (stream: ModelStream, owner: unknown) => boolean,
  ): UseConflict | undefined {
    const end = start + bytes;
    for (const uses of this.#near(start, end)) {
      for (const use of uses) {
        if (use.start >= end || start >= use.end || isOver(use)) continue;
        if (!objects(use.stream, use.owner)) continue;
        const { stream, owner } = use;
        return { stream: stream.number, owner, address: Math.max(start, use.start) };
      }
    }
    return undefined;
  }

  /** Gives a stream work that touches a range. */
  add(start: number, bytes: number, stream: ModelStream, owner: unknown): void {
    const end = start + bytes;
    const position = ++stream.enqueued;
    const known = this.#sameUse(start, end, stream, owner);
    if (known !== undefined) {
      known.position = position;
      return;
    }
    const use = { start, end, stream, owner, position };
    const [first, last] = stretches(start, end);
    if (last - first >= MOST_STRETCHES) this.#wide.push(use);
    else for (let stretch = first; stretch <= last; stretch++) this.#addTo(stretch, use);
    // As often as the number that is left has been added, so that it costs next to nothing.
    if (++this.#added - this.#addedAtPrune > 64 + this.#kept) this.#prune();
  }

  /** The lists that may have a use of some of a range. */
  *#near(start: number, end: number): Generator<readonly Use[]> {
    yield this.#wide;
    const [first, last] = stretches(start, end);
    if (last - first < this.#byStretch.size) {
      for (let stretch = first; stretch <= last; stretch++) {
        const uses = this.#byStretch.get(stretch);
        if (uses !== undefined) yield uses;
      }
      return;
    }
    for (const [stretch, uses] of this.#byStretch) {
      if (stretch >= first && stretch <= last) yield uses;
    }
  }

  /** The same use by earlier work. */
  #sameUse(start: number, end: number, stream: ModelStream, owner: unknown): Use | undefined {
    const [first, last] = stretches(start, end);
    const uses = last - first >= MOST_STRETCHES ? this.#wide : this.#byStretch.get(first);
    return uses?.find((use) =>
      use.start === start && use.end === end && use.stream === stream && use.owner === owner
    );
  }

  #addTo(stretch: number, use: Use): void {
    const uses = this.#byStretch.get(stretch);
    if (uses === undefined) this.#byStretch.set(stretch, [use]);
    else uses.push(use);
  }

  /** Forgets what is over. */
  #prune(): void {
    this.#addedAtPrune = this.#added;
    this.#wide = this.#wide.filter((use) => !isOver(use));
    this.#kept = this.#wide.length;
    for (const [stretch, uses] of this.#byStretch) {
      const left = uses.filter((use) => !isOver(use));
      this.#kept += left.length;
      if (left.length === 0) this.#byStretch.delete(stretch);
      else this.#byStretch.set(stretch, left);
    }
  }
}

/** The first and the last stretch of a range; a range without bytes has the one it is in. */
function stretches(start: number, end: number): [first: number, last: number] {
  return [Math.floor(start / STRETCH), Math.floor(Math.max(start, end - 1) / STRETCH)];
}
