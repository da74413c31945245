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
 * @module
 */

import { modelPolicy } from "./model_allocator.ts";
import { OrderedSet } from "./ordered_set.ts";
import type { ReplayDevice } from "./replay_device.ts";
import type { ReplayPolicy } from "./replay_policy.ts";
import { RmmAllocator } from "./rmm_allocator.ts";
import { DEFAULT_STREAM, RMM_ALIGNMENT, type RmmFreeList, RmmResource } from "./rmm_resource.ts";
import { compareAddresses, type SegmentPart } from "./segment_part.ts";

/** `initial_pool_size` of Python, as a share of free memory. */
const INITIAL_SHARE = 0.5;

/** Whether the second block begins where the first ends, in the same request. */
function isContiguous(first: SegmentPart | undefined, second: SegmentPart | undefined): boolean {
  return first !== undefined && second !== undefined && first.segment === second.segment &&
    first.offset + first.bytes === second.offset;
}

/** Free blocks by address, merged with their neighbours. */
class CoalescingFreeList implements RmmFreeList {
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

  blocks(): Iterable<SegmentPart> {
    return this.#blocks;
  }
}

/** The pool, which others may have as their upstream. */
export class RmmPool extends RmmResource {
  /** It serves any size. */
  override readonly largestBytes: number = Infinity;
  readonly #device: ReplayDevice;

  /** @param device Where memory comes from. */
  constructor(device: ReplayDevice) {
    super();
    this.#device = device;
    const share = device.freeBytes * INITIAL_SHARE;
    const initial = Math.floor(share / RMM_ALIGNMENT) * RMM_ALIGNMENT;
    const block = initial > 0 ? this.#take(initial, initial) : undefined;
    if (block !== undefined) this.free(block, DEFAULT_STREAM);
  }

  /** `coalescing_free_list` */
  protected override createList(): RmmFreeList {
    return new CoalescingFreeList();
  }

  /** What is left of a block: any rest is split off. */
  protected override rest(block: SegmentPart, used: number): SegmentPart | undefined {
    const { segment, offset, bytes } = block;
    return bytes > used ? { segment, offset: offset + used, bytes: bytes - used } : undefined;
  }

  /** As much again as there is, or what the device still has of it. */
  protected override expand(bytes: number): SegmentPart | undefined {
    return this.#take(Math.max(bytes, this.#device.reservedBytes), bytes);
  }

  #take(tryBytes: number, leastBytes: number): SegmentPart | undefined {
    for (let bytes = tryBytes;; bytes = Math.max(leastBytes, Math.floor(bytes / 2))) {
      const segment = this.#device.takeSegment(bytes);
      if (segment !== undefined) return { segment, offset: 0, bytes };
      if (bytes === leastBytes) return undefined;
      this.#device.countRetry();
    }
  }
}

/** RMM's pool as Python makes it. */
export const RMM: ReplayPolicy = modelPolicy(
  "rmm",
  "RMM's PoolMemoryResource; takes half of the device at the start",
  (device) => new RmmAllocator(device, [new RmmPool(device)]),
);
