import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { GrowthPolicy } from "../../../src/memory/pool/allocation_ladder.ts";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import { LARGE, UNIT } from "../../../src/memory/pool/block_table.ts";
import { StrictUpstream } from "./model/strict_upstream.ts";
import { poolSettings } from "./model/pool_settings.ts";
import { modelPool } from "./model/watched_pool.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

function policyAt(mostLive: number): GrowthPolicy {
  const policy = new GrowthPolicy(true);
  policy.noteUse(mostLive);
  return policy;
}

function unitsOf(bytes: number): number {
  return bytes / UNIT;
}

Deno.test("`roomFor()` doubles the slack after 32 small requests", () => {
  const policy = policyAt(GIB);
  const slack = policy.allowed(1) - GIB;
  const makeRoom = (bytes: number) => {
    for (let count = 0; count < 32; count++) {
      policy.roomFor({ units: unitsOf(bytes), live: GIB - count, excess: 1 });
    }
  };
  makeRoom(4 * MIB + UNIT);
  assertEquals(policy.allowed(1) - GIB, slack, "larger requests do not count");
  makeRoom(4 * MIB);
  assertAlmostEquals(policy.allowed(1) - GIB, 2 * slack, 1);
  for (let doubling = 0; doubling < 40; doubling++) makeRoom(UNIT);
  assertEquals(policy.allowed(1), 2 * GIB);
  policy.noteUse(1.9 * GIB);
  assertEquals(policy.allowed(1), 3.8 * GIB);
  policy.noteUse(2 * GIB);
  assertAlmostEquals(policy.allowed(1) - 2 * GIB, 2 * slack, 1);
});

Deno.test("`roomFor()` adds slack for repeated requests", () => {
  const policy = policyAt(GIB);
  const step = (live: number) => {
    for (const bytes of [64 * MIB, 96 * MIB]) {
      policy.roomFor({ units: unitsOf(bytes), live, excess: 16 * MIB });
    }
  };
  const before = policy.allowed(1);
  step(GIB / 2);
  step(GIB / 4);
  assertEquals(policy.allowed(1), before);
  step(GIB / 2);
  // The first request of the first step had no predecessor.
  assertEquals(policy.allowed(1), before + GIB / 128);
  step(GIB / 2);
  assertEquals(policy.allowed(1), before + 3 * GIB / 128);
  policy.noteUse(GIB + MIB);
  assert(policy.allowed(1) < before + 2 * MIB);
  step(GIB / 2);
  assert(policy.allowed(1) < before + 2 * MIB);
});

Deno.test("a large request in a steady pool maps its own size only", () => {
  const upstream = new StrictUpstream({ capacity: 8 * GIB });
  const core = new BlockPool(upstream, poolSettings({ limitBytes: 8 * GIB }));
  const stream = upstream.createStream();
  const take = (mebibytes: number) => core.allocate(mebibytes * MIB, stream);
  const blocks = Array.from({ length: 124 }, () => take(16));
  assertEquals(upstream.usedBytes, 2000 * MIB, "mapped by 32 MiB");
  // Two holes of 16 MiB, and the 16 MiB ahead of use.
  for (const index of [20, 10]) core.free(blocks.splice(index, 1)[0]!);
  blocks.push(take(30));
  assertEquals(upstream.usedBytes, 2014 * MIB, "with the 16 MiB ahead, and no more than it lacked");
  for (const block of blocks) core.free(block);
  core.close();
});

Deno.test("`reclaim()` leaves small blocks unless they are needed", () => {
  const upstream = new StrictUpstream({ capacity: GIB });
  const core = new BlockPool(upstream, poolSettings({ limitBytes: GIB }));
  const stream = upstream.createStream();
  const sizes = [16, 8, 4, 8, 32, 8];
  const blocks = sizes.map((mebibytes) => core.allocate(mebibytes * MIB, stream));
  for (const index of [0, 2, 4]) core.free(blocks[index]!);
  const { streams } = core;
  streams.settle();
  assertEquals(streams.space.reclaim(GIB, 8 * MIB), 48 * MIB);
  assert(upstream.usedBytes >= 28 * MIB);
  // The block of 4 MiB, and memory mapped in advance.
  streams.space.reclaim(GIB);
  assertEquals(upstream.usedBytes, 24 * MIB);
  for (const index of [1, 3, 5]) core.free(blocks[index]!);
  core.close();
});

for (const isBehind of [true, false]) {
  const where = isBehind ? "behind" : "ahead of";
  Deno.test(`\`grow()\` maps nothing when a free block ${where} a hole serves`, () => {
    const { pool, upstream } = modelPool();
    const stream = upstream.createStream();
    const [first, second, third] = [1, 2, 3].map(() => pool.allocate(16 * MIB, stream));
    const { streams } = pool;
    const slot = streams.slotOf(stream);
    // Either the last block, with all the addresses behind it, or the second behind what was the
    // first and has no memory any more.
    const [free, live] = isBehind ? [third!, second!] : [second!, third!];
    pool.free(first!);
    streams.flush(slot);
    assertEquals(pool.trim(), 16 * MIB);
    pool.free(free);
    streams.flush(slot);
    const { upstreamCalls } = pool.stats();
    for (const bytes of [2 * MIB, 3 * MIB + 512, 14 * MIB, 16 * MIB]) {
      assertEquals(streams.space.growthFor(LARGE, bytes / UNIT, slot), 0);
      assert(streams.space.grow(LARGE, bytes / UNIT, slot, 0));
      assert(streams.space.grow(LARGE, bytes / UNIT, slot, 64 * MIB));
    }
    assertEquals(pool.stats().upstreamCalls, upstreamCalls);
    pool.free(pool.allocate(14 * MIB, stream));
    pool.free(live);
    pool.close();
  });
}
