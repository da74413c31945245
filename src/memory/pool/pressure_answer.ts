/**
 * Giving back free memory when another isolate asks for it.
 *
 * @module
 */

import type { MemoryUpstream } from "./memory_upstream.ts";
import type { PoolStreams } from "./pool_streams.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** How far a stream must get. */
interface Awaited {
  readonly slot: StreamSlot;
  readonly epoch: number;
}

/**
 * The answer of a pool. It gives back at once what no stream uses, and the rest of what was free
 * when it was asked once the streams have got as far as they were enqueued then, without waiting.
 */
export class PressureAnswer {
  readonly #upstream: MemoryUpstream;
  readonly #streams: PoolStreams;
  readonly #trim: () => void;
  #awaited: readonly Awaited[] | undefined;
  #isOwed = false;

  /** Nobody has asked. */
  constructor(upstream: MemoryUpstream, streams: PoolStreams, trim: () => void) {
    this.#upstream = upstream;
    this.#streams = streams;
    this.#trim = trim;
  }

  /**
   * Does what can be done now. Called when the number that tells of pressure is not what this
   * returned last.
   *
   * @returns That number; `NaN`, which equals none, while something is still to be given back.
   */
  heed(): number {
    const { signal } = this.#upstream;
    // Any call to a lost device throws what it was lost to, so this is the last line it reaches.
    if (this.#upstream.lost) this.#upstream.freeBytes();
    if (this.#upstream.wasPressed()) {
      this.#isOwed = true;
      this.#awaited = undefined;
    }
    if (!this.#isOwed) return signal;
    // While a stream is captured nobody may ask how far streams are.
    if (this.#upstream.capturing) return NaN;
    if (this.#awaited !== undefined && !this.#awaited.every((each) => this.#isReached(each))) {
      return NaN;
    }
    this.#trim();
    this.#awaited = this.#awaited === undefined ? this.#underWay() : [];
    this.#isOwed = this.#awaited.length > 0;
    return this.#isOwed ? NaN : signal;
  }

  /** What streams are still to do of what was enqueued before memory was freed. */
  #underWay(): Awaited[] {
    return [...this.#streams.slots()].flatMap((slot) => {
      const mark = slot.marks.at(-1);
      return mark === undefined ? [] : [{ slot, epoch: mark.epoch }];
    });
  }

  #isReached({ slot, epoch }: Awaited): boolean {
    this.#streams.poll(slot);
    return slot.isClean(epoch);
  }
}
