/**
 * What several branches of a capture use: nobody has it again before the capture ends, since branches
 * of a graph overlap, and nobody can tell when one has got somewhere.
 *
 * @module
 */

import { StreamSlot } from "./stream_slots.ts";

/** Keeps blocks of captures pending until these end, each by a stream that does not exist. */
export class CaptureHolds {
  /** By the number of the common slot of the capture's space. */
  readonly #holds = new Map<number, StreamSlot>();

  /** What a block of a capture's space waits for. */
  of(common: number): StreamSlot {
    let hold = this.#holds.get(common);
    if (hold === undefined) this.#holds.set(common, hold = new StreamSlot(-1, undefined, -1, true));
    return hold;
  }

  /** The capture is over: its blocks are the graph's, and nobody allocates in its space any more. */
  end(common: number): void {
    const hold = this.#holds.get(common);
    if (hold !== undefined) hold.completed = hold.epoch;
    this.#holds.delete(common);
  }
}
