/**
 * Plain segments: each is one allocation, which goes back as a whole.
 *
 * @module
 */

import { UNIT } from "./block_table.ts";
import { giveBackTo } from "./memory_upstream.ts";
import type { Segment } from "./segment.ts";
import type { SharedMemory } from "./shared_memory.ts";
import { roundUpTo } from "./size_class.ts";
import type { SegmentSource, SpaceSegments } from "./space_segments.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** Plain segments are multiples of this: CUDA takes no less from the device for them. */
const PLAIN_GRANULE = 2 * 2 ** 20;

/** The longest segment: the next longer one has more units than 32 bits hold. */
const LARGEST_PLAIN = 2 ** 31 * UNIT - PLAIN_GRANULE;

/** Takes plain segments from a device. */
export class PlainSegments implements SegmentSource {
  /** Blocks smaller than this many bytes are no whole segment. */
  readonly leastGiven: number = PLAIN_GRANULE;
  readonly #shared: SharedMemory;
  readonly #segments: SpaceSegments;
  readonly #common: StreamSlot;

  /** Takes nothing yet. New memory is free in the common slot. */
  constructor(shared: SharedMemory, segments: SpaceSegments, common: StreamSlot) {
    this.#shared = shared;
    this.#segments = segments;
    this.#common = common;
  }

  /** A segment for the request alone. */
  growthFor(_kind: number, units: number): number {
    return roundUpTo(units * UNIT, PLAIN_GRANULE);
  }

  /** A segment of `extraBytes`, or, where that is not to be had, of what is needed. */
  grow(kind: number, units: number, _slot: StreamSlot, extraBytes: number): boolean {
    const needed = this.growthFor(kind, units);
    // No block is as large as a tebibyte.
    if (needed > LARGEST_PLAIN) return false;
    const extra = Math.min(roundUpTo(extraBytes, PLAIN_GRANULE), LARGEST_PLAIN);
    const wanted = Math.max(needed, extra);
    return this.#take(kind, wanted) || (wanted > needed && this.#take(kind, needed));
  }

  /** Gives a segment back if the block is all of it. */
  giveBack(segment: Segment, block: number): number {
    if (!this.#segments.isWhole(block)) return 0;
    const { upstream } = this.#shared;
    this.#shared.onCall();
    giveBackTo(upstream, () => upstream.free(segment.address), () => {
      this.#shared.heap.take(block);
      this.#segments.remove(segment);
      this.#shared.onReserved(-segment.bytes, segment.address, segment.kind, true);
    });
    return segment.bytes;
  }

  #take(kind: number, bytes: number): boolean {
    const { upstream, heap, tick } = this.#shared;
    this.#shared.onCall();
    const address = upstream.allocate(bytes);
    if (address === 0) return false;
    const segment = this.#segments.add(address, bytes, kind, undefined);
    this.#shared.onReserved(bytes, address, kind, true);
    heap.release(segment.firstBlock, this.#common.index, 0, tick);
    return true;
  }
}
