/**
 * A space: segments, how they come and how they go. The pool has one, and each graph that was
 * captured while memory was allocated has one of its own.
 *
 * @module
 */

import { LIVE, NEXT, PENDING, TICK, UNIT } from "./block_table.ts";
import { PlainSegments } from "./plain_segments.ts";
import { LARGE, type Segment } from "./segment.ts";
import type { SharedMemory } from "./shared_memory.ts";
import { type SegmentSource, SpaceSegments } from "./space_segments.ts";
import type { StreamSlot } from "./stream_slots.ts";
import { VirtualSegments } from "./virtual_segments.ts";

// Addresses that are reserved at once, as shares of the device's memory. The pool's own space has
// enough for good; graphs may be hundreds, and a process has 2^47 addresses in all.
const MANY_ADDRESSES = 2;
const FEW_ADDRESSES = 1 / 8;

/** Segments for one purpose. */
export class MemorySpace {
  /** The common slot of its blocks. */
  readonly common: StreamSlot;
  readonly #shared: SharedMemory;
  readonly #segments: SpaceSegments;
  readonly #virtual: VirtualSegments | undefined;
  readonly #source: SegmentSource;

  /**
   * An empty space.
   *
   * @param isVirtual Whether to map memory; plain segments otherwise.
   * @param isOfGraph Whether it is for what is captured: there may be many of these.
   */
  constructor(
    shared: SharedMemory,
    common: StreamSlot,
    isVirtual: boolean,
    isOfGraph: boolean,
  ) {
    this.#shared = shared;
    this.common = common;
    this.#segments = new SpaceSegments(shared);
    this.#virtual = isVirtual
      ? new VirtualSegments(
        shared,
        this.#segments,
        common,
        isOfGraph ? FEW_ADDRESSES : MANY_ADDRESSES,
      )
      : undefined;
    this.#source = this.#virtual ?? new PlainSegments(shared, this.#segments, common);
  }

  /** Its segments. */
  get segments(): Iterable<Segment> {
    return this.#segments;
  }

  /**
   * What serving a request would take from the device, in bytes; 0 where nothing. The free blocks
   * that the request would use as well become the stream's, so that they stay whatever is reclaimed
   * meanwhile.
   *
   * @param units The request's size with what alignment may waste.
   */
  growthFor(kind: number, units: number, slot: StreamSlot): number {
    return this.#source.growthFor(kind, units, slot);
  }

  /**
   * Takes memory from the device so that a free block of this many units is there.
   *
   * @param extraBytes How much more may be taken, so that the next request need not.
   * @returns False where the device has none.
   */
  grow(kind: number, units: number, slot: StreamSlot, extraBytes: number): boolean {
    return this.#source.grow(kind, units, slot, extraBytes);
  }

  /**
   * Gives free memory that no stream uses back to the device, in as few requests as may be.
   *
   * @param bytes How much at least, if there is as much.
   * @param worth From smaller blocks nothing is given back, in bytes.
   * @returns How much it was.
   */
  reclaim(bytes: number, worth = 0): number {
    // All of it takes one pass; it would be sorted anew for each piece.
    if (bytes === Infinity) return this.reclaimOld(Infinity);
    let returned = 0;
    const seen = new Set<number>();
    let others: Iterator<number> | undefined;
    while (returned < bytes) {
      let block = this.#enough(bytes - returned);
      if (block === 0 || seen.has(block)) {
        others ??= this.#largestFirst(worth).values();
        do block = others.next().value ?? 0; while (seen.has(block));
      }
      if (block === 0) break;
      // What is left of it joins no other, so that the numbers of the others stay theirs.
      seen.add(block);
      returned += this.#giveBack(block, bytes - returned);
    }
    return returned;
  }

  /** Gives back the free memory that was freed at this tick of the pool's clock or before. */
  reclaimOld(tick: number): number {
    const { heap, table } = this.#shared;
    let returned = 0;
    for (let block = heap.oldest(this.common.index); block !== 0;) {
      const next = heap.younger(block);
      if (table.field(block, TICK) <= tick) returned += this.#giveBack(block, Infinity);
      block = next;
    }
    return returned;
  }

  /** Whether somebody has a block of it, or a stream may. */
  get isInUse(): boolean {
    const { table } = this.#shared;
    for (const { firstBlock } of this.#segments) {
      for (let block = firstBlock; block !== 0; block = table.field(block, NEXT)) {
        const state = table.state(block);
        if (state === LIVE || state === PENDING) return true;
      }
    }
    return false;
  }

  /** Gives reservations of addresses back in which nothing is mapped any more. */
  releaseAddresses(): void {
    this.#virtual?.releaseAddresses();
  }

  /** A block that has this much for sure; 0 for none. */
  #enough(bytes: number): number {
    if (this.#virtual === undefined) return 0;
    // Whole pieces of that many bytes are in any block that is this much longer.
    const units = Math.ceil((bytes + 2 * this.#virtual.leastGiven) / UNIT);
    return this.#shared.heap.find(this.common.index, LARGE, units);
  }

  /** The blocks that may have something to give back. */
  #largestFirst(worth: number): number[] {
    const { heap, table } = this.#shared;
    const least = Math.max(this.#source.leastGiven, worth);
    const blocks: number[] = [];
    for (let block = heap.oldest(this.common.index); block !== 0; block = heap.younger(block)) {
      if (table.units(block) * UNIT >= least) blocks.push(block);
    }
    return blocks.sort((one, other) => table.units(other) - table.units(one));
  }

  #giveBack(block: number, most: number): number {
    return this.#source.giveBack(this.#segments.of(block), block, most);
  }
}
