/**
 * Models of RMM's `PoolMemoryResource` over `CudaMemoryResource`, and of its `BinningMemoryResource`
 * over that pool.
 *
 * After rapidsai/rmm at 5d50a37: `cpp/src/mr/detail/pool_memory_resource_impl.cpp`,
 * `binning_memory_resource_impl.cpp`, `fixed_size_memory_resource_impl.cpp`,
 * `cpp/include/rmm/mr/detail/stream_ordered_memory_resource.hpp`, `coalescing_free_list.hpp`,
 * `fixed_size_free_list.hpp` and `python/rmm/rmm/pylibrmm/memory_resource/_memory_resource.pyx`.
 *
 * Every stream has a free list. An allocation searches the list of its own stream, then the lists of
 * the others, which keep the rest of a split block. Then it takes over the lists of the others one
 * after the other until a block fits. Only then the resource expands. Waiting for events of other
 * streams costs nothing in a replay. RMM orders the lists by the addresses of events, the model by
 * the first use of the stream. Stream 0 of a trace stands for the default stream.
 *
 * @module
 */

import {
  compareAddresses,
  type IdlePart,
  ModelAllocator,
  type ModelDevice,
  type ModelPolicy,
  modelPolicy,
  type SegmentPart,
} from "./model_allocator.ts";
import { OrderedSet } from "./segment_blocks.ts";

/** The stream of the memory that RMM reserves at the start. */
const DEFAULT_STREAM = 0;
/** The unit of sizes: `CUDA_ALLOCATION_ALIGNMENT`. */
const UNIT = 256;
/** `initial_pool_size` of Python, as a share of free memory. */
const INITIAL_SHARE = 0.5;
/** The bins, as powers of two. */
const EXPONENTS = [18, 19, 20, 21, 22];
/** `default_blocks_to_preallocate` */
const BLOCKS_AT_A_TIME = 128;

/** The free blocks of a stream. */
interface FreeList extends Iterable<SegmentPart> {
  /** Removes and returns the block that fits best. */
  take(bytes: number): SegmentPart | undefined;
  insert(block: SegmentPart): void;
}

/** Free blocks by address, merged with their neighbours in the same segment. */
class CoalescingFreeList implements FreeList {
  readonly #blocks = new OrderedSet<SegmentPart>(compareAddresses);

  take(bytes: number): SegmentPart | undefined {
    let best: SegmentPart | undefined;
    for (const block of this.#blocks) {
      if (block.bytes >= bytes && block.bytes < (best?.bytes ?? Infinity)) best = block;
    }
    if (best !== undefined) this.#blocks.delete(best);
    return best;
  }

  insert(block: SegmentPart): void {
    const position = this.#blocks.firstPosition((other) => compareAddresses(other, block) > 0);
    const previous = this.#blocks.at(position - 1);
    const next = this.#blocks.at(position);
    let { offset, bytes } = block;
    if (isContiguous(previous, block)) {
      this.#blocks.delete(previous!);
      offset = previous!.offset;
      bytes += previous!.bytes;
    }
    if (isContiguous(block, next)) {
      this.#blocks.delete(next!);
      bytes += next!.bytes;
    }
    this.#blocks.insert({ segment: block.segment, offset, bytes });
  }

  [Symbol.iterator](): Iterator<SegmentPart> {
    return this.#blocks[Symbol.iterator]();
  }
}

function isContiguous(first: SegmentPart | undefined, second: SegmentPart | undefined): boolean {
  return first !== undefined && second !== undefined && first.segment === second.segment &&
    first.offset + first.bytes === second.offset;
}

/** Blocks of one size, first in, first out. */
class FixedSizeFreeList implements FreeList {
  readonly #blocks: SegmentPart[] = [];

  take(): SegmentPart | undefined {
    return this.#blocks.shift();
  }

  insert(block: SegmentPart): void {
    this.#blocks.push(block);
  }

  [Symbol.iterator](): Iterator<SegmentPart> {
    return this.#blocks.values();
  }
}

/** `stream_ordered_memory_resource` */
abstract class Resource {
  /** The largest request that it serves: `get_maximum_allocation_size`. */
  abstract readonly maxBytes: number;

  /** By stream. A list that was taken over leaves an empty place. */
  readonly #lists = new Map<number, FreeList | undefined>();

  protected abstract createList(): FreeList;
  /** The rest of a block after that many bytes. */
  protected abstract rest(block: SegmentPart, bytes: number): SegmentPart | undefined;
  /** Gets a sufficient block, and may add others to the list; `undefined` if out of memory. */
  protected abstract expand(
    bytes: number,
    list: FreeList,
    stream: number,
  ): SegmentPart | undefined;

  allocate(bytes: number, stream: number): SegmentPart | undefined {
    const own = this.#list(stream);
    return this.#split(own.take(bytes), bytes, own) ??
      this.#fromOthers(bytes, stream) ??
      this.#afterMerging(bytes, stream, own) ??
      this.#split(this.expand(bytes, own, stream), bytes, own);
  }

  free(block: SegmentPart, stream: number): void {
    this.#list(stream).insert(block);
  }

  freeBlocks(): SegmentPart[] {
    return [...this.#lists.values()].flatMap((list) => [...list ?? []]);
  }

  #list(stream: number): FreeList {
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

  #afterMerging(bytes: number, stream: number, own: FreeList): SegmentPart | undefined {
    for (const [other, list] of this.#lists) {
      if (other === stream || list === undefined) continue;
      for (const block of list) own.insert(block);
      this.#lists.set(other, undefined);
      const block = this.#split(own.take(bytes), bytes, own);
      if (block !== undefined) return block;
    }
    return undefined;
  }

  /** The used part of a block; the rest goes into the list. */
  #split(block: SegmentPart | undefined, bytes: number, list: FreeList): SegmentPart | undefined {
    if (block === undefined) return undefined;
    const rest = this.rest(block, bytes);
    if (rest === undefined) return block;
    list.insert(rest);
    return { ...block, bytes: block.bytes - rest.bytes };
  }
}

/**
 * The pool. Sizes are rounded up to multiples of 256 bytes. The best fit is taken, at equal size the
 * one with the lowest address, and split.
 *
 * The pool reserves 50 % of the free memory at the start, Python's default, which is half of the
 * capacity here. Later it doubles. After a refusal it halves the request, down to the needed size.
 * It never returns memory.
 */
class Pool extends Resource {
  override readonly maxBytes = Infinity;
  readonly #device: ModelDevice;

  constructor(device: ModelDevice) {
    super();
    this.#device = device;
    const initial = Math.floor(device.freeBytes * INITIAL_SHARE / UNIT) * UNIT;
    const block = initial > 0 ? this.#take(initial, initial) : undefined;
    if (block !== undefined) this.free(block, DEFAULT_STREAM);
  }

  protected override createList(): FreeList {
    return new CoalescingFreeList();
  }

  protected override rest(block: SegmentPart, used: number): SegmentPart | undefined {
    const { segment, offset, bytes } = block;
    return bytes > used ? { segment, offset: offset + used, bytes: bytes - used } : undefined;
  }

  protected override expand(bytes: number): SegmentPart | undefined {
    return this.#take(Math.max(bytes, this.#device.reservedBytes), bytes);
  }

  #take(tryBytes: number, minBytes: number): SegmentPart | undefined {
    for (let bytes = tryBytes;; bytes = Math.max(minBytes, Math.floor(bytes / 2))) {
      const segment = this.#device.takeSegment(bytes);
      if (segment !== undefined) return { segment, offset: 0, bytes };
      if (bytes === minBytes) return undefined;
      this.#device.retries++;
    }
  }
}

/** `fixed_size_memory_resource`: takes 128 blocks at a time from the pool and returns none. */
class Bin extends Resource {
  override readonly maxBytes: number;
  /** False if the pool had no memory for the first blocks. */
  readonly isReady: boolean;
  readonly #pool: Pool;

  constructor(pool: Pool, blockBytes: number) {
    super();
    this.#pool = pool;
    this.maxBytes = blockBytes;
    const blocks = this.#takeBlocks(DEFAULT_STREAM);
    this.isReady = blocks.length > 0;
    for (const block of blocks) this.free(block, DEFAULT_STREAM);
  }

  protected override createList(): FreeList {
    return new FixedSizeFreeList();
  }

  protected override rest(): undefined {
    return undefined;
  }

  protected override expand(
    bytes: number,
    list: FreeList,
    stream: number,
  ): SegmentPart | undefined {
    for (const block of this.#takeBlocks(stream)) list.insert(block);
    return list.take(bytes);
  }

  #takeBlocks(stream: number): SegmentPart[] {
    const bytes = this.maxBytes;
    const chunk = this.#pool.allocate(bytes * BLOCKS_AT_A_TIME, stream);
    if (chunk === undefined) return [];
    const { segment, offset } = chunk;
    return Array.from(
      { length: BLOCKS_AT_A_TIME },
      (_, index) => ({ segment, offset: offset + index * bytes, bytes }),
    );
  }
}

interface RmmBlock {
  readonly part: SegmentPart;
  readonly stream: number;
  readonly resource: Resource;
}

/** A request goes to the first resource that serves its size. */
class RmmAllocator extends ModelAllocator<RmmBlock> {
  readonly #resources: readonly Resource[];

  constructor(device: ModelDevice, resources: readonly Resource[]) {
    super(device, UNIT);
    this.#resources = resources;
  }

  /** `allocate` */
  protected override take(bytes: number, stream: number): RmmBlock | undefined {
    // RMM fails to create a bin without memory; the model refuses all requests instead.
    if (this.#resources.some((each) => each instanceof Bin && !each.isReady)) return undefined;
    const resource = this.#resources.find(({ maxBytes }) => bytes <= maxBytes)!;
    const part = resource.allocate(bytes, stream);
    return part && { part, stream, resource };
  }

  /** `deallocate` */
  protected override give({ part, stream, resource }: RmmBlock): void {
    resource.free(part, stream);
  }

  protected override idle(): IdlePart[] {
    const free = this.#resources.flatMap((resource) => resource.freeBlocks());
    return free.map((part) => ({ ...part, state: "free" }));
  }
}

/** RMM's pool with the defaults of Python. */
export const RMM: ModelPolicy = modelPolicy(
  "rmm",
  "RMM's PoolMemoryResource; takes half of the device at the start",
  (device) => new RmmAllocator(device, [new Pool(device)]),
);

/**
 * RMM's bins over its pool. RMM has no default bins: these are the ones of the example in
 * `cpp/include/rmm/mr/binning_memory_resource.hpp`, 256 KiB to 4 MiB.
 */
export const BINNING: ModelPolicy = modelPolicy(
  "binning",
  "RMM's BinningMemoryResource, 256 KiB to 4 MiB, over its pool",
  (device) => {
    const pool = new Pool(device);
    const bins = EXPONENTS.map((exponent) => new Bin(pool, 2 ** exponent));
    return new RmmAllocator(device, [...bins, pool]);
  },
);
