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

import { ReplayDevice } from "./replay_device.ts";
import {
  paddedForAlignment,
  type ReplayAllocator,
  type ReplayPolicy,
  type ReplaySegment,
} from "./replay_policy.ts";
import { describeRmmSegments, RmmPool } from "./rmm_pool.ts";
import {
  DEFAULT_STREAM,
  RMM_ALIGNMENT,
  type RmmBlock,
  type RmmFreeList,
  type RmmResource,
  RmmStreams,
} from "./rmm_streams.ts";

const SMALLEST_EXPONENT = 18;
const LARGEST_EXPONENT = 22;
/** `default_blocks_to_preallocate` */
const BLOCKS_AT_A_TIME = 128;

/** First in, first out. */
class FixedSizeFreeList implements RmmFreeList {
  readonly #blocks: RmmBlock[] = [];

  take(): RmmBlock | undefined {
    return this.#blocks.shift();
  }

  insert(block: RmmBlock): void {
    this.#blocks.push(block);
  }

  blocks(): readonly RmmBlock[] {
    return this.#blocks;
  }
}

/** `fixed_size_memory_resource` */
class Bin implements RmmResource {
  readonly blockBytes: number;
  readonly isReady: boolean;
  readonly #pool: RmmPool;
  readonly #streams = new RmmStreams(this);

  constructor(pool: RmmPool, blockBytes: number) {
    this.#pool = pool;
    this.blockBytes = blockBytes;
    const blocks = this.#takeBlocks(DEFAULT_STREAM);
    this.isReady = blocks !== undefined;
    for (const block of blocks ?? []) this.#streams.insert(block, DEFAULT_STREAM);
  }

  allocate(bytes: number, stream: number): RmmBlock | undefined {
    return this.#streams.allocate(bytes, stream);
  }

  free(block: RmmBlock, stream: number): void {
    this.#streams.insert(block, stream);
  }

  freeBlocks(): RmmBlock[] {
    return this.#streams.blocks();
  }

  createList(): RmmFreeList {
    return new FixedSizeFreeList();
  }

  rest(): undefined {
    return undefined;
  }

  expand(bytes: number, list: RmmFreeList, stream: number): RmmBlock | undefined {
    for (const block of this.#takeBlocks(stream) ?? []) list.insert(block);
    return list.take(bytes);
  }

  #takeBlocks(stream: number): RmmBlock[] | undefined {
    const bytes = this.blockBytes;
    const chunk = this.#pool.allocate(bytes * BLOCKS_AT_A_TIME, stream);
    return chunk &&
      Array.from({ length: BLOCKS_AT_A_TIME }, (_, index) => ({
        segment: chunk.segment,
        offset: chunk.offset + index * bytes,
        bytes,
      }));
  }
}

interface BinnedBlock {
  readonly part: RmmBlock;
  readonly stream: number;
  readonly resource: RmmPool | Bin;
}

class BinningAllocator implements ReplayAllocator {
  readonly #device: ReplayDevice;
  readonly #pool: RmmPool;
  /** By size, smallest first. */
  readonly #bins: Bin[] = [];
  readonly #isReady: boolean;
  readonly #live = new Map<number, BinnedBlock>();

  constructor(capacityBytes: number) {
    this.#device = new ReplayDevice(capacityBytes);
    this.#pool = new RmmPool(this.#device);
    for (let exponent = SMALLEST_EXPONENT; exponent <= LARGEST_EXPONENT; exponent++) {
      this.#bins.push(new Bin(this.#pool, 2 ** exponent));
    }
    this.#isReady = this.#bins.every(({ isReady }) => isReady);
  }

  get reservedBytes(): number {
    return this.#device.reservedBytes;
  }

  get upstreamCalls(): number {
    return this.#device.calls;
  }

  get retries(): number {
    return this.#pool.retries;
  }

  allocate(
    block: number,
    bytes: number,
    stream: number,
    alignment: number | undefined,
  ): boolean {
    if (!this.#isReady) return false;
    if (bytes === 0) return true;
    const padded = paddedForAlignment(bytes, alignment, RMM_ALIGNMENT);
    const resource = this.#bins.find(({ blockBytes }) => blockBytes >= padded) ?? this.#pool;
    const part = resource.allocate(padded, stream);
    if (part === undefined) return false;
    this.#live.set(block, { part, stream, resource });
    return true;
  }

  free(block: number): void {
    const live = this.#live.get(block);
    if (live === undefined) return; // of 0 bytes
    live.resource.free(live.part, live.stream);
    this.#live.delete(block);
  }

  use(): void {}

  synchronize(): void {}

  dispose(): void {}

  segments(): ReplaySegment[] {
    const live = new Map([...this.#live].map(([block, { part }]) => [block, part]));
    const free = [this.#pool, ...this.#bins].flatMap((resource) => resource.freeBlocks());
    return describeRmmSegments(this.#pool.segmentBytes, live, free);
  }
}

/** RMM's bins over its pool. */
export const BINNING: ReplayPolicy = {
  name: "binning",
  description: "RMM's BinningMemoryResource, 256 KiB to 4 MiB, over its pool (model)",
  isModel: true,
  create: ({ capacityBytes }) => new BinningAllocator(capacityBytes),
};
