/**
 * A model of PyTorch's native caching allocator for CUDA.
 *
 * After `c10/cuda/CUDACachingAllocator.cpp` of pytorch/pytorch at 001074d, with every setting at
 * its default: no rounding to divisions of powers of two, no limit on splitting, no garbage
 * collection, no memory fraction.
 *
 * - Sizes are rounded up to multiples of 512 bytes. Up to 1 MiB the pool of small blocks serves
 *   them, above that the pool of large ones.
 * - A free block belongs to the stream of its segment. The smallest that is large enough is taken,
 *   at equal size the one with the lowest address.
 * - A freed block merges with free neighbours at once, unless other streams used it: then it waits
 *   for one event per stream, which are looked at when the next allocation begins.
 * - When nothing fits, memory is asked for; when that is refused, the events are waited for, all
 *   that is cached and not split is given back, and memory is asked for once more. The cache is not
 *   searched again in between (pytorch/pytorch#189504).
 *
 * A request of 0 bytes never reaches the pools. Disposing a stream changes nothing: PyTorch does
 * not destroy streams, and its blocks stay with them.
 *
 * @module
 */

import {
  createPytorchPool,
  LARGEST_SMALL,
  mergeWithNeighbours,
  MINIMUM_BLOCK,
  type PytorchGrowth,
  type PytorchPool,
} from "./pytorch_pool.ts";
import type { ReplayDevice } from "./replay_device.ts";
import { paddedForAlignment, type ReplayAllocator, type ReplaySegment } from "./replay_policy.ts";
import { describeSegments, type SegmentBlock, splitBlock } from "./segment_block.ts";

interface LiveBlock {
  readonly block: SegmentBlock;
  readonly pool: PytorchPool;
  /** Other streams that it was used on. */
  readonly uses: Set<number>;
}

/** The model, in either mode. */
export class PytorchAllocator implements ReplayAllocator {
  readonly #device: ReplayDevice;
  readonly #growth: PytorchGrowth;
  readonly #pools = { small: createPytorchPool(true), large: createPytorchPool(false) };
  readonly #live = new Map<number, LiveBlock>();
  /** Live blocks of 0 bytes. */
  readonly #empty = new Set<number>();
  /** Freed blocks whose events have been recorded and not looked at. */
  readonly #pending: LiveBlock[] = [];
  #retries = 0;

  /**
   * @param device Where memory comes from.
   * @param growth How it is taken.
   */
  constructor(device: ReplayDevice, growth: PytorchGrowth) {
    this.#device = device;
    this.#growth = growth;
  }

  /** Bytes of segments, or of mapped pages. */
  get reservedBytes(): number {
    return this.#device.reservedBytes;
  }

  /** Calls of `cudaMalloc` and `cudaFree`, or mappings and unmappings. */
  get upstreamCalls(): number {
    return this.#device.calls;
  }

  /** What PyTorch's statistics call `num_alloc_retries`. */
  get retries(): number {
    return this.#retries;
  }

  /** `malloc` */
  allocate(
    block: number,
    bytes: number,
    stream: number,
    alignment: number | undefined,
  ): boolean {
    if (bytes === 0) {
      this.#empty.add(block);
      return true;
    }
    this.#releasePending();
    const padded = paddedForAlignment(bytes, alignment, MINIMUM_BLOCK);
    const size = Math.ceil(padded / MINIMUM_BLOCK) * MINIMUM_BLOCK;
    const pool = size <= LARGEST_SMALL ? this.#pools.small : this.#pools.large;
    const found = this.#cached(pool, size, stream) ?? this.#growth.grow(pool, size, stream) ??
      this.#growAfterRelease(pool, size, stream);
    if (found === undefined) return false;
    if (this.#growth.splits(pool, found.bytes - size)) {
      pool.free.insert(splitBlock(found, size));
    }
    found.state = "live";
    found.owner = block;
    this.#live.set(block, { block: found, pool, uses: new Set() });
    return true;
  }

  /** `free` */
  free(block: number): void {
    if (this.#empty.delete(block)) return;
    const live = this.#live.get(block)!;
    this.#live.delete(block);
    if (live.uses.size === 0) {
      this.#release(live);
    } else {
      live.block.state = "pending";
      this.#pending.push(live);
    }
  }

  /** `recordStream` */
  use(block: number, stream: number): void {
    const live = this.#live.get(block);
    if (live !== undefined && stream !== live.block.stream) live.uses.add(stream);
  }

  /** The allocator does not hear of it. */
  synchronize(): void {}

  /** The allocator does not hear of it. */
  dispose(): void {}

  /** What is where. */
  segments(): ReplaySegment[] {
    const { small, large } = this.#pools;
    return describeSegments([
      ...[...this.#live.values(), ...this.#pending].map(({ block }) => block),
      ...[small, large].flatMap(({ free, unmapped }) => [
        ...free.toArray(),
        ...unmapped.toArray(),
      ]),
    ]);
  }

  #cached(pool: PytorchPool, size: number, stream: number): SegmentBlock | undefined {
    const position = pool.free.firstPosition((block) =>
      block.stream > stream || block.stream === stream && block.bytes >= size
    );
    if (pool.free.at(position)?.stream !== stream) return undefined;
    const block = this.#growth.choose(pool, position);
    pool.free.delete(block);
    return block;
  }

  #growAfterRelease(pool: PytorchPool, size: number, stream: number): SegmentBlock | undefined {
    this.#releasePending();
    this.#growth.release(this.#pools.large);
    this.#growth.release(this.#pools.small);
    this.#retries++;
    return this.#growth.grow(pool, size, stream);
  }

  /** Events complete when recorded, so that a look at them finds all of them complete. */
  #releasePending(): void {
    for (const live of this.#pending.splice(0)) this.#release(live);
  }

  #release({ block, pool }: LiveBlock): void {
    block.state = "free";
    mergeWithNeighbours(pool, block);
    pool.free.insert(block);
  }
}
