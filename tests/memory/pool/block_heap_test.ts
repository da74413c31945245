// Free blocks, against a model that knows of each unit who has it: they join at once, split without
// loss, and keep the order in which they were freed.

import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { BlockHeap } from "../../../src/memory/pool/block_heap.ts";
import {
  BlockTable,
  EPOCH,
  FREE,
  LIVE,
  NEXT,
  OWNER,
  RECORD_SHIFT,
  STATE,
  TICK,
  UNIT,
  UNMAPPED,
} from "../../../src/memory/pool/block_table.ts";

const SEGMENT_UNITS = 400;
const BASE = 2 ** 30;
const OWNERS = 3;

/** A heap of one segment, which is free for owner 0. */
function heapOf(units = SEGMENT_UNITS) {
  const table = new BlockTable(2);
  const heap = new BlockHeap(table);
  for (let owner = 0; owner < OWNERS; owner++) heap.addOwner(owner);
  const first = table.create(BASE, units, 0);
  table.ints[(first << RECORD_SHIFT) + STATE] = LIVE;
  heap.release(first, 0, 0, 0);
  return { table, heap, first };
}

function blocksFrom(table: BlockTable, first: number): number[] {
  const blocks = [];
  for (let block = first; block !== 0; block = table.field(block, NEXT)) blocks.push(block);
  return blocks;
}

/** Compares a heap with what the model says of each unit: an owner, or −1 for a live one. */
function check(table: BlockTable, heap: BlockHeap, first: number, units: readonly number[]): void {
  const blocks = blocksFrom(table, first);
  let at = 0;
  let before = -1;
  for (const block of blocks) {
    const isFree = table.state(block) === FREE;
    const owner = isFree ? table.field(block, OWNER) : -1;
    const covered = units.slice(at, at + table.units(block));
    assert(covered.every((unit) => unit === owner), "a block covers units of others");
    assert(!isFree || owner !== before, "neighbours have not joined");
    before = owner;
    at += covered.length;
  }
  assertEquals(at, units.length);
  for (let owner = 0; owner < OWNERS; owner++) {
    assertEquals(heap.freeUnits[owner], units.filter((unit) => unit === owner).length);
    const listed: number[] = [];
    for (let block = heap.oldest(owner); block !== 0; block = heap.younger(block)) {
      listed.push(block);
    }
    const own = blocks.filter((block) =>
      table.state(block) === FREE && table.field(block, OWNER) === owner
    );
    assertEquals(listed.toSorted(), own.toSorted());
  }
  const free = blocks.filter((block) => table.state(block) === FREE).length;
  const whole = blocks.length === 1 && free === 1 ? 1 : 0;
  assertEquals([heap.blocks[0], heap.wholeBlocks[0]], [free, whole]);
  assertEquals(heap.wholeUnits[0], whole * units.length);
}

Deno.test("carving, releasing and adopting in any order lose no unit and join all neighbours", () => {
  const operation = fc.record({
    kind: fc.constantFrom("carve", "carve", "release", "release", "adopt", "take"),
    owner: fc.nat(OWNERS - 1),
    units: fc.integer({ min: 1, max: 60 }),
    skip: fc.nat(6),
    pick: fc.nat(),
  });
  fc.assert(fc.property(fc.array(operation, { maxLength: 80, size: "max" }), (operations) => {
    const { table, heap, first } = heapOf();
    const model = new Array<number>(SEGMENT_UNITS).fill(0);
    const live: number[] = [];
    const place = (block: number) => (table.address(block) - BASE) / UNIT;
    const mark = (from: number, count: number, who: number) => model.fill(who, from, from + count);
    let epoch = 0;
    for (const { kind, owner, units, skip, pick } of operations) {
      epoch++;
      const found = heap.find(owner, 0, units + skip);
      if (kind === "carve" && found !== 0) {
        const from = place(found) + skip;
        const carved = heap.carve(found, skip, units);
        assertEquals([place(carved), table.units(carved)], [from, units]);
        mark(from, units, -1);
        live.push(carved);
      } else if (kind === "release" && live.length > 0) {
        const [block] = live.splice(pick % live.length, 1);
        mark(place(block!), table.units(block!), owner);
        const merged = heap.release(block!, owner, epoch, epoch);
        assertEquals([table.field(merged, EPOCH), table.field(merged, TICK)], [epoch, epoch]);
      } else if (kind === "adopt" && found !== 0) {
        const from = place(found);
        const other = (owner + 1) % OWNERS;
        heap.adopt(found, units, other, epoch);
        mark(from, units, other);
      } else if (kind === "take" && found !== 0) {
        heap.take(found);
        table.ints[(found << RECORD_SHIFT) + STATE] = LIVE;
        mark(place(found), table.units(found), -1);
        live.push(found);
      }
      check(table, heap, first, model);
    }
    for (const block of live) heap.release(block, 0, epoch, epoch);
    for (const owner of [1, 2]) {
      while (heap.oldest(owner) !== 0) {
        const block = heap.oldest(owner);
        heap.adopt(block, table.units(block), 0, epoch);
      }
    }
    check(table, heap, first, model.fill(0));
    assertEquals(table.size, 1);
  }));
});

Deno.test("blocks are listed in the order in which they were freed, and what is left of one stays", () => {
  const { table, heap, first } = heapOf();
  const blocks = [10, 20, 30, 40, 50, 60, 70].map((units) =>
    heap.carve(heap.find(0, 0, units), 0, units)
  );
  assertEquals(blocks[0], first);
  // Every other one, so that none joins another.
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

Deno.test("what is skipped leads to a multiple of the alignment", () => {
  const table = new BlockTable();
  const heap = new BlockHeap(table);
  const block = table.create(2 ** 40 + 3 * UNIT, 1, 0);
  const skips = [512, 1024, 2048, 4096, 2 ** 21].map((alignment) => heap.skipFor(block, alignment));
  assertEquals(skips, [0, 1, 1, 5, 4093]);
  assertEquals(heap.skipFor(table.create(2 ** 30, 1, 0), 2 ** 30), 0);
});

/** A range of mapped blocks of these sizes, the odd ones live, with nothing mapped behind them. */
function mappedRange(kind: number, sizes: readonly number[]) {
  const table = new BlockTable();
  const heap = new BlockHeap(table);
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

Deno.test("the large block at the end of what is mapped is taken only where no other fits", () => {
  const { heap, blocks } = mappedRange(1, [80, 1, 60, 1, 50]);
  assertEquals(heap.find(0, 1, 40), blocks[2], "60 units, and not the 50 at the end");
  assertEquals(heap.find(0, 1, 40), blocks[2], "the block at the end is listed as before");
  assertEquals(heap.find(0, 1, 61), blocks[0]);
  for (const block of [0, 2]) heap.take(blocks[block]!);
  assertEquals([heap.find(0, 1, 50), heap.find(0, 1, 51)], [blocks[4], 0]);
});

Deno.test("a hole further down is no end, and small blocks are not told apart", () => {
  const { table, heap, blocks } = mappedRange(1, [80, 1, 60, 1, 50]);
  table.ints[(blocks[3]! << RECORD_SHIFT) + STATE] = UNMAPPED;
  heap.take(blocks[0]!);
  assertEquals(heap.find(0, 1, 40), blocks[2]);
  const small = mappedRange(0, [80, 1, 60, 1, 50]);
  assertEquals(small.heap.find(0, 0, 40), small.blocks[4]);
});

Deno.test("of large blocks of the same size the lowest is taken, of small ones the last", () => {
  for (const kind of [0, 1]) {
    const { heap, blocks } = mappedRange(kind, [64, 1, 64, 1, 64, 1, 64]);
    assertEquals(heap.find(0, kind, 64), blocks[kind === 0 ? 6 : 0]);
  }
});

Deno.test("the largest of an owner is of either kind", () => {
  const { table, heap } = heapOf(100);
  const large = table.create(2 ** 40, 99, 3);
  table.ints[(large << RECORD_SHIFT) + STATE] = LIVE;
  heap.release(large, 0, 0, 0);
  assertEquals(table.units(heap.largest(0)), 100);
  heap.carve(heap.find(0, 0, 100), 0, 50);
  assertEquals([heap.largest(0), heap.largest(1)], [large, 0]);
  assertEquals([heap.find(0, 1, 60), heap.find(0, 0, 60)], [large, 0]);
});
