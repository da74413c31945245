/**
 * Counts the blocks of a pool by following the links of its segments.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import {
  CACHED,
  FREE,
  LIVE,
  NEXT,
  OWNER,
  PENDING,
  PREVIOUS,
  SEGMENT,
  UNIT,
  UNMAPPED,
} from "../../../../src/memory/pool/block_table.ts";
import type { BlockPool } from "../../../../src/memory/pool/block_pool.ts";
import type { Segment } from "../../../../src/memory/pool/memory_space.ts";

/** A counted block. */
export interface CountedBlock {
  readonly block: number;
  readonly address: number;
  readonly bytes: number;
  readonly requested: number;
  readonly state: number;
  readonly owner: number;
  readonly kind: number;
  /** Whether it is all of its segment. */
  readonly isWhole: boolean;
}

/** The blocks of a pool by state. */
export interface PoolCensus {
  readonly live: CountedBlock[];
  readonly cached: CountedBlock[];
  readonly free: CountedBlock[];
  readonly pending: CountedBlock[];
  readonly unmapped: CountedBlock[];
  /** Plain segments by kind. */
  readonly plainSegments: [number, number];
}

/** The sum of the bytes of blocks. */
export function bytesOf(blocks: readonly CountedBlock[]): number {
  return blocks.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Those of a kind. */
export function ofKind(blocks: readonly CountedBlock[], kind: number): CountedBlock[] {
  return blocks.filter((block) => block.kind === kind);
}

function shown({ address, bytes, state, owner }: CountedBlock): string {
  return `[0x${address.toString(16)} ${bytes} state ${state} owner ${owner}]`;
}

/** Whether two neighbours should be one block. */
function shouldJoin(one: CountedBlock, next: CountedBlock): boolean {
  if (one.state === UNMAPPED && next.state === UNMAPPED) return true;
  return one.state === FREE && next.state === FREE && one.owner === next.owner;
}

/** The blocks of a segment, having checked that they cover it without a gap. */
function blocksOf({ table }: BlockPool, segment: Segment): CountedBlock[] {
  const blocks: CountedBlock[] = [];
  let address = segment.address;
  let previous = 0;
  for (let block = segment.firstBlock; block !== 0; block = table.field(block, NEXT)) {
    assertEquals(table.address(block), address, "a gap between the blocks of a segment");
    assertEquals(table.field(block, PREVIOUS), previous, "the links disagree");
    assertEquals(table.field(block, SEGMENT), segment.number * 2 + segment.kind);
    const bytes = table.units(block) * UNIT;
    assert(bytes > 0, "a block of no size");
    const next = table.field(block, NEXT);
    const counted = {
      block,
      address,
      bytes,
      requested: table.requested(block),
      state: table.state(block),
      owner: table.field(block, OWNER),
      kind: segment.kind,
      isWhole: next === 0 && previous === 0,
    };
    const last = blocks.at(-1);
    if (last !== undefined && shouldJoin(last, counted)) {
      throw new Error(`${shown(last)} and ${shown(counted)} should have joined`);
    }
    blocks.push(counted);
    address += bytes;
    previous = block;
  }
  assertEquals(address, segment.address + segment.bytes, "bytes of a segment are of no block");
  return blocks;
}

/** Counts everything, and checks that every byte of every segment is of exactly one block. */
export function takeCensus(pool: BlockPool): PoolCensus {
  const census: PoolCensus = {
    live: [],
    cached: [],
    free: [],
    pending: [],
    unmapped: [],
    plainSegments: [0, 0],
  };
  const lists = new Map([
    [LIVE, census.live],
    [CACHED, census.cached],
    [FREE, census.free],
    [PENDING, census.pending],
    [UNMAPPED, census.unmapped],
  ]);
  let records = 0;
  for (const segment of pool.segmentTable) {
    if (segment === undefined) continue;
    if (segment.pieces === undefined) census.plainSegments[segment.kind as 0 | 1]++;
    const blocks = blocksOf(pool, segment);
    records += blocks.length;
    for (const block of blocks) {
      const list = lists.get(block.state);
      if (list === undefined) throw new Error(`${shown(block)} has no such state`);
      list.push(block);
    }
    const unmapped = blocks.filter(({ state }) => state === UNMAPPED).map(({ block }) => block);
    assertEquals(
      [...segment.unmapped].sort(),
      unmapped.sort(),
      "the segment's blocks without memory",
    );
  }
  assertEquals(pool.table.size, records, "records that are in no segment");
  return census;
}
