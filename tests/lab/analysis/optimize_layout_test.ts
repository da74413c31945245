import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import {
  analyzeAccess,
  type IndexArray,
  type LayoutKind,
  type LayoutOptions,
  optimizeLayout,
} from "../../../src/lab/analysis/mod.ts";
import { KINDS } from "./typed_array_kinds.ts";

const filled = (length: number) => Float32Array.from({ length }, (_, index) => index);
const indicesOf = (length: number, index: (i: number) => number) =>
  Uint32Array.from({ length }, (_, i) => index(i));

/** Optimises, and checks all that must hold whatever comes out. */
function optimized<T extends IndexArray>(data: T, indices: Uint32Array, options?: LayoutOptions) {
  const found = optimizeLayout(data, indices, options);
  const { before, after, map } = found;
  const { minimumGain = 1.05, offset = 0 } = options ?? {};
  const analysis = { elementBytes: data.BYTES_PER_ELEMENT, offset };
  assertEquals(before, analyzeAccess(indices, analysis));
  assertEquals(after, analyzeAccess(found.indices, analysis));
  assertEquals(found.gain, before.sectors === 0 ? 1 : before.sectors / after.sectors);
  assert(found.layout === "unchanged" ? found.gain === 1 : found.gain >= minimumGain, found.reason);
  for (let i = 0; i < indices.length; i++) {
    assert(Object.is(found.data[found.indices[i]!], data[indices[i]!]), `access ${i}`);
  }
  assertEquals(found.undo(), data);
  assertEquals(map.length, data.length);
  assertMatch(found.reason, /\.$/);
  return found;
}

/** The generator of Park and Miller: the same numbers in every run. */
function* random(range: number): Generator<number, never> {
  for (let state = 1;;) yield (state = state * 48271 % 2147483647) % range;
}

Deno.test("`optimizeLayout()` transposes a matrix accessed by columns", () => {
  const down = indicesOf(4096, (i) => i % 64 * 64 + (i >> 6));
  for (const indices of [down, down.toReversed()]) {
    const { layout, gain, after } = optimized(filled(4096), indices);
    assertEquals([layout, gain, after.efficiency], ["transposed", 8, 1]);
  }
});

Deno.test("`optimizeLayout()` separates the fields of records", () => {
  for (const elementsPerRecord of [2, 3, 4, 7, 16]) {
    const records = 1024;
    const { layout, after } = optimized(
      filled(records * elementsPerRecord),
      indicesOf(records, (i) => i * elementsPerRecord + elementsPerRecord - 1),
      { elementsPerRecord },
    );
    assertEquals([layout, after.kind, after.efficiency], ["structure-of-arrays", "sequential", 1]);
  }
});

Deno.test("`optimizeLayout()` tiles a matrix accessed by tiles", () => {
  // Each warp accesses a tile of 8 rows and 4 columns.
  const tiles = indicesOf(256 * 256, (i) => {
    const [tile, lane] = [i >> 5, i & 31];
    return ((tile >> 6) * 8 + (lane >> 2)) * 256 + (tile & 63) * 4 + (lane & 3);
  });
  const { layout, gain, after } = optimized(filled(256 * 256), tiles);
  assertEquals([layout, gain, after.kind], ["tiled", 2, "sequential"]);
});

Deno.test("`optimizeLayout()` takes Z-order for random neighbourhoods", () => {
  // Eight lanes share a neighbourhood of 4 × 2 elements anywhere.
  const places = random(509 * 500);
  const indices = new Uint32Array(8 * 4096);
  for (let i = 0; i < indices.length; i += 8) {
    const place = places.next().value;
    const [row, column] = [Math.floor(place / 500), place % 500];
    for (let k = 0; k < 8; k++) indices[i + k] = (row + (k >> 1)) * 503 + column + (k & 1);
  }
  const options: LayoutOptions = { shape: { rows: 513, columns: 503 }, layouts: ["z-order"] };
  const { layout, gain } = optimized(filled(513 * 503), indices, options);
  assertEquals(layout, "z-order");
  assert(gain > 1.2, `${gain}`);
  const tiled = optimized(filled(513 * 503), indices, {
    ...options,
    layouts: ["tiled", "z-order"],
  });
  assert(tiled.gain >= gain);
});

Deno.test("`optimizeLayout()` takes the order of first access for repeated random accesses", () => {
  const hot = indicesOf(500, () => 0);
  const places = random(100_000);
  for (let i = 0; i < hot.length; i++) hot[i] = places.next().value;
  const indices = indicesOf(20_000, (i) => hot[i % 500]!);
  const { layout, gain, map } = optimized(filled(100_000), indices);
  assertEquals(layout, "first-touch");
  assert(gain > 5, `${gain}`);
  assertEquals(map.newIndex(hot[0]!), 0);
});

Deno.test("`optimizeLayout()` leaves data unchanged when there is no gain", () => {
  const data = filled(4096);
  for (
    const [indices, reason] of [
      [new Uint32Array(0), /no accesses/],
      [indicesOf(4096, (i) => i), /Nothing is to be gained: a request touches 4 sectors/],
      [indicesOf(4096, (i) => 4095 - i), /Nothing/],
      [new Uint32Array(4096), /Nothing/],
    ] as const
  ) {
    const found = optimized(data, indices);
    assertEquals([found.layout, found.data === data], ["unchanged", true]);
    assertMatch(found.reason, reason);
  }
  // Each element once from left to right and once from top to bottom: what one gains, one loses.
  const both = indicesOf(8192, (i) => i < 4096 ? i : i % 64 * 64 + (i - 4096 >> 6));
  const options: LayoutOptions = { shape: { rows: 64, columns: 64 }, layouts: ["transposed"] };
  assertMatch(optimized(data, both, options).reason, /^No layout gains enough/);
  assertMatch(optimized(data, both, { layouts: [] }).reason, /may be tried/);
  const strided = indicesOf(64, (i) => i * 64);
  assertEquals(optimized(data, strided, { minimumGain: 100 }).layout, "unchanged");
});

/** A number that is scattered over 32 bits, the same for the same number. */
function scattered(value: number): number {
  const mixed = Math.imul(value ^ value >>> 15, 0x9e3779b1);
  return Math.imul(mixed ^ mixed >>> 13, 0x85ebca6b) >>> 0;
}

/** Data with arbitrary bytes, NaNs among them. */
function dataOf(kind: number, length: number, isMoved: boolean): IndexArray {
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

Deno.test("`optimizeLayout()` reduces sectors, keeps values and can be undone", () => {
  fc.assert(
    fc.property(situation, ({ kind, rows, columns, behind, way, count, ...rest }) => {
      const length = rows * columns + behind;
      const data = dataOf(kind, length, rest.isMoved);
      const copy = data.slice() as IndexArray;
      const indices = Uint32Array.from(
        { length: length === 0 ? 0 : count },
        (_, i) => WAYS[way]!(i, Math.max(1, rows), columns) % length,
      );
      const shape = rest.hasShape && behind === 0 ? { shape: { rows, columns } } : {};
      const options = { ...rest.options, ...shape } as LayoutOptions;
      const result = optimized(data, indices, options);
      assertEquals(bytesOf(data), bytesOf(copy));
      assertEquals(bytesOf(result.undo()), bytesOf(data));
      const [places, origins] = [result.map.newIndices(), result.map.oldIndices()];
      assert(places.every((place, index) => origins[place] === index));
      const again = optimizeLayout(data, indices.slice(), options);
      assertEquals([again.layout, again.reason], [result.layout, result.reason]);
      assertEquals(again.indices, result.indices);
    }),
    { numRuns: 250 },
  );
});

function bytesOf(array: IndexArray): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
