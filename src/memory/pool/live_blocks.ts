/**
 * Looking through the blocks of a pool: what is live, and what is the pool's at all.
 *
 * @module
 */

import { LIVE, NEXT, UNIT, UNMAPPED } from "./block_table.ts";
import type { PoolEngine } from "./pool_engine.ts";

/** What an engine has, as far as looking through it needs. */
type Contents = Pick<PoolEngine, "segments" | "table" | "guards">;

/** The live blocks, by segment and address. Takes time in proportion to all blocks. */
export function* liveBlocks({ segments, table }: Contents): Generator<number> {
  for (const segment of segments) {
    let block = segment?.firstBlock ?? 0;
    for (; block !== 0; block = table.field(block, NEXT)) {
      if (table.state(block) === LIVE) yield block;
    }
  }
}

/** What was asked for, in bytes, of each live block. Takes time in proportion to all blocks. */
export function* liveSizes(contents: Contents): Generator<number> {
  for (const block of liveBlocks(contents)) yield contents.table.requested(block);
}

/**
 * The block in which an address lies, live or free; 0 where the pool has no memory there. Takes
 * time in proportion to the blocks of its segment.
 */
export function blockAt({ segments, table }: Contents, address: number): number {
  const segment = segments.find((segment) =>
    segment !== undefined && segment.address <= address && address < segment.address + segment.bytes
  );
  let block = segment?.firstBlock ?? 0;
  while (block !== 0 && address >= table.address(block) + table.units(block) * UNIT) {
    block = table.field(block, NEXT);
  }
  return block === 0 || table.state(block) === UNMAPPED ? 0 : block;
}

/** Whether an address lies in a live block, also inside of it. */
export function isLiveAddress(contents: Contents, address: number): boolean {
  const { table } = contents;
  const block = blockAt(contents, address);
  if (block === 0 || table.state(block) !== LIVE) return false;
  const begin = addressOf(contents, block);
  return address >= begin && address < begin + table.requested(block);
}

/** Where the buffer of a live block begins: with the block, but for guards before it. */
export function addressOf({ table, guards }: Contents, block: number): number {
  return table.address(block) + (guards === undefined ? 0 : guards.frontOf(block));
}
