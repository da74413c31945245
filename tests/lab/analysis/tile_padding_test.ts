import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { bankConflicts, paddingFor, type SharedTile } from "../../../src/lab/analysis/mod.ts";

Deno.test("reports name the request and the bank that conflict most", () => {
  const indices = new Uint32Array(96);
  for (let lane = 0; lane < 32; lane++) {
    indices[lane] = lane;
    indices[32 + lane] = 2 * lane;
    indices[64 + lane] = 32 * lane + 5;
  }
  const counts = { requests: 3, wavefronts: 35, idealWavefronts: 3, conflicts: 32 };
  assertEquals(bankConflicts(indices), { ...counts, degree: 32, worstRequest: 2, worstBank: 5 });
  assertEquals(bankConflicts(indices, { offset: 4 }), {
    ...{ ...counts, degree: 32, worstRequest: 2, worstBank: 6 },
  });
  assertEquals(bankConflicts([]), {
    ...{ requests: 0, wavefronts: 0, idealWavefronts: 0, conflicts: 0 },
    ...{ degree: 0, worstRequest: null, worstBank: null },
  });
  assertEquals(bankConflicts([1, 1, 1]).worstBank, null);
});

Deno.test("wavefronts of all widths are those of sets of words, at any offset", () => {
  const widths = fc.constantFrom(1, 2, 4, 8, 12, 16);
  const index = fc.oneof(fc.nat(200), fc.nat(2 ** 31), fc.integer({ min: 2 ** 45, max: 2 ** 46 }));
  fc.assert(
    fc.property(
      widths,
      fc.array(index, { maxLength: 100 }),
      fc.nat(40),
      (width, indices, shift) => {
        const part = width === 12 ? 4 : width;
        const offset = shift * part;
        let wavefronts = 0;
        for (let first = 0; first < indices.length; first += 32) {
          const warp = indices.slice(first, first + 32);
          for (let begin = 0; begin < width; begin += part) {
            const group = 32 / Math.max(1, part / 4);
            for (let lane = 0; lane < warp.length; lane += group) {
              const words = new Set(
                warp.slice(lane, lane + group).flatMap((each) =>
                  Array.from(
                    { length: Math.max(1, part / 4) },
                    (_, word) =>
                      (BigInt(each) * BigInt(width) + BigInt(offset + begin)) / 4n + BigInt(word),
                  )
                ),
              );
              const banks = Map.groupBy(words, (word) => word % 32n);
              wavefronts += Math.max(...[...banks.values()].map(({ length }) => length));
            }
          }
        }
        assertEquals(
          bankConflicts(indices, { elementBytes: width, offset }).wavefronts,
          wavefronts,
        );
      },
    ),
  );
});

Deno.test("a 32 × 32 tile needs one word of padding, or a swizzle of vectors", () => {
  assertEquals(paddingFor({ rows: 32, columns: 32, elementBytes: 4 }), {
    ...{ padding: 1, pitch: 33, bytes: 4224, unpaddedWavefronts: 32 + 32 * 32, wavefronts: 64 },
    ...{ idealWavefronts: 64, gain: 1056 / 64, rowAlignment: 4 },
    swizzle: { bits: 3, base: 2, shift: 3, wavefronts: 32 + 32 * 4 },
  });
});

Deno.test("rows for ldmatrix need 16 bytes of padding, which keeps vectors aligned", () => {
  const tile = { rows: 64, columns: 64, elementBytes: 2, access: { rows: 16, columns: 16 } };
  const { padding, wavefronts, idealWavefronts, rowAlignment, swizzle } = paddingFor(tile);
  assertEquals([padding, wavefronts, rowAlignment, swizzle], [8, idealWavefronts, 16, null]);
});

Deno.test("what conflicts with no padding needs none", () => {
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

Deno.test("no other padding takes fewer wavefronts, and no smaller one as few", () => {
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

Deno.test("tiles and options that are none are refused", () => {
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
