/**
 * How RMM's resources share free blocks among streams.
 *
 * After `cpp/include/rmm/mr/detail/stream_ordered_memory_resource.hpp` of rapidsai/rmm at 5d50a37.
 * Every stream has a free list. An allocation looks into its own stream's; then into those of the
 * others, one after the other, where the rest of a split block stays; then it takes the others'
 * lists over, one after the other, until something fits; only then the resource expands. The stream
 * waits for the other's event, which costs nothing in a replay.
 *
 * The lists of RMM are ordered by the addresses of events, here by the first use of the stream.
 *
 * @module
 */

import type { SegmentPart } from "./segment_part.ts";

/** The stream that stands for the default stream: what RMM takes at the start belongs to it. */
export const DEFAULT_STREAM = 0;

/** Every size is a multiple of this: `CUDA_ALLOCATION_ALIGNMENT`. */
export const RMM_ALIGNMENT = 256;

/** The free blocks of a stream. */
export interface RmmFreeList {
  /** Takes out the block that fits best; `undefined` when none is large enough. */
  take(bytes: number): SegmentPart | undefined;
  /** Adds a free block. */
  insert(block: SegmentPart): void;
  /** The blocks in the list's order. */
  blocks(): Iterable<SegmentPart>;
}

/** `stream_ordered_memory_resource` */
export abstract class RmmResource {
  /** The largest request that it serves: `get_maximum_allocation_size`. */
  abstract readonly largestBytes: number;

  /**
   * By stream. A list that was taken over leaves its place empty, since its stream keeps its event
   * and with it its place.
   */
  readonly #lists = new Map<number, RmmFreeList | undefined>();

  /** An empty list. */
  protected abstract createList(): RmmFreeList;

  /** What is left of a block when that many bytes of it are used. */
  protected abstract rest(block: SegmentPart, bytes: number): SegmentPart | undefined;

  /** Gets a block that is large enough, and may add others to the list; `undefined`: no memory. */
  protected abstract expand(
    bytes: number,
    list: RmmFreeList,
    stream: number,
  ): SegmentPart | undefined;

  /** Allocates from a block found anywhere; `undefined` for out of memory. */
  allocate(bytes: number, stream: number): SegmentPart | undefined {
    const own = this.#list(stream);
    return this.#split(own.take(bytes), bytes, own) ??
      this.#fromOthers(bytes, stream) ??
      this.#afterMerging(bytes, stream, own) ??
      this.#split(this.expand(bytes, own, stream), bytes, own);
  }

  /** Adds a block to a stream's list. */
  free(block: SegmentPart, stream: number): void {
    this.#list(stream).insert(block);
  }

  /** All free blocks. */
  freeBlocks(): SegmentPart[] {
    return [...this.#lists.values()].flatMap((list) => [...list?.blocks() ?? []]);
  }

  #list(stream: number): RmmFreeList {
    let list = this.#lists.get(stream);
    if (list === undefined) {
      list = this.createList();
      this.#lists.set(stream, list);
    }
    return list;
  }

  #fromOthers(bytes: number, stream: number): SegmentPart | undefined {
    for (const [other, list] of this.#lists) {
      if (other === stream || list === undefined) continue;
      const block = this.#split(list.take(bytes), bytes, list);
      if (block !== undefined) return block;
    }
    return undefined;
  }

  #afterMerging(bytes: number, stream: number, own: RmmFreeList): SegmentPart | undefined {
    for (const [other, list] of this.#lists) {
      if (other === stream || list === undefined) continue;
      for (const block of list.blocks()) own.insert(block);
      this.#lists.set(other, undefined);
      const block = this.#split(own.take(bytes), bytes, own);
      if (block !== undefined) return block;
    }
    return undefined;
  }

  /** The used part of a block; the rest goes into the list. */
  #split(
    block: SegmentPart | undefined,
    bytes: number,
    list: RmmFreeList,
  ): SegmentPart | undefined {
    if (block === undefined) return undefined;
    const rest = this.rest(block, bytes);
    if (rest === undefined) return block;
    list.insert(rest);
    return { ...block, bytes: block.bytes - rest.bytes };
  }
}
