/**
 * The segments and blocks of a pool, for reports and for requests by address.
 *
 * @module
 */

import type { BlockPool } from "./block_pool.ts";
import { CACHED, FREE, LARGE, LIVE, PENDING, UNMAPPED } from "./block_table.ts";
import { blocksFrom } from "./memory_space.ts";
import type { MemoryStream } from "./memory_upstream.ts";

export interface BlockView {
  readonly number: number;
  readonly address: number;
  readonly bytes: number;
  readonly requested: number;
  readonly state: "live" | "cached" | "free" | "pending" | "unmapped";
  /** The stream that owns it; `undefined` if any stream may have it. */
  readonly stream: MemoryStream | undefined;
}

export interface SegmentView {
  readonly address: number;
  readonly bytes: number;
  /** One allocation, or a range of addresses in which memory is mapped. */
  readonly kind: "plain" | "virtual";
  readonly purpose: "small" | "large" | "graph";
  /** Its blocks, by address. */
  readonly blocks: Iterable<BlockView>;
}

const STATES = {
  [LIVE]: "live",
  [CACHED]: "cached",
  [FREE]: "free",
  [PENDING]: "pending",
  [UNMAPPED]: "unmapped",
} as Readonly<Record<number, BlockView["state"]>>;

export function* walkSegments(pool: BlockPool): Generator<SegmentView> {
  for (const space of pool.streams.spaces()) {
    for (const { address, bytes, pieces, kind, firstBlock } of space.segments) {
      yield {
        address,
        bytes,
        kind: pieces === undefined ? "plain" : "virtual",
        purpose: space.isOfGraph ? "graph" : kind === LARGE ? "large" : "small",
        blocks: viewsFrom(pool, firstBlock),
      };
    }
  }
}

export function* walkLive(pool: BlockPool): Generator<BlockView> {
  for (const { blocks } of walkSegments(pool)) {
    for (const block of blocks) if (block.state === "live") yield block;
  }
}

/** The block at an address, live or free; 0 if the pool has no memory there. */
export function blockAt(pool: BlockPool, address: number): number {
  for (const segment of walkSegments(pool)) {
    if (address < segment.address || address >= segment.address + segment.bytes) continue;
    for (const block of segment.blocks) {
      if (address >= block.address + block.bytes) continue;
      return block.state === "unmapped" ? 0 : block.number;
    }
  }
  return 0;
}

export function isLiveAddress(pool: BlockPool, address: number): boolean {
  const block = blockAt(pool, address);
  if (block === 0 || !pool.isLive(block)) return false;
  const begin = pool.addressOf(block);
  return address >= begin && address < begin + pool.table.requested(block);
}

function* viewsFrom(pool: BlockPool, first: number): Generator<BlockView> {
  const { table } = pool;
  for (const block of blocksFrom(table, first)) {
    const state = STATES[table.state(block)]!;
    yield {
      number: block,
      address: table.address(block),
      bytes: table.bytes(block),
      requested: table.requested(block),
      state,
      stream: state === "unmapped" ? undefined : pool.ownerOf(block),
    };
  }
}
