import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import {
  BlockTable,
  EPOCH,
  LIVE,
  RECORD_SHIFT,
  STATE,
  TICK,
  UNIT,
  UNMAPPED,
} from "../../../src/memory/pool/block_table.ts";
import { FreeBlocks } from "../../../src/memory/pool/free_blocks.ts";
import {
  FreeIndex,
  MAX_SMALL,
  SIZE_CLASSES,
  sizeClass,
  unitsFor,
  unitsOfClass,
} from "../../../src/memory/pool/free_index.ts";
import { StrictUpstream } from "./model/strict_upstream.ts";
import { checkPool } from "./model/check_pool.ts";
import { poolSettings } from "./model/pool_settings.ts";

const MAX_SMALL_UNITS = MAX_SMALL / UNIT;

Deno.test("`unitsOfClass()` grows with the class", () => {
  assertEquals(unitsOfClass(1), 1);
  assertEquals(unitsOfClass(SIZE_CLASSES - 1), MAX_SMALL_UNITS);
  for (let index = 1; index < SIZE_CLASSES; index++) {
    assertEquals(sizeClass(unitsOfClass(index)), index);
    assert(index === 1 || unitsOfClass(index) > unitsOfClass(index - 1));
  }
});

Deno.test("`sizeClass()` gives the smallest class that fits", () => {
  for (let units = 1; units <= MAX_SMALL_UNITS; units++) {
    const index = sizeClass(units);
    assert(Number.isInteger(index) && index >= 1 && index < SIZE_CLASSES);
    assert(unitsOfClass(index) >= units && (index === 1 || unitsOfClass(index - 1) < units));
  }
});

Deno.test("`unitsFor()` wastes at most a sixteenth", () => {
  // Comparing in the loop and asserting behind it, as an assertion a byte takes seconds.
  let before = 1;
  let wrong = 0;
  for (let bytes = 1; bytes <= MAX_SMALL; bytes++) {
    const units = unitsFor(bytes);
    const waste = units * UNIT - bytes;
    const most = bytes <= 16384 ? UNIT - 1 : bytes / 16 + UNIT - 1;
    if (units < before || waste < 0 || waste > most) wrong++;
    before = units;
  }
  assertEquals(wrong, 0);
});

/** Blocks of a bin that are looked at before a larger bin is. */
const LOOKS = 8;
/** The units of the longest block: a segment is at least one granule shorter than 2^31 units. */
const MOST = 2 ** 31 - 2;

/** The first and the last size of the bin of a size: 32 bins to a doubling. */
function binOf(units: number): [least: number, most: number] {
  if (units < 32) return [units, units];
  const step = 2 ** (Math.floor(Math.log2(units)) - 5);
  const least = Math.floor(units / step) * step;
  return [least, least + step - 1];
}

interface Listed {
  readonly block: number;
  readonly units: number;
}

/** Compares `find()` with a search of the list. */
function checkFind(index: FreeIndex, set: number, list: readonly Listed[], units: number): void {
  const found = index.find(set, units);
  const fitting = list.filter((each) => each.units >= units).map((each) => each.units);
  if (fitting.length === 0) return assertEquals(found, 0, "found where nothing fits");
  const size = list.find(({ block }) => block === found)?.units;
  assert(size !== undefined && size >= units, `found ${size} for ${units}`);
  const best = Math.min(...fitting);
  const [least, most] = binOf(units);
  const near = list.filter((each) => each.units >= least && each.units <= most);
  // Behind the first few of its own bin a better one may hide.
  if (near.length > LOOKS) return;
  // All blocks of its own bin were examined.
  if (best <= most) return assertEquals(size, best);
  assert(size <= binOf(best)[1], `found ${size} for ${units} where there is ${best}`);
}

const size = fc.oneof(
  fc.integer({ min: 1, max: 70 }),
  fc.integer({ min: 1, max: 5000 }),
  fc.integer({ min: 1, max: MOST }),
  fc.constantFrom(31, 32, 33, 63, 64, 65, 2047, 2048, 2049, 2 ** 30, MOST),
);

Deno.test("`FreeIndex.find()` finds a near fit whenever there is one", () => {
  const operation = fc.record({
    set: fc.nat(2),
    units: size,
    removes: fc.boolean(),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 120, size: "max" }), (operations) => {
      const table = new BlockTable();
      const index = new FreeIndex(table);
      index.ensure(2);
      const sets: Listed[][] = [[], [], []];
      for (const { set, units, removes, pick } of operations) {
        const list = sets[set]!;
        if (removes && list.length > 0) {
          const [gone] = list.splice(pick % list.length, 1);
          index.remove(set, gone!.block);
        } else {
          const block = table.create(0, units, 0);
          index.insert(set, block);
          list.push({ block, units });
        }
        for (const wanted of [units, units + 1, Math.max(1, units - 1), 1, MOST]) {
          checkFind(index, set, list, wanted);
        }
        const largest = list.find(({ block }) => block === index.largest(set))?.units ?? 0;
        assertEquals(largest, Math.max(0, ...list.map((each) => each.units)));
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("`FreeIndex.find()` prefers the last inserted or the lowest address", () => {
  const table = new BlockTable();
  const index = new FreeIndex(table);
  index.ensure(0);
  const [middle, low, high, larger] = [[2, 70], [1, 70], [3, 70], [0, 71]].map(([place, units]) => {
    const block = table.create(place! * 2 ** 20, units!, 0);
    index.insert(0, block);
    return block;
  });
  // 68 to 71 units are one bin; 64 to 67 the one below.
  for (const wanted of [70, 69, 65, 1]) {
    assertEquals([index.find(0, wanted), index.find(0, wanted, true)], [high, low], `${wanted}`);
  }
  index.remove(0, low!);
  assertEquals(index.find(0, 70, true), middle);
  assertEquals(index.find(0, 71, true), larger);
});

const SEGMENT_UNITS = 400;
const BASE = 2 ** 30;
const OWNERS = 3;

/** A heap of one segment, which is free for owner 0. */
function heapOf(units = SEGMENT_UNITS) {
  const table = new BlockTable(2);
  const heap = new FreeBlocks(table);
  for (let owner = 0; owner < OWNERS; owner++) heap.addOwner(owner);
  const first = table.create(BASE, units, 0);
  table.ints[(first << RECORD_SHIFT) + STATE] = LIVE;
  heap.release(first, 0, 0, 0);
  return { table, heap, first };
}

Deno.test("`oldest()` and `younger()` follow the order of freeing", () => {
  const { table, heap, first } = heapOf();
  const blocks = [10, 20, 30, 40, 50, 60, 70].map((units) =>
    heap.carve(heap.find(0, 0, units), 0, units)
  );
  assertEquals(blocks[0], first);
  // Every other block: none joins another.
  const freed = [blocks[4]!, blocks[0]!, blocks[2]!];
  for (const [index, block] of freed.entries()) heap.release(block, 1, index + 1, 7 - index);
  const listed = () => {
    const list = [];
    for (let block = heap.oldest(1); block !== 0; block = heap.younger(block)) {
      list.push([table.units(block), table.field(block, EPOCH), table.field(block, TICK)]);
    }
    return list;
  };
  assertEquals(listed(), [[50, 1, 7], [10, 2, 6], [30, 3, 5]]);
  heap.carve(freed[0]!, 0, 8);
  heap.carve(freed[2]!, 5, 5);
  assertEquals(listed(), [[42, 1, 7], [10, 2, 6], [5, 3, 5], [20, 3, 5]]);
  // Joined blocks are as young as the youngest of them.
  heap.release(blocks[1]!, 1, 9, 9);
  assertEquals(listed(), [[42, 1, 7], [20, 3, 5], [35, 9, 9]]);
  assertEquals([heap.latestEpoch[1], heap.freeUnits[1]], [9, 97]);
});

/** A range of mapped blocks of these sizes, the odd ones live, with nothing mapped behind them. */
function mappedRange(kind: number, sizes: readonly number[]) {
  const table = new BlockTable();
  const heap = new FreeBlocks(table);
  heap.addOwner(0);
  const blocks = [table.create(BASE, sizes.reduce((sum, units) => sum + units, 1000), kind)];
  for (const units of sizes) blocks.push(table.split(blocks.at(-1)!, units));
  blocks.forEach((block, index) => {
    const isBehind = index === sizes.length;
    table.ints[(block << RECORD_SHIFT) + STATE] = isBehind ? UNMAPPED : LIVE;
  });
  for (let index = 0; index < sizes.length; index += 2) heap.release(blocks[index]!, 0, 0, 0);
  return { table, heap, blocks };
}

Deno.test("`FreeBlocks.find()` takes the block at the end of mapped memory last", () => {
  const { heap, blocks } = mappedRange(1, [80, 1, 60, 1, 50]);
  assertEquals(heap.find(0, 1, 40), blocks[2], "60 units, and not the 50 at the end");
  assertEquals(heap.find(0, 1, 40), blocks[2], "the block at the end is listed as before");
  assertEquals(heap.find(0, 1, 61), blocks[0]);
  for (const block of [0, 2]) heap.take(blocks[block]!);
  assertEquals([heap.find(0, 1, 50), heap.find(0, 1, 51)], [blocks[4], 0]);
});

function setUp(maxCachedBuffers = 64) {
  const upstream = new StrictUpstream({ completion: "explicit" });
  const core = new BlockPool(upstream, poolSettings({ maxCachedBuffers }));
  const streams = [upstream.createStream(), upstream.createStream()];
  return { upstream, core, streams, cached: () => core.stats().cached };
}

Deno.test("the last large block stays cached until another request", () => {
  const { core, streams: [stream], cached, upstream } = setUp();
  const bytes = 5 * 2 ** 20;
  const block = core.allocate(bytes, stream!);
  core.free(block);
  assertEquals(cached(), bytes);
  assertEquals(core.allocate(bytes, stream!), block);
  core.free(block);
  const other = core.allocate(2 * 2 ** 20, stream!);
  assertEquals(cached(), 0, "the other request found it among its neighbours");
  const address = core.addressOf(other);
  checkPool(core, upstream, [{ block: other, address, bytes: 2 * 2 ** 20, alignment: 512 }]);
});

Deno.test("a large block is not cached after another was allocated or freed", () => {
  const { core, streams: [stream], cached } = setUp();
  const bytes = 5 * 2 ** 20;
  const take = () => core.allocate(bytes, stream!);
  const [first, second, third] = [take(), take(), take()];
  core.free(first!);
  assertEquals(cached(), 0, "others were taken since");
  core.free(third!);
  assertEquals(cached(), 0, "the first was freed since");
  const [low, high] = [take(), take()];
  assertEquals(low, first, "the lowest of equally good places");
  core.free(high!);
  assertEquals(cached(), bytes);
  core.free(low!);
  assertEquals(cached(), 0);
  assertEquals(core.stats().cacheHits, 0);
  core.free(second!);
  const small = core.allocate(1000, stream!);
  const before = take();
  core.free(small);
  core.free(before);
  assertEquals(cached(), bytes + 1024, "small ones have no part in it");
});
