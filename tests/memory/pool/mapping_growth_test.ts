/**
 * Growing where a free block has become long enough since it was looked for, as settling in between
 * can make one: nothing is mapped then.
 */

import { assert, assertEquals } from "@std/assert";
import { UNIT } from "../../../src/memory/pool/block_table.ts";
import { LARGE } from "../../../src/memory/pool/segment.ts";
import { modelPool } from "./watched_pool.ts";

const MIB = 2 ** 20;

for (const isBehind of [true, false]) {
  const where = isBehind ? "behind" : "ahead of";
  Deno.test(`growth maps nothing where a free block with a hole ${where} it serves`, () => {
    const { pool, upstream } = modelPool();
    const stream = upstream.createStream();
    const [first, second, third] = [1, 2, 3].map(() => pool.take(16 * MIB, stream));
    const { streams } = pool.engine;
    const slot = streams.slotOf(stream);
    // Either the last block, with all the addresses behind it, or the second behind what was the
    // first and has no memory any more.
    const [free, live] = isBehind ? [third!, second!] : [second!, third!];
    pool.give(first!);
    streams.flush(slot);
    assertEquals(pool.trim(), 16 * MIB);
    pool.give(free);
    streams.flush(slot);
    const { upstreamCalls } = pool.stats();
    for (const bytes of [2 * MIB, 3 * MIB + 512, 14 * MIB, 16 * MIB]) {
      assertEquals(streams.space.growthFor(LARGE, bytes / UNIT, slot), 0);
      assert(streams.space.grow(LARGE, bytes / UNIT, slot, 0));
      assert(streams.space.grow(LARGE, bytes / UNIT, slot, 64 * MIB));
    }
    assertEquals(pool.stats().upstreamCalls, upstreamCalls);
    pool.give(pool.take(14 * MIB, stream));
    pool.give(live);
    pool.close();
  });
}
