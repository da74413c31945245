// Pieces of a mapping, against an array that says of each granule which piece it is of.

import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { PieceMap } from "../../../src/memory/pool/segment.ts";

const GRANULES = 200;

/** The whole pieces of a range, found by looking at every granule. */
function wholePieces(pieces: readonly number[], first: number, end: number) {
  const isInside = (piece: number) =>
    pieces.every((each, granule) => each !== piece || (granule >= first && granule < end));
  const inside = [];
  for (let granule = first; granule < end; granule++) {
    if (isInside(pieces[granule]!)) inside.push(granule);
  }
  return inside;
}

Deno.test("whole pieces are all that lie in a range, and as many from its end as are wanted", () => {
  const operation = fc.record({
    start: fc.nat(GRANULES - 1),
    count: fc.integer({ min: 1, max: 40 }),
    perPiece: fc.integer({ min: 1, max: 12 }),
    most: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constant(Infinity)),
  });
  fc.assert(fc.property(fc.array(operation, { minLength: 1, maxLength: 30 }), (operations) => {
    const map = new PieceMap();
    // The number of each granule's piece, 0 for none.
    const pieces = new Array<number>(GRANULES).fill(0);
    let last = 0;
    for (const { start, count, perPiece, most } of operations) {
      let end = start;
      while (end < GRANULES && end - start < count && pieces[end] === 0) end++;
      if (end > start) {
        map.map(start, end - start, perPiece);
        for (let granule = start; granule < end; granule++) {
          if ((granule - start) % perPiece === 0) last++;
          pieces[granule] = last;
        }
        continue;
      }
      // It is mapped: take whole pieces of the mapped range that it is in.
      let low = start;
      while (low > 0 && pieces[low - 1] !== 0 && start - low < count) low--;
      let high = start;
      while (high < GRANULES && pieces[high] !== 0 && high - start < count) high++;
      const all = wholePieces(pieces, low, high);
      const whole = map.wholePieces(low, high, most);
      const taken = all.filter((granule) => granule >= whole.first && granule < whole.end);
      assertEquals(taken.length, whole.end - whole.first, "granules that are of no whole piece");
      if (all.length <= most) assertEquals(taken, all);
      else {
        assert(taken.length >= most && taken.at(-1) === all.at(-1));
        // One piece less would not be enough.
        const firstPiece = pieces.filter((piece) => piece === pieces[whole.first]).length;
        assert(taken.length - firstPiece < most);
      }
      map.unmap(whole.first, whole.end - whole.first);
      pieces.fill(0, whole.first, whole.end);
    }
  }));
});

Deno.test("a range inside of one piece has no whole one", () => {
  const map = new PieceMap();
  map.map(0, 10, 10);
  for (const [first, end] of [[0, 9], [1, 10], [4, 5], [3, 3]] as const) {
    const whole = map.wholePieces(first, end, Infinity);
    assertEquals(whole.end - whole.first, 0);
  }
  assertEquals(map.wholePieces(0, 10, 1), { first: 0, end: 10 });
});

Deno.test("granules far out are as good as the first", () => {
  const map = new PieceMap();
  map.map(100_000, 7, 3);
  assertEquals(map.wholePieces(100_000, 100_007, Infinity), { first: 100_000, end: 100_007 });
  assertEquals(map.wholePieces(100_001, 100_007, Infinity), { first: 100_003, end: 100_007 });
  assertEquals(map.wholePieces(100_000, 100_006, 2), { first: 100_003, end: 100_006 });
});
