/**
 * Segments, and parts of them: where memory lies, for models without addresses.
 *
 * A segment has a place in the order of taking, a part an offset in its segment, and both together
 * order parts as their addresses would. A driver hands addresses out as it likes, so where the
 * peers compare addresses of different segments this is one of the orders that they may see.
 *
 * @module
 */

import type { ReplayBlock, ReplayBlockState, ReplaySegment } from "./replay_policy.ts";

/** What was taken from the device as one. */
export interface Segment {
  /** Its place in the order of taking. */
  readonly order: number;
  /** Its size in bytes, with what has no memory. */
  readonly bytes: number;
}

/** A part of a segment. */
export interface SegmentPart {
  /** The segment it is part of. */
  readonly segment: Segment;
  /** Where it begins in the segment, in bytes. */
  readonly offset: number;
  /** Its size in bytes. */
  readonly bytes: number;
}

/** A part that nobody has, for debugging. */
export interface IdlePart extends SegmentPart {
  /** What it is. */
  readonly state: ReplayBlockState;
}

/** Orders parts as their addresses would. */
export function compareAddresses(left: SegmentPart, right: SegmentPart): number {
  return left.segment.order - right.segment.order || left.offset - right.offset;
}

/**
 * What is in segments, for debugging.
 *
 * @param live What somebody has, with the trace's number of who has it.
 * @param idle All other parts.
 */
export function describeSegments(
  live: Iterable<readonly [number, SegmentPart]>,
  idle: Iterable<IdlePart>,
): ReplaySegment[] {
  const parts = [
    ...Array.from(live, ([block, part]) => ({ part, block, state: "live" as const })),
    ...Array.from(idle, (part) => ({ part, block: null, state: part.state })),
  ].sort((left, right) => compareAddresses(left.part, right.part));
  const segments = new Map<Segment, ReplayBlock[]>();
  for (const { part: { segment, offset, bytes }, block, state } of parts) {
    const blocks = segments.get(segment) ?? [];
    segments.set(segment, blocks);
    const isEnd = offset + bytes === segment.bytes;
    if (state !== "unmapped" || !isEnd) blocks.push({ offset, bytes, state, block });
  }
  return Array.from(segments, ([{ bytes }, blocks]) => ({ bytes, blocks }));
}
