/**
 * Looking through the blocks of a pool: what is live, and what is the pool's at all.
 *
 * @module
 */

import { LIVE, NEXT } from "./block_table.ts";
import type { PoolEngine } from "./pool_engine.ts";

/** What an engine has, as far as looking through it needs. */
type Contents = Pick<PoolEngine, "segments" | "table">;

/** What was asked for, in bytes, of each live block. Takes time in proportion to all blocks. */
export function* liveSizes({ segments, table }: Contents): Generator<number> {
  for (const segment of segments) {
    let block = segment?.firstBlock ?? 0;
    for (; block !== 0; block = table.field(block, NEXT)) {
      if (table.state(block) === LIVE) yield table.requested(block);
    }
  }
}

/** Whether an address lies in a live block, also inside of it. */
export function isLiveAddress({ segments, table }: Contents, address: number): boolean {
  const segment = segments.find((segment) =>
    segment !== undefined && segment.address <= address && address < segment.address + segment.bytes
  );
  let block = segment?.firstBlock ?? 0;
  for (; block !== 0; block = table.field(block, NEXT)) {
    const start = table.address(block);
    if (address < start + table.requested(block) && address >= start) {
      return table.state(block) === LIVE;
    }
  }
  return false;
}
