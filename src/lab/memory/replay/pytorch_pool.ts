/**
 * What both modes of PyTorch's allocator share: constants, and the two pools of free blocks.
 *
 * @module
 */

import type { FreeBlocks } from "./free_blocks.ts";
import type { OrderedSet } from "./ordered_set.ts";
import type { SegmentBlock } from "./segment_block.ts";

const MiB = 2 ** 20;

/** Every size is a multiple of this: `kMinBlockSize`. */
export const MINIMUM_BLOCK = 512;
/** The largest size that the pool of small blocks serves: `kSmallSize`. */
export const LARGEST_SMALL = MiB;
/** The size of a segment of the pool of small blocks: `kSmallBuffer`. */
export const SMALL_SEGMENT = 2 * MiB;
/** The size of a segment for sizes below {@linkcode SMALLEST_OWN_SEGMENT}: `kLargeBuffer`. */
export const LARGE_SEGMENT = 20 * MiB;
/** The smallest size with a segment of its own: `kMinLargeAlloc`. */
export const SMALLEST_OWN_SEGMENT = 10 * MiB;
/** What the size of such a segment is a multiple of: `kRoundLarge`. */
export const OWN_SEGMENT_MULTIPLE = 2 * MiB;

/** The free blocks that serve small, or large, requests. */
export interface PytorchPool {
  /** Whether it serves the small ones. */
  readonly isSmall: boolean;
  /** Free blocks. */
  readonly free: FreeBlocks;
  /** Addresses without memory, by stream and address; only expandable segments have some. */
  readonly unmapped: OrderedSet<SegmentBlock>;
}

/** How a pool gets memory and gives it back: by segments of fixed size, or by expandable ones. */
export interface PytorchGrowth {
  /** The block to use of those that are large enough, which come by size; `undefined` for none. */
  choose(fitting: Iterable<SegmentBlock>): SegmentBlock | undefined;
  /** Whether a block is split when that leaves so many bytes. */
  splits(pool: PytorchPool, restBytes: number): boolean;
  /** A block of at least that size that is not in the pool; `undefined` for out of memory. */
  grow(pool: PytorchPool, bytes: number, stream: number): SegmentBlock | undefined;
  /** Gives back what nobody uses. */
  release(pool: PytorchPool): void;
}
