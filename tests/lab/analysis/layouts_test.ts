import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  type DataLayout,
  firstTouchLayout,
  type IndexArray,
  structureOfArraysLayout,
  tiledLayout,
  transposedLayout,
  zOrderLayout,
} from "../../../src/lab/analysis/mod.ts";
import { KINDS } from "./typed_array_kinds.ts";

/** Extents where blocks, squares, words and tiles begin and end. */
const extent = fc.oneof(
  fc.nat(20),
  fc.constantFrom(0, 1, 2, 3, 4, 7, 8, 9, 31, 61, 63, 64, 65, 67, 127, 128, 130),
);

const layout: fc.Arbitrary<DataLayout> = fc.oneof(
  fc.tuple(extent, extent, fc.nat(3)).map(([rows, columns, behind]) =>
    transposedLayout({ rows, columns }, rows * columns + behind)
  ),
  fc.tuple(extent, fc.integer({ min: 1, max: 9 })).map(([records, elements]) =>
    structureOfArraysLayout(elements, records * elements)
  ),
  fc.record({
    ...{ rows: extent, columns: extent, behind: fc.nat(3) },
    ...{ tileRows: fc.integer({ min: 1, max: 40 }), tileColumns: fc.integer({ min: 1, max: 40 }) },
  }).map(({ rows, columns, tileRows, tileColumns, behind }) =>
    tiledLayout(
      { rows, columns },
      { rows: tileRows, columns: tileColumns },
      rows * columns + behind,
    )
  ),
  fc.tuple(extent, extent, fc.nat(3)).map(([rows, columns, behind]) =>
    zOrderLayout({ rows, columns }, rows * columns + behind)
  ),
  fc.tuple(fc.integer({ min: 1, max: 500 }), fc.array(fc.nat(), { maxLength: 600 })).map(
    ([length, touched]) => firstTouchLayout(touched.map((index) => index % length), length),
  ),
);

/** Random bits, as every kind of array can hold them: of floats, numbers that are none as well. */
function randomBits(Kind: typeof KINDS[number], length: number, before: number): IndexArray {
  const width = Kind.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array((length + before) * width);
  for (let i = 0; i < bytes.length; i += 65536) {
    crypto.getRandomValues(bytes.subarray(i, i + 65536));
  }
  return new Kind(bytes.buffer, before * width, length);
}

function bitsOf({ buffer, byteOffset, byteLength }: IndexArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

Deno.test("layouts are one to one, in tables, formulas and moved elements", () => {
  fc.assert(
    fc.property(layout, (each) => {
      const { length } = each;
      const places = each.newIndices();
      const origins = each.oldIndices();
      const moved = each.apply(Uint32Array.from({ length }, (_, index) => index));
      assertEquals(moved, origins);
      for (let index = 0; index < length; index++) {
        if (origins[places[index]!] !== index) return false;
      }
      const all = Uint32Array.from({ length }, (_, index) => index);
      assertEquals(each.rewrite(all), places);
      if (length > 0) {
        const last = length - 1;
        assertEquals([each.newIndex(last), each.oldIndex(last)], [places[last], origins[last]]);
      }
      return true;
    }),
    { numRuns: 200 },
  );
});

Deno.test("`undo()` restores every kind of data bit for bit", () => {
  fc.assert(
    fc.property(layout, fc.constantFrom(...KINDS), fc.nat(3), (each, Kind, before) => {
      const data = randomBits(Kind, each.length, before);
      const original = bitsOf(data).slice();
      const moved = each.apply(data);
      assertEquals(moved.constructor, Kind);
      const width = Kind.BYTES_PER_ELEMENT;
      const [from, to] = [bitsOf(data), bitsOf(moved)];
      const origins = each.oldIndices();
      for (let i = 0; i < to.length; i++) {
        const element = Math.floor(i / width);
        if (to[i] !== from[origins[element]! * width + i % width]) return false;
      }
      assertEquals(bitsOf(each.undo(moved)), original);
      assertEquals(bitsOf(data), original);
      return true;
    }),
    { numRuns: 300 },
  );
});

/** Rows and columns in the order of their Morton codes, found by sorting. */
function sortedByCode(rows: number, columns: number): number[] {
  const codeOf = (index: number) => {
    const [row, column] = [Math.floor(index / columns), index % columns];
    let code = 0;
    for (let bit = 0; bit < 20; bit++) {
      code += ((column >> bit) & 1) * 4 ** bit + ((row >> bit) & 1) * 2 * 4 ** bit;
    }
    return code;
  };
  return Array.from({ length: rows * columns }, (_, index) => index)
    .sort((a, b) => codeOf(a) - codeOf(b));
}

Deno.test("`zOrderLayout()` follows Morton codes for any extents", () => {
  for (const [rows, columns] of [[8, 8], [16, 8], [7, 13], [1, 100], [100, 1], [33, 65]] as const) {
    assertEquals([...zOrderLayout({ rows, columns }).oldIndices()], sortedByCode(rows, columns));
  }
});

Deno.test("layouts with a formula hold beyond 2^32 elements", () => {
  const rows = 2 ** 21 + 1;
  const columns = 2 ** 20 + 7;
  for (
    const layout of [
      transposedLayout({ rows, columns }),
      tiledLayout({ rows, columns }, { rows: 8, columns: 100 }),
      zOrderLayout({ rows, columns }),
    ]
  ) {
    for (const index of [0, 1, columns, 2 ** 32, 2 ** 40 + 12345, rows * columns - 1]) {
      assertEquals(layout.oldIndex(layout.newIndex(index)), index, `${layout.kind} ${index}`);
    }
  }
  const square = zOrderLayout({ rows: 2 ** 26, columns: 2 ** 26 });
  assertEquals(square.newIndex(2 ** 52 - 1), 2 ** 52 - 1);
  assertEquals(square.newIndex(2 ** 51), 2 ** 51);
  assertEquals(square.newIndex(2 ** 25), 2 ** 50);
});

Deno.test("`apply()` fills and returns the target when one is given", () => {
  const layout = tiledLayout({ rows: 6, columns: 6 }, { rows: 2, columns: 3 });
  const data = Float64Array.from({ length: 36 }, (_, index) => index);
  const into = new Float64Array(36).fill(-1);
  assert(layout.apply(data, into) === into);
  assertEquals(layout.undo(into), data);
  const numbers: Int16Array = Int16Array.from(data);
  const shared: Int16Array = new Int16Array(new SharedArrayBuffer(72));
  assertEquals(layout.apply(numbers, shared), layout.apply(numbers));
});
