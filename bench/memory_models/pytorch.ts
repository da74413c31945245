/**
 * Models of PyTorch's native caching allocator for CUDA, with segments of fixed size and with
 * expandable segments.
 *
 * After `c10/cuda/CUDACachingAllocator.cpp` of pytorch/pytorch at 001074d, with default settings: no
 * rounding to divisions of powers of two, no split limit, no garbage collection, no memory fraction.
 *
 * - Sizes are rounded up to multiples of 512 bytes. One pool serves sizes up to 1 MiB, another the
 *   larger ones.
 * - A free block belongs to the stream of its segment. The smallest sufficient block is taken, at
 *   equal size the one with the lowest address.
 * - A freed block merges with free neighbours at once, unless other streams used it. In that case it
 *   waits for one event per stream, which the next allocation queries.
 * - If nothing fits, the allocator requests memory. After a refusal it waits for the events, returns
 *   cached memory, and repeats the request without another search of the cache
 *   (pytorch/pytorch#189504).
 *
 * PyTorch does not destroy streams, so the end of a stream changes nothing.
 *
 * @module
 */

import {
  compareAddresses,
  ModelAllocator,
  type ModelDevice,
  type ModelPolicy,
  modelPolicy,
} from "./model_allocator.ts";
import {
  absorbNeighbours,
  FreeBlocks,
  isSplit,
  OrderedSet,
  type SegmentBlock,
  splitBlock,
  wholeSegment,
} from "./segment_blocks.ts";

const MiB = 2 ** 20;

/** The unit of sizes: `kMinBlockSize`. */
const MIN_BLOCK = 512;
/** The largest size of the pool of small blocks: `kSmallSize`. */
const MAX_SMALL = MiB;
/** The segment size of the pool of small blocks: `kSmallBuffer`. */
const SMALL_SEGMENT = 2 * MiB;
/** The segment size for sizes below {@linkcode MIN_OWN_SEGMENT}: `kLargeBuffer`. */
const LARGE_SEGMENT = 20 * MiB;
/** The smallest size with a segment of its own: `kMinLargeAlloc`. */
const MIN_OWN_SEGMENT = 10 * MiB;
/** The unit of the size of such a segment: `kRoundLarge`. */
const OWN_SEGMENT_UNIT = 2 * MiB;

/** The free blocks for small, or large, requests. */
class Pool {
  readonly isSmall: boolean;
  readonly free = new FreeBlocks();
  /** Addresses without memory, by stream and address; only expandable segments have some. */
  readonly unmapped = new OrderedSet<SegmentBlock>((left, right) =>
    left.stream - right.stream || compareAddresses(left, right)
  );

  constructor(isSmall: boolean) {
    this.isSmall = isSmall;
  }
}

interface PytorchBlock {
  readonly part: SegmentBlock;
  readonly pool: Pool;
  /** Other streams that used the block. */
  readonly uses: Set<number>;
}

abstract class PytorchAllocator extends ModelAllocator<PytorchBlock> {
  readonly #small = new Pool(true);
  readonly #large = new Pool(false);
  /** Freed blocks that wait for events. */
  readonly #pending: PytorchBlock[] = [];

  constructor(device: ModelDevice) {
    super(device, MIN_BLOCK);
  }

  /** The block to use of the sufficient ones, which come by size. */
  protected abstract choose(fitting: Iterable<SegmentBlock>): SegmentBlock | undefined;
  /** Decides whether a block is split for a rest. */
  protected abstract splits(pool: Pool, restBytes: number): boolean;
  /** A new block outside the pool; `undefined` if out of memory. */
  protected abstract grow(pool: Pool, bytes: number, stream: number): SegmentBlock | undefined;
  /** Returns unused memory. */
  protected abstract release(pool: Pool): void;

  /** `malloc` */
  protected override take(bytes: number, stream: number): PytorchBlock | undefined {
    this.#releasePending();
    const pool = bytes <= MAX_SMALL ? this.#small : this.#large;
    const part = this.#cached(pool, bytes, stream) ?? this.grow(pool, bytes, stream) ??
      this.#growAfterRelease(pool, bytes, stream);
    if (part === undefined) return undefined;
    if (this.splits(pool, part.bytes - bytes)) pool.free.add(splitBlock(part, bytes));
    part.state = "live";
    return { part, pool, uses: new Set() };
  }

  /** `free` */
  protected override give(block: PytorchBlock): void {
    if (block.uses.size === 0) return block.pool.free.merge(block.part);
    block.part.state = "pending";
    this.#pending.push(block);
  }

  /** `recordStream` */
  protected override noteUse({ part, uses }: PytorchBlock, stream: number): void {
    if (stream !== part.stream) uses.add(stream);
  }

  protected override idle(): Iterable<SegmentBlock> {
    const pools = [this.#small, this.#large];
    return [
      ...this.#pending.map(({ part }) => part),
      ...pools.flatMap(({ free, unmapped }) => [...free, ...unmapped]),
    ];
  }

  #cached(pool: Pool, bytes: number, stream: number): SegmentBlock | undefined {
    const block = this.choose(pool.free.fitting(bytes, stream));
    if (block !== undefined) pool.free.delete(block);
    return block;
  }

  #growAfterRelease(pool: Pool, bytes: number, stream: number): SegmentBlock | undefined {
    this.#releasePending();
    this.release(this.#large);
    this.release(this.#small);
    this.device.retries++;
    return this.grow(pool, bytes, stream);
  }

  /** Events complete when recorded, so all of them are complete here. */
  #releasePending(): void {
    for (const { part, pool } of this.#pending.splice(0)) pool.free.merge(part);
  }
}

/**
 * Segments of fixed size from `cudaMalloc`: `get_allocation_size`, `should_split`, `alloc_block` and
 * `release_blocks`. Sizes up to 1 MiB share segments of 2 MiB and are split for any rest. Sizes below
 * 10 MiB share segments of 20 MiB, larger ones get a segment rounded up to 2 MiB; both are split for
 * more than 1 MiB.
 */
class FixedSegments extends PytorchAllocator {
  protected override choose([smallest]: Iterable<SegmentBlock>): SegmentBlock | undefined {
    return smallest;
  }

  protected override splits(pool: Pool, restBytes: number): boolean {
    return pool.isSmall ? restBytes >= MIN_BLOCK : restBytes > MAX_SMALL;
  }

  protected override grow(_pool: Pool, bytes: number, stream: number): SegmentBlock | undefined {
    const size = bytes <= MAX_SMALL
      ? SMALL_SEGMENT
      : bytes < MIN_OWN_SEGMENT
      ? LARGE_SEGMENT
      : Math.ceil(bytes / OWN_SEGMENT_UNIT) * OWN_SEGMENT_UNIT;
    const segment = this.device.takeSegment(size);
    return segment && wholeSegment(segment, stream, "free");
  }

  protected override release(pool: Pool): void {
    pool.free.releaseSegments(this.device);
  }
}

/**
 * `expandable_segments:True`: `ExpandableSegment`, `find_expandable_block`, `map_block`,
 * `unmap_block` and `get_free_block`.
 *
 * - Each stream has, for each pool, a range of 1⅛ times the memory of the device, in pages of 2 MiB
 *   (small) or 20 MiB (large). Pages are mapped at the lowest addresses where the request fits, next
 *   to free memory.
 * - Blocks are split for 512 bytes or more.
 * - The best fit counts addresses without memory behind a block as part of it, so the end of the
 *   range is used last.
 * - After a refusal, all wholly free pages are unmapped.
 *
 * PyTorch creates the pages of one mapping one by one, and returns them after a refusal. Here it is
 * one call.
 */
class ExpandableSegments extends PytorchAllocator {
  protected override choose(fitting: Iterable<SegmentBlock>): SegmentBlock | undefined {
    let chosen: SegmentBlock | undefined;
    for (const block of fitting) {
      if (chosen !== undefined && expandableBytes(block) >= expandableBytes(chosen)) break;
      chosen = block;
    }
    return chosen;
  }

  protected override splits(_pool: Pool, restBytes: number): boolean {
    return restBytes >= MIN_BLOCK;
  }

  protected override grow(pool: Pool, bytes: number, stream: number): SegmentBlock | undefined {
    let block = this.#findSpace(pool, bytes, stream) ?? this.#reserve(pool, stream);
    if (block.state === "unmapped" && !this.#map(pool, block, Math.min(block.bytes, bytes))) {
      return undefined;
    }
    while (block.bytes < bytes) {
      // A free block has no free neighbour, so the next block is unmapped.
      const next: SegmentBlock = block.next!;
      if (!this.#map(pool, next, Math.min(bytes - block.bytes, next.bytes))) return undefined;
      block = next;
    }
    pool.free.delete(block);
    return block;
  }

  protected override release(pool: Pool): void {
    for (const block of [...pool.free]) {
      const unmapped = this.#unmap(pool, block);
      // Nothing is mapped in the range: its addresses are released.
      if (unmapped !== undefined && !isSplit(unmapped)) pool.unmapped.delete(unmapped);
    }
  }

  /** The block with the lowest address in which the request can begin. */
  #findSpace(pool: Pool, bytes: number, stream: number): SegmentBlock | undefined {
    const first = pool.unmapped.firstPosition((block) => block.stream >= stream);
    for (let position = first;; position++) {
      const unmapped = pool.unmapped.at(position);
      if (unmapped?.stream !== stream) return undefined;
      const start = isAvailable(unmapped.previous) ? unmapped.previous : unmapped;
      if (hasSpace(start, bytes)) return start;
    }
  }

  #reserve(pool: Pool, stream: number): SegmentBlock {
    const page = pageBytes(pool);
    const { capacityBytes } = this.device;
    const bytes = capacityBytes + Math.floor(capacityBytes / 8);
    const addresses = this.device.reserveAddresses(Math.ceil(bytes / page) * page);
    const range = wholeSegment(addresses, stream, "unmapped");
    pool.unmapped.insert(range);
    return range;
  }

  /** Maps the pages for the first bytes of a block and frees it, merged with its neighbours. */
  #map(pool: Pool, block: SegmentBlock, bytes: number): boolean {
    const page = pageBytes(pool);
    const mapped = Math.ceil(bytes / page) * page;
    if (!this.device.take(mapped)) return false;
    pool.unmapped.delete(block);
    if (mapped < block.bytes) pool.unmapped.insert(splitBlock(block, mapped));
    pool.free.merge(block);
    return true;
  }

  /** Unmaps the whole pages of a free block and returns the unmapped block, if any. */
  #unmap(pool: Pool, block: SegmentBlock): SegmentBlock | undefined {
    const page = pageBytes(pool);
    const begin = Math.ceil(block.offset / page) * page;
    const end = Math.floor((block.offset + block.bytes) / page) * page;
    if (begin >= end) return undefined;
    this.device.release(end - begin);
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

function pageBytes(pool: Pool): number {
  return pool.isSmall ? SMALL_SEGMENT : LARGE_SEGMENT;
}

function isAvailable(block: SegmentBlock | undefined): block is SegmentBlock {
  return block?.state === "free" || block?.state === "unmapped";
}

/** Checks for that many available bytes from a block on. */
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

/** PyTorch's native caching allocator with default settings. */
export const PYTORCH: ModelPolicy = modelPolicy(
  "pytorch",
  "PyTorch's native caching allocator, default settings",
  (device) => new FixedSegments(device),
);

/** PyTorch's native caching allocator with expandable segments. */
export const PYTORCH_EXPANDABLE: ModelPolicy = modelPolicy(
  "pytorch-expandable",
  "PyTorch's native caching allocator with expandable segments",
  (device) => new ExpandableSegments(device),
);
