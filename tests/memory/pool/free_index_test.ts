// Free blocks by size, against a plain list: what fits is found whenever there is any, and it is
// nearly the smallest that fits.

import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { BlockTable } from "../../../src/memory/pool/block_table.ts";
import { FreeIndex } from "../../../src/memory/pool/free_index.ts";

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

/** Checks what is found for a size against the list. */
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
  // All of its own bin was looked at, so that a block of it is the best.
  if (best <= most) return assertEquals(size, best);
  assert(size <= binOf(best)[1], `found ${size} for ${units} where there is ${best}`);
}

Deno.test("however many blocks of nearly its size do not fit, a request is answered soon", () => {
  const table = new BlockTable();
  const index = new FreeIndex(table);
  index.ensure(0);
  // All in the bin of what is asked for, and too small by one.
  const add = (units: number) => {
    const block = table.create(0, units, 0);
    index.insert(0, block);
    return block;
  };
  for (let count = 0; count < 100_000; count++) add(6144);
  const timeOf = (wanted: number) => {
    const begin = performance.now();
    for (let count = 0; count < 100; count++) assertEquals(index.find(0, 6145), wanted);
    return performance.now() - begin;
  };
  timeOf(0);
  assert(timeOf(0) < 25, "all of them are looked at, which takes 100 ms and more");
  // What was freed lately is found all the same.
  const fits = add(6145);
  for (let count = 0; count < 1000; count++) add(6144);
  timeOf(fits);
});

const size = fc.oneof(
  fc.integer({ min: 1, max: 70 }),
  fc.integer({ min: 1, max: 5000 }),
  fc.integer({ min: 1, max: MOST }),
  fc.constantFrom(31, 32, 33, 63, 64, 65, 2047, 2048, 2049, 2 ** 30, MOST),
);

Deno.test("a block that fits is found whenever there is one, and a near one", () => {
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

Deno.test("of a full bin whose first blocks are too small, a larger one is still found", () => {
  const table = new BlockTable();
  const index = new FreeIndex(table);
  index.ensure(0);
  // 2048 to 2111 units are one bin; the latest inserted is looked at first.
  const fitting = table.create(0, 2111, 0);
  index.insert(0, fitting);
  for (let count = 0; count < 1000; count++) index.insert(0, table.create(0, 2048, 0));
  assertEquals(index.find(0, 2100), fitting, "nothing else fits");
  const larger = table.create(0, 5000, 0);
  index.insert(0, larger);
  assertEquals(index.find(0, 2100), larger, "not a thousand blocks are looked at");
  assertEquals(index.find(0, 5001), 0);
});

Deno.test("of equally small blocks the last that came is found, or that with the lowest address", () => {
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

Deno.test("sets are apart, and room for more of them leaves those there are", () => {
  const table = new BlockTable();
  const index = new FreeIndex(table);
  index.ensure(0);
  const block = table.create(0, 100, 0);
  index.insert(0, block);
  index.ensure(50);
  assertEquals([index.find(0, 100), index.find(50, 1), index.largest(50)], [block, 0, 0]);
});

Deno.test("sizes beyond 32 bits are found nowhere", () => {
  const table = new BlockTable();
  const index = new FreeIndex(table);
  index.ensure(3);
  for (const set of [0, 1, 2, 3]) index.insert(set, table.create(0, MOST, 0));
  for (const units of [2 ** 31, 2 ** 32, 2 ** 32 + 5, 2 ** 44]) {
    assertEquals(index.find(1, units), 0, `${units}`);
  }
});
