/**
 * What the spaces, the segments and the streams of a pool share.
 *
 * @module
 */

import type { BlockHeap } from "./block_heap.ts";
import type { BlockTable } from "./block_table.ts";
import type { MemoryUpstream } from "./memory_upstream.ts";
import type { Segment } from "./segment.ts";

/** What the spaces of a pool share. */
export interface SharedMemory {
  /** Where memory comes from. */
  readonly upstream: MemoryUpstream;
  /** The blocks. */
  readonly table: BlockTable;
  /** The free ones. */
  readonly heap: BlockHeap;
  /** All segments by number, with holes. */
  readonly segments: (Segment | undefined)[];
  /** Bytes taken from the device. */
  readonly reservedBytes: number;
  /** Told of memory taken from the device, or, below zero, given back. */
  onReserved(bytes: number, address: number, kind: number, isSegment: boolean): void;
  /** Told of every request to the upstream that takes or gives memory, before it is made. */
  onCall(): void;
  /** Told of every stream that is disposed. */
  onRetired(): void;
  /** Told of every mark. */
  onMark(): void;
  /** The tick of the pool's clock. */
  tick: number;
}
