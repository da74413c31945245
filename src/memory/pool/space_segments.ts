/**
 * The segments of a space, and what they are to it: where memory comes from, and goes.
 *
 * @module
 */

import { LIVE, NEXT, PREVIOUS, RECORD_SHIFT, SEGMENT, STATE, UNIT } from "./block_table.ts";
import { type PieceMap, Segment } from "./segment.ts";
import type { SharedMemory } from "./shared_memory.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** One way to take memory from a device: as plain segments, or mapped into virtual ones. */
export interface SegmentSource {
  /** Blocks smaller than this many bytes have nothing to give back. */
  readonly leastGiven: number;
  /** What serving a request would take from the device, in bytes; 0 where nothing. */
  growthFor(kind: number, units: number, slot: StreamSlot): number;
  /** Takes memory so that a free block of this many units is there; false where there is none. */
  grow(kind: number, units: number, slot: StreamSlot, extraBytes: number): boolean;
  /** Gives back what can be of a free block that anybody may have; how many bytes it was. */
  giveBack(segment: Segment, block: number, most: number): number;
}

/** The segments of a space. */
export class SpaceSegments {
  readonly #shared: SharedMemory;
  readonly #segments = new Set<Segment>();

  /** None yet. */
  constructor(shared: SharedMemory) {
    this.#shared = shared;
  }

  /** How many there are. */
  get size(): number {
    return this.#segments.size;
  }

  /** All of them. */
  [Symbol.iterator](): IterableIterator<Segment> {
    return this.#segments.values();
  }

  /** The segment that a block lies in. */
  of(block: number): Segment {
    return this.#shared.segments[this.#shared.table.field(block, SEGMENT) >> 1]!;
  }

  /** A new segment of one block, which counts as live until it is said to be something else. */
  add(address: number, bytes: number, kind: number, pieces: PieceMap | undefined): Segment {
    const { table, segments } = this.#shared;
    let number = 0;
    while (segments[number] !== undefined) number++;
    const block = table.create(address, bytes / UNIT, number * 2 + kind);
    table.ints[(block << RECORD_SHIFT) + STATE] = LIVE;
    const segment = new Segment(number, address, bytes, kind, pieces, block);
    segments[number] = segment;
    this.#segments.add(segment);
    return segment;
  }

  /** Forgets a segment whose one block is in no list. */
  remove(segment: Segment): void {
    const { table, segments } = this.#shared;
    table.recycle(segment.firstBlock);
    segments[segment.number] = undefined;
    this.#segments.delete(segment);
  }

  /** Whether a block is all of its segment. */
  isWhole(block: number): boolean {
    const { table } = this.#shared;
    return table.field(block, NEXT) === 0 && table.field(block, PREVIOUS) === 0;
  }
}
