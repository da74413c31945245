/**
 * A model of RMM's `PoolMemoryResource` over `CudaMemoryResource`.
 *
 * After `cpp/src/mr/detail/pool_memory_resource_impl.cpp`,
 * `cpp/include/rmm/mr/detail/coalescing_free_list.hpp` and
 * `python/rmm/rmm/pylibrmm/memory_resource/_memory_resource.pyx` of rapidsai/rmm at 5d50a37.
 *
 * - Sizes are rounded up to multiples of 256 bytes. The best fit is taken, at equal size the one
 *   with the lowest address, and split whatever is left of it.
 * - Freed blocks merge with free neighbours of the same stream's list and the same request.
 * - The pool takes 50 % of the device's free memory at the start, Python's default. The device of a
 *   replay is empty, so that this is half of the capacity; what RMM reserves follows from the device
 *   far more than from the trace. When that is not enough it takes as much again as it has, and
 *   after a refusal half of that, and so on down to what is needed. It never gives anything back.
 *
 * Uses on other streams are the caller's to order, and stream 0 of a trace stands for the default
 * stream.
 *
 * @module
 */

import { OrderedSet } from "./ordered_set.ts";
import { ReplayDevice } from "./replay_device.ts";
import {
  paddedForAlignment,
  type ReplayAllocator,
  type ReplayPolicy,
  type ReplaySegment,
} from "./replay_policy.ts";
import {
  alignUp,
  DEFAULT_STREAM,
  RMM_ALIGNMENT,
  type RmmBlock,
  type RmmFreeList,
  type RmmResource,
  RmmStreams,
} from "./rmm_streams.ts";

/** `initial_pool_size` of Python, as a share of free memory. */
const INITIAL_SHARE = 0.5;

function compareAddresses(left: RmmBlock, right: RmmBlock): number {
  return left.segment - right.segment || left.offset - right.offset;
}

/** Whether the second block begins where the first ends, in the same request. */
function isContiguous(first: RmmBlock | undefined, second: RmmBlock | undefined): boolean {
  return first !== undefined && second !== undefined && first.segment === second.segment &&
    first.offset + first.bytes === second.offset;
}

/** Free blocks by address, merged with their neighbours. */
class CoalescingFreeList implements RmmFreeList {
  readonly #blocks = new OrderedSet<RmmBlock>(compareAddresses);

  take(bytes: number): RmmBlock | undefined {
    let best: RmmBlock | undefined;
    for (let position = 0; position < this.#blocks.size; position++) {
      const block = this.#blocks.at(position)!;
      if (block.bytes >= bytes && block.bytes < (best?.bytes ?? Infinity)) best = block;
    }
    if (best !== undefined) this.#blocks.delete(best);
    return best;
  }

  insert(block: RmmBlock): void {
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

  blocks(): readonly RmmBlock[] {
    return this.#blocks.toArray();
  }
}

/** The pool as a resource of others. */
export class RmmPool implements RmmResource {
  readonly #device: ReplayDevice;
  readonly #streams: RmmStreams;
  /** The sizes of what was taken, by order. */
  readonly #segments: number[] = [];
  #retries = 0;

  /** @param device Where memory comes from. */
  constructor(device: ReplayDevice) {
    this.#device = device;
    this.#streams = new RmmStreams(this);
    const share = device.freeBytes * INITIAL_SHARE;
    const initial = Math.floor(share / RMM_ALIGNMENT) * RMM_ALIGNMENT;
    const block = initial > 0 ? this.#take(initial, initial) : undefined;
    if (block !== undefined) this.#streams.insert(block, DEFAULT_STREAM);
  }

  /** Requests repeated after a refusal. */
  get retries(): number {
    return this.#retries;
  }

  /** The sizes of what was taken, in order; the pool never shrinks. */
  get segmentBytes(): readonly number[] {
    return this.#segments;
  }

  /** Allocates; `undefined` for out of memory. */
  allocate(bytes: number, stream: number): RmmBlock | undefined {
    return this.#streams.allocate(alignUp(bytes), stream);
  }

  /** Frees a block on a stream. */
  free(block: RmmBlock, stream: number): void {
    this.#streams.insert(block, stream);
  }

  /** All free blocks. */
  freeBlocks(): RmmBlock[] {
    return this.#streams.blocks();
  }

  /** An empty free list. */
  createList(): RmmFreeList {
    return new CoalescingFreeList();
  }

  /** What is left of a block: any rest is split off. */
  rest({ segment, offset, bytes }: RmmBlock, used: number): RmmBlock | undefined {
    return bytes > used ? { segment, offset: offset + used, bytes: bytes - used } : undefined;
  }

  /** As much again as there is, or what the device still has of it. */
  expand(bytes: number): RmmBlock | undefined {
    return this.#take(Math.max(bytes, this.#device.reservedBytes), bytes);
  }

  #take(tryBytes: number, leastBytes: number): RmmBlock | undefined {
    let bytes = tryBytes;
    while (!this.#device.take(bytes)) {
      if (bytes === leastBytes) return undefined;
      bytes = Math.max(leastBytes, Math.floor(bytes / 2));
      this.#retries++;
    }
    return { segment: this.#segments.push(bytes) - 1, offset: 0, bytes };
  }
}

/** Describes segments whose parts are given in any order. */
export function describeRmmSegments(
  sizes: readonly number[],
  live: ReadonlyMap<number, RmmBlock>,
  free: readonly RmmBlock[],
): ReplaySegment[] {
  const parts = [
    ...free.map((part) => ({ part, block: null })),
    ...[...live].map(([block, part]) => ({ part, block })),
  ].sort((left, right) => compareAddresses(left.part, right.part));
  return sizes.map((bytes, segment) => ({
    bytes,
    blocks: parts.filter(({ part }) => part.segment === segment).map(({ part, block }) => ({
      offset: part.offset,
      bytes: part.bytes,
      state: block === null ? "free" as const : "live" as const,
      block,
    })),
  }));
}

class RmmAllocator implements ReplayAllocator {
  readonly #device: ReplayDevice;
  readonly #pool: RmmPool;
  readonly #live = new Map<number, RmmBlock>();
  readonly #streams = new Map<number, number>();

  constructor(capacityBytes: number) {
    this.#device = new ReplayDevice(capacityBytes);
    this.#pool = new RmmPool(this.#device);
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
    if (bytes === 0) return true;
    const padded = paddedForAlignment(bytes, alignment, RMM_ALIGNMENT);
    const found = this.#pool.allocate(padded, stream);
    if (found === undefined) return false;
    this.#live.set(block, found);
    this.#streams.set(block, stream);
    return true;
  }

  free(block: number): void {
    const found = this.#live.get(block);
    if (found === undefined) return; // of 0 bytes
    this.#pool.free(found, this.#streams.get(block)!);
    this.#live.delete(block);
    this.#streams.delete(block);
  }

  use(): void {}

  synchronize(): void {}

  dispose(): void {}

  segments(): ReplaySegment[] {
    return describeRmmSegments(this.#pool.segmentBytes, this.#live, this.#pool.freeBlocks());
  }
}

/** RMM's pool as Python makes it. */
export const RMM: ReplayPolicy = {
  name: "rmm",
  description: "RMM's PoolMemoryResource; takes half of the device at the start (model)",
  isModel: true,
  create: ({ capacityBytes }) => new RmmAllocator(capacityBytes),
};
