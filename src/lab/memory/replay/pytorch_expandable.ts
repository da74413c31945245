/**
 * PyTorch's other way of growing, `expandable_segments:True`: memory mapped page by page.
 *
 * After `ExpandableSegment`, `find_expandable_block`, `map_block`, `unmap_block` and
 * `get_free_block` of `c10/cuda/CUDACachingAllocator.cpp` at 001074d.
 *
 * - Each stream has, for each of the two pools, a range of 1⅛ times the device's memory, in pages
 *   of 2 MiB (small) or 20 MiB (large). Pages are mapped at the lowest addresses where the request
 *   fits, next to what is free there.
 * - Any block is split that leaves 512 bytes or more.
 * - The best fit counts what has no memory behind a block as part of it, so that the end of the
 *   range is used last.
 * - After a refusal, all whole pages that nobody uses are unmapped.
 *
 * The pages of one mapping are created one by one, and given back when one is refused; it is one
 * call here.
 *
 * @module
 */

import { modelPolicy } from "./model_allocator.ts";
import { PytorchAllocator } from "./pytorch_allocator.ts";
import {
  LARGE_SEGMENT,
  MINIMUM_BLOCK,
  type PytorchGrowth,
  type PytorchPool,
  SMALL_SEGMENT,
} from "./pytorch_pool.ts";
import type { ReplayDevice } from "./replay_device.ts";
import type { ReplayPolicy } from "./replay_policy.ts";
import {
  absorbNeighbours,
  isSplit,
  type SegmentBlock,
  splitBlock,
  wholeSegment,
} from "./segment_block.ts";

function pageBytes(pool: PytorchPool): number {
  return pool.isSmall ? SMALL_SEGMENT : LARGE_SEGMENT;
}

function isAvailable(block: SegmentBlock | undefined): block is SegmentBlock {
  return block?.state === "free" || block?.state === "unmapped";
}

/** Whether that many bytes follow from a block on that nobody has. */
function hasSpace(first: SegmentBlock, bytes: number): boolean {
  let space = 0;
  let block: SegmentBlock | undefined = first;
  while (space < bytes && isAvailable(block)) {
    space += block.bytes;
    block = block.next;
  }
  return space >= bytes;
}

function expandableBytes({ bytes, next }: SegmentBlock): number {
  return bytes + (next?.state === "unmapped" ? next.bytes : 0);
}

class ExpandableSegments implements PytorchGrowth {
  readonly #device: ReplayDevice;
  readonly #rangeBytes: number;

  constructor(device: ReplayDevice) {
    this.#device = device;
    this.#rangeBytes = device.capacityBytes + Math.floor(device.capacityBytes / 8);
  }

  choose(fitting: Iterable<SegmentBlock>): SegmentBlock | undefined {
    let chosen: SegmentBlock | undefined;
    for (const block of fitting) {
      if (chosen !== undefined && expandableBytes(block) >= expandableBytes(chosen)) break;
      chosen = block;
    }
    return chosen;
  }

  splits(_pool: PytorchPool, restBytes: number): boolean {
    return restBytes >= MINIMUM_BLOCK;
  }

  grow(pool: PytorchPool, bytes: number, stream: number): SegmentBlock | undefined {
    let block = this.#findSpace(pool, bytes, stream) ?? this.#reserve(pool, stream);
    if (block.state === "unmapped" && !this.#map(pool, block, Math.min(block.bytes, bytes))) {
      return undefined;
    }
    while (block.bytes < bytes) {
      // A free block has no free neighbour, so that what follows has no memory.
      const next: SegmentBlock = block.next!;
      if (!this.#map(pool, next, Math.min(bytes - block.bytes, next.bytes))) return undefined;
      block = next;
    }
    pool.free.delete(block);
    return block;
  }

  release(pool: PytorchPool): void {
    for (const block of [...pool.free]) {
      const unmapped = this.#unmap(pool, block);
      // Nothing is mapped in the range any more: its addresses are given back.
      if (unmapped !== undefined && !isSplit(unmapped)) pool.unmapped.delete(unmapped);
    }
  }

  /** The block with the lowest address that the request can begin in. */
  #findSpace(pool: PytorchPool, bytes: number, stream: number): SegmentBlock | undefined {
    const first = pool.unmapped.firstPosition((block) => block.stream >= stream);
    for (let position = first;; position++) {
      const unmapped = pool.unmapped.at(position);
      if (unmapped?.stream !== stream) return undefined;
      const start = isAvailable(unmapped.previous) ? unmapped.previous : unmapped;
      if (hasSpace(start, bytes)) return start;
    }
  }

  #reserve(pool: PytorchPool, stream: number): SegmentBlock {
    const page = pageBytes(pool);
    const addresses = this.#device.reserveAddresses(Math.ceil(this.#rangeBytes / page) * page);
    const range = wholeSegment(addresses, stream, "unmapped");
    pool.unmapped.insert(range);
    return range;
  }

  /** Maps the pages for the first bytes of a block; it is free then, and merged with others. */
  #map(pool: PytorchPool, block: SegmentBlock, bytes: number): boolean {
    const page = pageBytes(pool);
    const mapped = Math.ceil(bytes / page) * page;
    if (!this.#device.take(mapped)) return false;
    pool.unmapped.delete(block);
    if (mapped < block.bytes) pool.unmapped.insert(splitBlock(block, mapped));
    pool.free.merge(block);
    return true;
  }

  /** Unmaps the whole pages of a free block; what has no memory then, if any has none. */
  #unmap(pool: PytorchPool, block: SegmentBlock): SegmentBlock | undefined {
    const page = pageBytes(pool);
    const begin = Math.ceil(block.offset / page) * page;
    const end = Math.floor((block.offset + block.bytes) / page) * page;
    if (begin >= end) return undefined;
    this.#device.giveBack(end - begin);
    pool.free.delete(block);
    let pages = block;
    if (begin > block.offset) {
      pages = splitBlock(block, begin - block.offset);
      pool.free.add(block);
    }
    if (end < pages.offset + pages.bytes) pool.free.add(splitBlock(pages, end - begin));
    pages.state = "unmapped";
    absorbNeighbours(pages, pool.unmapped);
    pool.unmapped.insert(pages);
    return pages;
  }
}

/** PyTorch's native caching allocator with expandable segments. */
export const PYTORCH_EXPANDABLE: ReplayPolicy = modelPolicy(
  "pytorch-expandable",
  "PyTorch's native caching allocator with expandable segments",
  (device) => new PytorchAllocator(device, new ExpandableSegments(device)),
);
