/**
 * Blocks of a segment as PyTorch and CuPy keep them: a doubly linked list in the order of
 * addresses, split on allocation and merged on release.
 *
 * There are no addresses. A segment has a place in the order of taking, a block an offset in its
 * segment, and both together order blocks of equal size. A driver hands addresses out as it
 * likes, so where the peers compare addresses of different segments this is one of the orders that
 * they may see.
 *
 * @module
 */

import type { ReplayBlock, ReplayBlockState, ReplaySegment } from "./replay_policy.ts";

/** What was taken from the device as one. */
export interface Segment {
  /** Its place in the order of taking. */
  readonly order: number;
  /** Its size, with what has no memory. */
  readonly bytes: number;
}

/** A part of a segment. */
export interface SegmentBlock {
  /** The segment it is part of. */
  readonly segment: Segment;
  /** The stream that its segment belongs to. */
  readonly stream: number;
  /** Where it begins in the segment. */
  offset: number;
  /** Its size. */
  bytes: number;
  /** What it is. */
  state: ReplayBlockState;
  /** Who has it, by the trace's number; meaningless unless it is live. */
  owner: number;
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
  return {
    segment,
    stream,
    offset: 0,
    bytes: segment.bytes,
    state,
    owner: -1,
    previous: undefined,
    next: undefined,
  };
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
    owner: -1,
    previous: block,
  };
  block.bytes = bytes;
  block.next = rest;
  if (rest.next !== undefined) rest.next.previous = rest;
  return rest;
}

/** Makes a block's space part of its neighbour's; the neighbour stays. */
export function absorbBlock(block: SegmentBlock, neighbour: SegmentBlock): void {
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

/** Orders blocks as their addresses would. */
export function compareAddresses(left: SegmentBlock, right: SegmentBlock): number {
  return left.segment.order - right.segment.order || left.offset - right.offset;
}

/** What is in segments, for debugging, given all their blocks. */
export function describeSegments(blocks: Iterable<SegmentBlock>): ReplaySegment[] {
  const heads = [...blocks].filter(({ previous }) => previous === undefined);
  return heads.sort(compareAddresses).map((head) => {
    const parts: ReplayBlock[] = [];
    for (let block: SegmentBlock | undefined = head; block !== undefined; block = block.next) {
      const { offset, bytes, state, owner } = block;
      if (state === "unmapped" && block.next === undefined) break;
      parts.push({ offset, bytes, state, block: state === "live" ? owner : null });
    }
    return { bytes: head.segment.bytes, blocks: parts };
  });
}
