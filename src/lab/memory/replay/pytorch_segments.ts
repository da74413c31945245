/**
 * PyTorch's default way of growing: segments of fixed size from `cudaMalloc`.
 *
 * After `get_allocation_size`, `should_split`, `alloc_block` and `release_blocks` of
 * `c10/cuda/CUDACachingAllocator.cpp` at 001074d. Requests up to 1 MiB share segments of 2 MiB and
 * leave any rest of 512 bytes or more to others; those below 10 MiB share segments of 20 MiB, and
 * larger ones get a segment rounded up to 2 MiB, both of which are split only where more than 1 MiB
 * is left.
 *
 * @module
 */

import { modelPolicy } from "./model_allocator.ts";
import { PytorchAllocator } from "./pytorch_allocator.ts";
import {
  LARGE_SEGMENT,
  LARGEST_SMALL,
  MINIMUM_BLOCK,
  OWN_SEGMENT_MULTIPLE,
  type PytorchGrowth,
  type PytorchPool,
  SMALL_SEGMENT,
  SMALLEST_OWN_SEGMENT,
} from "./pytorch_pool.ts";
import type { ReplayDevice } from "./replay_device.ts";
import type { ReplayPolicy } from "./replay_policy.ts";
import { type SegmentBlock, wholeSegment } from "./segment_block.ts";

function segmentBytes(bytes: number): number {
  if (bytes <= LARGEST_SMALL) return SMALL_SEGMENT;
  if (bytes < SMALLEST_OWN_SEGMENT) return LARGE_SEGMENT;
  return Math.ceil(bytes / OWN_SEGMENT_MULTIPLE) * OWN_SEGMENT_MULTIPLE;
}

class FixedSegments implements PytorchGrowth {
  readonly #device: ReplayDevice;

  constructor(device: ReplayDevice) {
    this.#device = device;
  }

  choose(fitting: Iterable<SegmentBlock>): SegmentBlock | undefined {
    const [smallest] = fitting;
    return smallest;
  }

  splits(pool: PytorchPool, restBytes: number): boolean {
    return pool.isSmall ? restBytes >= MINIMUM_BLOCK : restBytes > LARGEST_SMALL;
  }

  grow(_pool: PytorchPool, bytes: number, stream: number): SegmentBlock | undefined {
    const segment = this.#device.takeSegment(segmentBytes(bytes));
    return segment && wholeSegment(segment, stream, "free");
  }

  release(pool: PytorchPool): void {
    pool.free.giveBackSegments(this.#device);
  }
}

/** PyTorch's native caching allocator as it comes. */
export const PYTORCH: ReplayPolicy = modelPolicy(
  "pytorch",
  "PyTorch's native caching allocator, default settings",
  (device) => new PytorchAllocator(device, new FixedSegments(device)),
);
