/**
 * A model of RMM's `BinningMemoryResource` over its pool.
 *
 * After `cpp/src/mr/detail/binning_memory_resource_impl.cpp`,
 * `cpp/src/mr/detail/fixed_size_memory_resource_impl.cpp` and
 * `cpp/include/rmm/mr/detail/fixed_size_free_list.hpp` of rapidsai/rmm at 5d50a37.
 *
 * There is no default set of bins; the model has the one of the example in
 * `cpp/include/rmm/mr/binning_memory_resource.hpp`, 256 KiB to 4 MiB by powers of two. A request
 * goes to the smallest bin that holds it, larger ones to the pool (`rmm_pool.ts`). A bin takes 128
 * blocks at a time from the pool, the first 128 at the start, and hands them out oldest first; it
 * never gives one back. An upstream call is one of the pool's to the device: what a bin asks of the
 * pool is none.
 *
 * Where not even the bins' first blocks fit, the program would end as the resource is made; here
 * every request is refused.
 *
 * @module
 */

import { modelPolicy } from "./model_allocator.ts";
import type { ReplayDevice } from "./replay_device.ts";
import type { ReplayPolicy } from "./replay_policy.ts";
import { RmmAllocator } from "./rmm_allocator.ts";
import { RmmPool } from "./rmm_pool.ts";
import { DEFAULT_STREAM, type RmmFreeList, RmmResource } from "./rmm_resource.ts";
import type { SegmentPart } from "./segment_part.ts";

/** The sizes of the bins, as powers of two. */
const EXPONENTS = [18, 19, 20, 21, 22];
/** `default_blocks_to_preallocate` */
const BLOCKS_AT_A_TIME = 128;

/** First in, first out. */
class FixedSizeFreeList implements RmmFreeList {
  readonly #blocks: SegmentPart[] = [];

  take(): SegmentPart | undefined {
    return this.#blocks.shift();
  }

  insert(block: SegmentPart): void {
    this.#blocks.push(block);
  }

  blocks(): Iterable<SegmentPart> {
    return this.#blocks;
  }
}

/** `fixed_size_memory_resource` */
class Bin extends RmmResource {
  override readonly largestBytes: number;
  /** Whether the pool had the first blocks. */
  readonly isMade: boolean;
  readonly #pool: RmmPool;

  constructor(pool: RmmPool, blockBytes: number) {
    super();
    this.#pool = pool;
    this.largestBytes = blockBytes;
    const blocks = this.#takeBlocks(DEFAULT_STREAM);
    this.isMade = blocks.length > 0;
    for (const block of blocks) this.free(block, DEFAULT_STREAM);
  }

  protected override createList(): RmmFreeList {
    return new FixedSizeFreeList();
  }

  /** A block is used as a whole. */
  protected override rest(): undefined {
    return undefined;
  }

  protected override expand(
    bytes: number,
    list: RmmFreeList,
    stream: number,
  ): SegmentPart | undefined {
    for (const block of this.#takeBlocks(stream)) list.insert(block);
    return list.take(bytes);
  }

  /** Blocks from the pool; none where it has no memory. */
  #takeBlocks(stream: number): SegmentPart[] {
    const bytes = this.largestBytes;
    const chunk = this.#pool.allocate(bytes * BLOCKS_AT_A_TIME, stream);
    if (chunk === undefined) return [];
    const { segment, offset } = chunk;
    return Array.from(
      { length: BLOCKS_AT_A_TIME },
      (_, index) => ({ segment, offset: offset + index * bytes, bytes }),
    );
  }
}

/** `binning_memory_resource` */
class BinningAllocator extends RmmAllocator {
  readonly #isMade: boolean;

  constructor(device: ReplayDevice) {
    const pool = new RmmPool(device);
    const bins = EXPONENTS.map((exponent) => new Bin(pool, 2 ** exponent));
    super(device, [...bins, pool]);
    this.#isMade = bins.every(({ isMade }) => isMade);
  }

  override allocate(
    block: number,
    bytes: number,
    stream: number,
    alignment: number | undefined,
  ): boolean {
    return this.#isMade && super.allocate(block, bytes, stream, alignment);
  }
}

/** RMM's bins over its pool. */
export const BINNING: ReplayPolicy = modelPolicy(
  "binning",
  "RMM's BinningMemoryResource, 256 KiB to 4 MiB, over its pool",
  (device) => new BinningAllocator(device),
);
