/**
 * Requests that no cached block serves, and the free blocks that may.
 *
 * @module
 */

import type { BlockHeap } from "./block_heap.ts";
import { type BlockTable, UNIT } from "./block_table.ts";
import type { MemorySpace } from "./memory_space.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolStreams } from "./pool_streams.ts";
import { LARGEST_SMALL, unitsFor } from "./size_class.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** How many blocks are looked at for one that has room where the alignment wants it. */
const ALIGNED_LOOKS = 64;

/** A request that no cached block served. */
export interface BlockRequest {
  /** What was asked for. */
  readonly bytes: number;
  /** What addresses are multiples of. */
  readonly alignment: number;
  /** 0 small, 1 large. */
  readonly kind: 0 | 1;
  /** The block's size. */
  readonly units: number;
  /** What a block must have so that it serves wherever it begins. */
  readonly padded: number;
  /** The stream. */
  readonly stream: MemoryStream;
  /** Its slot. */
  readonly slot: StreamSlot;
  /** Where its slot's memory comes from. */
  readonly space: MemorySpace;
}

/** Serves what no cached block serves; 0 where there is no memory. */
export type MissHandler = (request: BlockRequest) => number;

/** A request as the ladder knows it. */
export function requestFor(
  streams: PoolStreams,
  bytes: number,
  alignment: number,
  stream: MemoryStream,
): BlockRequest {
  const slot = streams.slotOf(stream);
  const units = unitsFor(bytes);
  return {
    bytes,
    alignment,
    kind: bytes <= LARGEST_SMALL ? 0 : 1,
    units,
    padded: units + (alignment - UNIT) / UNIT,
    stream,
    slot,
    space: streams.spaceOf(slot),
  };
}

/** Takes a free block of an owner for a request, cut to its size and alignment; 0 for none. */
export function findBlock(
  heap: BlockHeap,
  table: BlockTable,
  owner: number,
  request: BlockRequest,
): number {
  if (request.alignment > UNIT) return findAligned(heap, table, owner, request);
  const found = heap.find(owner, request.kind, request.units);
  return found === 0 ? 0 : heap.carve(found, 0, request.units);
}

/** The same where it matters where the block begins. */
function findAligned(
  heap: BlockHeap,
  table: BlockTable,
  owner: number,
  { kind, units, padded, alignment }: BlockRequest,
): number {
  let left = ALIGNED_LOOKS;
  for (const block of heap.near(owner, kind, units)) {
    const skip = heap.skipFor(block, alignment);
    if (skip + units <= table.units(block)) return heap.carve(block, skip, units);
    if (--left === 0) break;
  }
  const found = heap.find(owner, kind, padded);
  return found === 0 ? 0 : heap.carve(found, heap.skipFor(found, alignment), units);
}
