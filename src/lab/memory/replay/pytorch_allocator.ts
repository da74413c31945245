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

import { FreeBlocks } from "./free_blocks.ts";
import { type Holding, ModelAllocator } from "./model_allocator.ts";
import { OrderedSet } from "./ordered_set.ts";
import {
  LARGEST_SMALL,
  MINIMUM_BLOCK,
  type PytorchGrowth,
  type PytorchPool,
} from "./pytorch_pool.ts";
import type { ReplayDevice } from "./replay_device.ts";
import { type SegmentBlock, splitBlock } from "./segment_block.ts";
import { compareAddresses } from "./segment_part.ts";

interface PytorchBlock extends Holding {
  readonly part: SegmentBlock;
  readonly pool: PytorchPool;
  /** Other streams that it was used on. */
  readonly uses: Set<number>;
}

function createPool(isSmall: boolean): PytorchPool {
  return {
    isSmall,
    free: new FreeBlocks(),
    unmapped: new OrderedSet((left, right) =>
      left.stream - right.stream || compareAddresses(left, right)
    ),
  };
}

/** The model, in either mode. */
export class PytorchAllocator extends ModelAllocator<PytorchBlock> {
  readonly #growth: PytorchGrowth;
  readonly #small = createPool(true);
  readonly #large = createPool(false);
  /** Freed blocks whose events have been recorded and not looked at. */
  readonly #pending: PytorchBlock[] = [];

  /**
   * @param device Where memory comes from.
   * @param growth How it is taken.
   */
  constructor(device: ReplayDevice, growth: PytorchGrowth) {
    super(device, MINIMUM_BLOCK);
    this.#growth = growth;
  }

  /** `malloc` */
  protected override take(bytes: number, stream: number): PytorchBlock | undefined {
    this.#releasePending();
    const pool = bytes <= LARGEST_SMALL ? this.#small : this.#large;
    const part = this.#cached(pool, bytes, stream) ?? this.#growth.grow(pool, bytes, stream) ??
      this.#growAfterRelease(pool, bytes, stream);
    if (part === undefined) return undefined;
    if (this.#growth.splits(pool, part.bytes - bytes)) pool.free.add(splitBlock(part, bytes));
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

  /** What is cached, waits for events or has no memory. */
  protected override idle(): Iterable<SegmentBlock> {
    const pools = [this.#small, this.#large];
    return [
      ...this.#pending.map(({ part }) => part),
      ...pools.flatMap(({ free, unmapped }) => [...free, ...unmapped]),
    ];
  }

  #cached(pool: PytorchPool, bytes: number, stream: number): SegmentBlock | undefined {
    const block = this.#growth.choose(pool.free.fitting(bytes, stream));
    if (block !== undefined) pool.free.delete(block);
    return block;
  }

  #growAfterRelease(pool: PytorchPool, bytes: number, stream: number): SegmentBlock | undefined {
    this.#releasePending();
    this.#growth.release(this.#large);
    this.#growth.release(this.#small);
    this.device.countRetry();
    return this.#growth.grow(pool, bytes, stream);
  }

  /** Events complete when recorded, so that a look at them finds all of them complete. */
  #releasePending(): void {
    for (const { part, pool } of this.#pending.splice(0)) pool.free.merge(part);
  }
}
