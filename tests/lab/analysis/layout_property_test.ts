// What `optimizeLayout()` promises, of generated data and accesses: a layout is taken only if the
// accesses are better in it, finds every value where it is said to be, and can be undone bit by bit.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  analyzeAccess,
  type DataArray,
  type LayoutKind,
  type LayoutOptions,
  optimizeLayout,
} from "../../../src/lab/analysis/mod.ts";
import { KINDS } from "./typed_array_kinds.ts";

/** A number that is scattered over 32 bits, the same for the same number. */
function scattered(value: number): number {
  const mixed = Math.imul(value ^ value >>> 15, 0x9e3779b1);
  return Math.imul(mixed ^ mixed >>> 13, 0x85ebca6b) >>> 0;
}

/** Data whose bytes are arbitrary: floats that are no numbers are among them. */
function dataOf(kind: number, length: number, isMoved: boolean): DataArray {
  const Kind = KINDS[kind]!;
  const begin = isMoved ? Kind.BYTES_PER_ELEMENT : 0;
  const bytes = Uint8Array.from(
    { length: length * Kind.BYTES_PER_ELEMENT + begin },
    (_, i) => scattered(i),
  );
  return new Kind(bytes.buffer, begin, length);
}

/** Ways to access a matrix of so many rows and columns; of those beyond it the remainder is taken. */
const WAYS: readonly ((i: number, rows: number, columns: number) => number)[] = [
  (i) => i,
  (_, rows) => rows,
  (i) => 3 * i,
  (i, _, columns) => i * columns,
  (i, rows, columns) => i % rows * columns + Math.floor(i / rows),
  (i, rows, columns) => rows * columns - 1 - (2 * i) % (rows * columns),
  (i) => scattered(i),
  (i) => scattered(i % 50),
  (i, _, columns) => Math.floor(i % 32 / 8) * columns + i % 8 + 8 * Math.floor(i / 32),
  (i) => i % 2 === 0 ? i : 0,
];

const situation = fc.record({
  kind: fc.nat(KINDS.length - 1),
  rows: fc.constantFrom<number[]>(0, 1, 2, 7, 31, 32, 33, 64, 97),
  columns: fc.constantFrom<number[]>(1, 2, 5, 13, 32, 33, 64, 101),
  behind: fc.constantFrom<number[]>(0, 0, 1, 5),
  isMoved: fc.boolean(),
  way: fc.nat(WAYS.length - 1),
  count: fc.constantFrom<number[]>(0, 1, 31, 32, 33, 1009, 3000),
  hasShape: fc.boolean(),
  options: fc.record({
    minimumGain: fc.constantFrom(1, 1.05, 2, 8),
    offset: fc.constantFrom(0, 4, 8, 127),
    layouts: fc.constantFrom<LayoutKind[]>(
      ["transposed"],
      ["tiled", "z-order"],
      ["first-touch"],
      [],
    ),
  }, { requiredKeys: [] }),
});

/** Accesses to small tiles, which the two layouts serve that few situations lead to. */
const RARE = [
  { kind: KINDS.indexOf(Int8Array), rows: 33, columns: 64, behind: 0, count: 1009, hasShape: true },
  {
    kind: KINDS.indexOf(Float64Array),
    rows: 97,
    columns: 101,
    behind: 0,
    count: 32,
    hasShape: true,
  },
].map((matrix) => ({
  ...matrix,
  isMoved: false,
  way: 8,
  options: { layouts: ["tiled", "z-order"] as LayoutKind[] },
}));

function bytesOf(array: DataArray): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** The elements at indices, byte by byte. */
function gathered(array: DataArray, indices: Uint32Array): Uint8Array {
  const size = array.BYTES_PER_ELEMENT;
  const bytes = bytesOf(array);
  const result = new Uint8Array(indices.length * size);
  indices.forEach((index, i) =>
    result.set(bytes.subarray(index * size, index * size + size), i * size)
  );
  return result;
}

Deno.test("a layout is better by re-analysis, holds the same values, and can be undone", () => {
  const taken = new Set<string>();
  fc.assert(
    fc.property(situation, ({ kind, rows, columns, behind, way, count, ...rest }) => {
      const length = rows * columns + behind;
      const data = dataOf(kind, length, rest.isMoved);
      const copy = data.slice() as DataArray;
      const indices = Uint32Array.from(
        { length: length === 0 ? 0 : count },
        (_, i) => WAYS[way]!(i, Math.max(1, rows), columns) % length,
      );
      const shape = rest.hasShape && behind === 0 ? { shape: { rows, columns } } : {};
      const options = { ...rest.options, ...shape } as LayoutOptions;
      const result = optimizeLayout(data, indices, options);
      taken.add(result.layout);

      const { minimumGain = 1.05, offset = 0 } = options;
      const how = { elementBytes: data.BYTES_PER_ELEMENT, offset };
      const [before, after] = [analyzeAccess(indices, how), analyzeAccess(result.indices, how)];
      assertEquals([result.before, result.after], [before, after]);
      assert(result.reason !== "");
      if (result.layout === "unchanged") {
        assert(result.data === data);
        assertEquals([result.gain, result.indices], [1, indices]);
      } else {
        assert(result.data !== data && after.sectors < before.sectors, result.reason);
        assert(result.gain >= minimumGain && result.gain === before.sectors / after.sectors);
      }
      assertEquals(bytesOf(data), bytesOf(copy));
      assertEquals(gathered(result.data, result.indices), gathered(data, indices));
      assertEquals(bytesOf(result.undo()), bytesOf(data));
      const [places, origins] = [result.map.newIndices(), result.map.oldIndices()];
      assert(places.every((place, index) => origins[place] === index));

      const again = optimizeLayout(data, indices.slice(), options);
      assertEquals([again.layout, again.reason], [result.layout, result.reason]);
      assertEquals(again.indices, result.indices);
    }),
    { numRuns: 250, examples: RARE.map((each): [typeof each] => [each]) },
  );
  const expected = ["first-touch", "tiled", "transposed", "unchanged", "z-order"];
  assertEquals(expected.filter((layout) => !taken.has(layout)), []);
});

Deno.test("a refusal says what would have been needed", () => {
  const data = new Float32Array(10_000);
  const strided = Uint32Array.from({ length: 960 }, (_, i) => 8 * i);
  const reason = (options: LayoutOptions) => optimizeLayout(data, strided, options).reason;
  assertEquals(
    reason({ minimumGain: 8.5 }),
    "No layout gains enough: a request touches 32 sectors, and at best 4, which is less than 8.5 " +
      "times better.",
  );
  assertEquals(reason({ layouts: [] }), "No layout that may be tried fits the pattern.");
  const sequence = Uint32Array.from({ length: 960 }, (_, i) => i);
  assertEquals(
    optimizeLayout(data, sequence).reason,
    "Nothing is to be gained: a request touches 4 sectors, and fewer would not do.",
  );
  assertEquals(
    optimizeLayout(data, Uint32Array.of(0, 1, 2, 3)).reason,
    "Nothing is to be gained: a request touches 1 sector, and fewer would not do.",
  );
  // As many sectors in every layout are no gain, even where none is asked for.
  const pairs = Uint32Array.from({ length: 31 }, (_, i) => i % 5 + 64 * Math.floor(i / 5));
  const kept = optimizeLayout(new Int32Array(133), pairs.map((index) => index % 133), {
    minimumGain: 1,
    layouts: ["structure-of-arrays"],
    elementsPerRecord: 1,
  });
  assertEquals([kept.layout, kept.gain], ["unchanged", 1]);
});
