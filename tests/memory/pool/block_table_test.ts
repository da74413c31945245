// Records of blocks: linked in the order of addresses, used again clean, and kept when the table
// grows.

import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import {
  BlockTable,
  LINK,
  LIVE,
  NEXT,
  OWNER,
  PREVIOUS,
  RECORD_SHIFT,
  SEGMENT,
  STATE,
  UNIT,
  UNUSED,
  USED_ELSEWHERE,
} from "../../../src/memory/pool/block_table.ts";

/** The blocks from one on, by their links, having checked that these agree. */
function chain(table: BlockTable, first: number): { address: number; units: number }[] {
  const blocks = [];
  let previous = 0;
  for (let block = first; block !== 0; block = table.field(block, NEXT)) {
    assertEquals(table.field(block, PREVIOUS), previous);
    blocks.push({ address: table.address(block), units: table.units(block) });
    previous = block;
  }
  return blocks;
}

Deno.test("a record that is used again has nothing of who had it before", () => {
  const table = new BlockTable();
  const block = table.create(1024, 2, 5);
  const at = block << RECORD_SHIFT;
  table.ints.fill(-1, at, at + 12);
  table.recycle(block);
  assertEquals([table.size, table.state(block)], [0, UNUSED]);
  assertEquals(table.create(2048, 3, 4), block);
  assertEquals([table.address(block), table.units(block), table.requested(block)], [2048, 3, 0]);
  for (const field of [STATE, PREVIOUS, NEXT, LINK, OWNER]) {
    assertEquals(table.field(block, field), 0);
  }
  assertEquals([table.field(block, SEGMENT), table.size], [4, 1]);
});

Deno.test("a block's flags are no part of its state", () => {
  const table = new BlockTable();
  const block = table.create(0, 1, 0);
  table.ints[(block << RECORD_SHIFT) + STATE] = LIVE | USED_ELSEWHERE;
  assertEquals(table.state(block), LIVE);
});

Deno.test("a table that grows keeps all of its records, with addresses beyond 2^32", () => {
  const table = new BlockTable(4);
  const blocks = Array.from({ length: 1000 }, (_, index) => {
    return table.create(2 ** 47 + index * UNIT, index + 1, index);
  });
  assertEquals([new Set(blocks).size, table.size, blocks.includes(0)], [1000, 1000, false]);
  for (const [index, block] of blocks.entries()) {
    assertEquals(
      [table.address(block), table.units(block), table.field(block, SEGMENT)],
      [2 ** 47 + index * UNIT, index + 1, index],
    );
  }
});

Deno.test("splitting and absorbing in any order leaves blocks that cover the same addresses", () => {
  const operation = fc.record({
    absorbs: fc.boolean(),
    which: fc.nat(10_000),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
    const table = new BlockTable(2);
    const first = table.create(2 ** 40, 1000, 7);
    const model = [{ address: 2 ** 40, units: 1000 }];
    for (const { absorbs, which, part } of operations) {
      const index = which % model.length;
      let block = first;
      for (let count = 0; count < index; count++) block = table.field(block, NEXT);
      const { address, units } = model[index]!;
      const next = model[index + 1];
      if (absorbs && next !== undefined) {
        table.absorbNext(block);
        model.splice(index, 2, { address, units: units + next.units });
      } else if (!absorbs && units > 1) {
        const kept = 1 + Math.floor(part * (units - 2));
        const rest = table.split(block, kept);
        assertEquals(table.field(rest, SEGMENT), 7);
        const behind = { address: address + kept * UNIT, units: units - kept };
        model.splice(index, 1, { address, units: kept }, behind);
      }
      assertEquals(chain(table, first), model);
      assertEquals(table.size, model.length);
    }
  }));
});
