import { assert, assertEquals } from "@std/assert";
import {
  CACHED,
  FREE,
  NEXT,
  PREVIOUS,
  UNIT,
  UNMAPPED,
} from "../../../src/memory/pool/block_table.ts";
import { StrictUpstream } from "./model/strict_upstream.ts";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import { SeededRandom } from "../../../bench/traces/seeded_random.ts";
import { settingsWith } from "./model/watched_pool.ts";

const MIB = 2 ** 20;

function makePool(granularity: number): BlockPool {
  const upstream = new StrictUpstream({ capacity: 2 ** 28, granularity });
  return new BlockPool(upstream, settingsWith({ limitBytes: 2 ** 28 }));
}

/** Free blocks beside others and their bytes, by kind, from the blocks themselves. */
function inactive({ table, segmentTable: segments }: BlockPool): [number, number, number, number] {
  const found: [number, number, number, number] = [0, 0, 0, 0];
  for (const segment of segments) {
    let block = segment?.firstBlock ?? 0;
    for (; block !== 0; block = table.field(block, NEXT)) {
      const state = table.state(block);
      const isWhole = table.field(block, NEXT) === 0 && table.field(block, PREVIOUS) === 0;
      if (state === UNMAPPED || !(state === CACHED || (state === FREE && !isWhole))) continue;
      found[segment!.kind as 0 | 1]++;
      found[segment!.kind === 0 ? 2 : 3] += table.units(block) * UNIT;
    }
  }
  return found;
}

for (const granularity of [0, 2 * MIB]) {
  const memory = granularity === 0 ? "plain" : "mapped";
  Deno.test(`\`stats()\` agrees with the blocks on inactive ${memory} memory`, () => {
    const pool = makePool(granularity);
    const { upstream } = pool;
    const stream = (upstream as StrictUpstream).createStream();
    const random = new SeededRandom(7);
    const live: number[] = [];
    const peaks = [0, 0, 0, 0, 0, 0];
    for (let turn = 0; turn < 4000; turn++) {
      if (live.length === 0 || (random.fraction() < 0.5 && live.length < 150)) {
        live.push(pool.allocate(Math.ceil(2 ** (random.fraction() * 22)), stream));
      } else {
        const [block] = live.splice(Math.floor(random.fraction() * live.length), 1);
        pool.free(block!);
      }
      const now = inactive(pool);
      const both = [now[0] + now[1], now[2] + now[3]];
      [...now, ...both].forEach((value, at) => peaks[at] = Math.max(peaks[at]!, value));
      if (turn % 10 !== 0) continue;
      const { inactiveSplit: blocks, inactiveSplitBytes: bytes } = pool.stats();
      assertEquals(
        [blocks.small.current, blocks.large.current, bytes.small.current, bytes.large.current],
        now,
      );
    }
    const { inactiveSplit: blocks, inactiveSplitBytes: bytes } = pool.stats();
    const kept = [blocks.small, blocks.large, bytes.small, bytes.large, blocks.all, bytes.all]
      .map(({ peak }) => peak);
    // Within a request the peak may be higher, while cached blocks join the rest.
    kept.forEach((peak, at) => assert(peak >= peaks[at]! && peak <= 1.5 * peaks[at]!, `${at}`));
    for (const block of live) pool.free(block);
    pool.close();
  });
}

Deno.test("growth for large requests keeps small cached blocks", () => {
  const pool = makePool(2 * MIB);
  const stream = (pool.upstream as StrictUpstream).createStream();
  const small = Array.from({ length: 20 }, () => pool.allocate(1024, stream));
  const [first, between, last] = [28, 2, 28].map((size) => pool.allocate(size * MIB, stream));
  for (const block of [...small, first!, last!]) pool.free(block);
  const { peakReserved, upstreamCalls } = pool.stats();
  // More than there is in one piece: the last is extended, and pages of the first go back for it.
  const large = pool.allocate(31 * MIB, stream);
  const { cacheHits, ...now } = pool.stats();
  assert(now.upstreamCalls > upstreamCalls + 1 && now.peakReserved === peakReserved);
  const again = Array.from({ length: 20 }, () => pool.allocate(1024, stream));
  assertEquals(pool.stats().cacheHits - cacheHits, 20);
  for (const block of [large, between!, ...again]) pool.free(block);
  pool.close();
});
