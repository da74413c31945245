import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { bankConflicts, paddingFor, type SharedTile } from "../../../src/lab/analysis/mod.ts";

Deno.test("`paddingFor()` pads a 32 × 32 tile by one word", () => {
  assertEquals(paddingFor({ rows: 32, columns: 32, elementBytes: 4 }), {
    ...{ padding: 1, pitch: 33, bytes: 4224, unpaddedWavefronts: 32 + 32 * 32, wavefronts: 64 },
    ...{ idealWavefronts: 64, gain: 1056 / 64, rowAlignment: 4 },
    swizzle: { bits: 3, base: 2, shift: 3, wavefronts: 32 + 32 * 4 },
  });
});

Deno.test("`paddingFor()` pads rows for ldmatrix by 16 bytes", () => {
  const tile = { rows: 64, columns: 64, elementBytes: 2, access: { rows: 16, columns: 16 } };
  const { padding, wavefronts, idealWavefronts, rowAlignment, swizzle } = paddingFor(tile);
  assertEquals([padding, wavefronts, rowAlignment, swizzle], [8, idealWavefronts, 16, null]);
});

Deno.test("`paddingFor()` adds nothing when no bank conflicts", () => {
  assertEquals(
    paddingFor({ rows: 32, columns: 33, elementBytes: 4, access: { rows: 0 } }).padding,
    0,
  );
  assertEquals(paddingFor({ rows: 0, columns: 32, elementBytes: 4 }).gain, 1);
  assertEquals(paddingFor({ rows: 8, columns: 0, elementBytes: 4 }).wavefronts, 0);
  assertEquals(
    paddingFor({ rows: 32, columns: 32, elementBytes: 4, access: { columns: 0 } }).padding,
    0,
  );
});

/** Wavefronts of a walk over all of a tile by the public counter. */
function walked(
  tile: SharedTile,
  place: (row: number, column: number) => number,
  isByRow: boolean,
) {
  const { rows, columns, elementBytes } = tile;
  const indices = Array.from(
    { length: rows * columns },
    (_, i) =>
      isByRow ? place(Math.floor(i / columns), i % columns) : place(i % rows, Math.floor(i / rows)),
  );
  return bankConflicts(indices, { elementBytes }).wavefronts;
}

Deno.test("`paddingFor()` returns the least padding with the fewest wavefronts", () => {
  const extent = fc.integer({ min: 1, max: 40 });
  const bytes = fc.constantFrom(1, 2, 4, 8, 16);
  fc.assert(
    fc.property(extent, extent, bytes, (rows, columns, elementBytes) => {
      const tile = { rows, columns, elementBytes };
      const found = paddingFor(tile);
      const costs = Array.from({ length: 128 / elementBytes }, (_, padding) => {
        const place = (row: number, column: number) => row * (columns + padding) + column;
        return walked(tile, place, true) + walked(tile, place, false);
      });
      const least = Math.min(...costs);
      assertEquals([found.wavefronts, found.padding], [least, costs.indexOf(least)]);
      assertEquals(found.unpaddedWavefronts, costs[0]);
      const { swizzle } = found;
      if (swizzle === null) return;
      const { bits, base, shift } = swizzle;
      const place = (row: number, column: number) => {
        const index = row * columns + column;
        return index ^ (index >> shift & (2 ** bits - 1 << base));
      };
      assertEquals(walked(tile, place, true) + walked(tile, place, false), swizzle.wavefronts);
      const places = new Set<number>();
      for (let i = 0; i < rows * columns; i++) {
        places.add(place(Math.floor(i / columns), i % columns));
      }
      assertEquals([places.size, Math.max(...places)], [rows * columns, rows * columns - 1]);
    }),
    { numRuns: 40 },
  );
});

Deno.test("`paddingFor()` and `bankConflicts()` throw when an argument is not allowed", () => {
  const tile = { rows: 4, columns: 4, elementBytes: 4 };
  const refused = (change: object, message: string, kind = RangeError) =>
    assertThrows(() => paddingFor({ ...tile, ...change }), kind, message);
  refused({ rows: -1 }, "Cannot pad a tile as rows must be an integer in 0..262144: it is -1");
  refused({ columns: 1.5 }, "columns must be an integer");
  refused({ elementBytes: 12 }, "elementBytes must be one of 1, 2, 4, 8, 16: it is 12");
  refused({ rows: 1000, columns: 1000 }, "at most 262144 bytes: it has 1000 × 1000 × 4");
  refused({ access: { rows: 2 } }, "access.rows must be one of 0, 4, 8, 16: it is 2");
  refused({ columns: 3, access: { columns: 16 } }, "must divide the 12 bytes of a row: it is 16");
  refused({ access: 7 }, "access must be an object: it is 7", TypeError);
  assertThrows(() => paddingFor(null as never), TypeError, "tile must be an object: it is null");
  const conflicts = (options: object, message: string, kind = RangeError) =>
    assertThrows(() => bankConflicts([0], options), kind, message);
  conflicts({ elementBytes: 3 }, "Cannot count bank conflicts as elementBytes must be one of");
  conflicts({ offset: 2 }, "offset must be a multiple of 4 bytes: it is 2");
  conflicts({ offset: -4 }, "offset must be an integer in 0");
  conflicts({ elementBytes: "4" }, "it is a string", TypeError);
  assertThrows(() => bankConflicts([0.5]), RangeError, "the index at position 0");
  assertThrows(() => bankConflicts(7 as never), TypeError, "typed array or iterable: it is 7");
});
