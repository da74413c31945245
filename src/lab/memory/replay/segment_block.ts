/**
 * Blocks of a segment as PyTorch and CuPy keep them: a doubly linked list in the order of
 * addresses, split on allocation and merged on release.
 *
 * @module
 */

import type { ReplayBlockState } from "./replay_policy.ts";
import type { Segment, SegmentPart } from "./segment_part.ts";

/** A part of a segment that knows its neighbours. */
export interface SegmentBlock extends SegmentPart {
  /** The stream that its segment belongs to. */
  readonly stream: number;
  /** Where it begins in the segment. */
  offset: number;
  /** Its size. */
  bytes: number;
  /** What it is. */
  state: ReplayBlockState;
  /** The block before it in the segment. */
  previous: SegmentBlock | undefined;
  /** The block after it in the segment. */
  next: SegmentBlock | undefined;
}

/** The only block of a new segment. */
export function wholeSegment(
  segment: Segment,
  stream: number,
  state: ReplayBlockState,
): SegmentBlock {
  const { bytes } = segment;
  return { segment, stream, offset: 0, bytes, state, previous: undefined, next: undefined };
}

/** Whether a block is not alone in its segment. */
export function isSplit(block: SegmentBlock): boolean {
  return block.previous !== undefined || block.next !== undefined;
}

/**
 * Cuts a block in two.
 *
 * @param bytes What stays, less than there is.
 * @returns The new block: what comes after, in the same state.
 */
export function splitBlock(block: SegmentBlock, bytes: number): SegmentBlock {
  const rest: SegmentBlock = {
    ...block,
    offset: block.offset + bytes,
    bytes: block.bytes - bytes,
    previous: block,
  };
  block.bytes = bytes;
  block.next = rest;
  if (rest.next !== undefined) rest.next.previous = rest;
  return rest;
}

/** Makes a block's space part of its neighbour's; the neighbour stays. */
function absorbBlock(block: SegmentBlock, neighbour: SegmentBlock): void {
  if (neighbour.next === block) {
    neighbour.next = block.next;
    if (block.next !== undefined) block.next.previous = neighbour;
  } else {
    neighbour.offset = block.offset;
    neighbour.previous = block.previous;
    if (block.previous !== undefined) block.previous.next = neighbour;
  }
  neighbour.bytes += block.bytes;
}

/**
 * Merges a block with the neighbours that are in the same state.
 *
 * @param block What stays. Its place and size change, so that it must be in no set.
 * @param others The set that the neighbours are in, and leave.
 */
export function absorbNeighbours(
  block: SegmentBlock,
  others: { delete(block: SegmentBlock): boolean },
): void {
  for (const neighbour of [block.previous, block.next]) {
    if (neighbour?.state !== block.state) continue;
    others.delete(neighbour);
    absorbBlock(neighbour, block);
  }
}
