import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import {
  analyzeAccess,
  type DataArray,
  type LayoutOptions,
  optimizeLayout,
} from "../../../src/lab/analysis/mod.ts";

const filled = (length: number) => Float32Array.from({ length }, (_, index) => index);
const indicesOf = (length: number, index: (i: number) => number) =>
  Uint32Array.from({ length }, (_, i) => index(i));

/** Optimises, and checks all that must hold whatever comes out. */
function optimized<T extends DataArray>(data: T, indices: Uint32Array, options?: LayoutOptions) {
  const found = optimizeLayout(data, indices, options);
  const { before, after, map } = found;
  const analysis = { elementBytes: data.BYTES_PER_ELEMENT };
  assertEquals(before, analyzeAccess(indices, analysis));
  assertEquals(after, analyzeAccess(found.indices, analysis));
  assertEquals(found.gain, before.sectors === 0 ? 1 : before.sectors / after.sectors);
  assert(found.layout === "unchanged" ? found.gain === 1 : found.gain >= 1.05, found.reason);
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

Deno.test("data really moves: the original only logged that it would", () => {
  const { layout, data } = optimized(filled(4096), indicesOf(4096, (i) => i % 64 * 64 + (i >> 6)));
  assertEquals(layout, "transposed");
  assertEquals([...data.subarray(0, 3)], [0, 64, 128]);
});

Deno.test("columns of a matrix lie together after transposing, in either direction", () => {
  const down = indicesOf(4096, (i) => i % 64 * 64 + (i >> 6));
  for (const indices of [down, down.toReversed()]) {
    const { layout, gain, after } = optimized(filled(4096), indices);
    assertEquals([layout, gain, after.efficiency], ["transposed", 8, 1]);
  }
});

Deno.test("one field of records lies together after structure-of-arrays", () => {
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

Deno.test("a stride that does not divide the length is transposed as far as it goes", () => {
  const { layout, after } = optimized(filled(1009), indicesOf(144, (i) => i * 7));
  assertEquals([layout, after.kind], ["transposed", "sequential"]);
});

Deno.test("tiles of a matrix lie together after tiling", () => {
  // Each warp accesses a tile of 8 rows and 4 columns.
  const tiles = indicesOf(256 * 256, (i) => {
    const [tile, lane] = [i >> 5, i & 31];
    return ((tile >> 6) * 8 + (lane >> 2)) * 256 + (tile & 63) * 4 + (lane & 3);
  });
  const { layout, gain, after } = optimized(filled(256 * 256), tiles);
  assertEquals([layout, gain, after.kind], ["tiled", 2, "sequential"]);
});

Deno.test("neighbourhoods at random places of a matrix are nearer in Z-order", () => {
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

Deno.test("random accesses with reuse lie together in the order of first access", () => {
  const hot = indicesOf(500, () => 0);
  const places = random(100_000);
  for (let i = 0; i < hot.length; i++) hot[i] = places.next().value;
  const indices = indicesOf(20_000, (i) => hot[i % 500]!);
  const { layout, gain, map } = optimized(filled(100_000), indices);
  assertEquals(layout, "first-touch");
  assert(gain > 5, `${gain}`);
  assertEquals(map.newIndex(hot[0]!), 0);
});

Deno.test("a sample decides among layouts, and all accesses prove it", () => {
  const { layout, gain } = optimized(
    filled(2 ** 20),
    indicesOf(2 ** 21, (i) => (i & 1023) * 1024 + (i >> 10 & 1023)),
  );
  assertEquals([layout, gain], ["transposed", 8]);
});

Deno.test("nothing is moved where nothing is gained, and the reason is given", () => {
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

Deno.test("data without elements, and single elements, stay as they are", () => {
  assertEquals(optimized(new Float64Array(0), new Uint32Array(0)).layout, "unchanged");
  assertEquals(optimized(Float64Array.of(7), Uint32Array.of(0, 0)).layout, "unchanged");
});

Deno.test("whatever the accesses, elements are found where the result says, and come back", () => {
  const walk = fc.record({
    length: fc.integer({ min: 1, max: 2000 }),
    count: fc.nat(600),
    stride: fc.integer({ min: 0, max: 80 }),
    noise: fc.array(fc.nat(2000), { maxLength: 5 }),
  });
  fc.assert(
    fc.property(walk, ({ length, count, stride, noise }) => {
      const indices = indicesOf(count, (i) => (i * stride + (noise[i % 16] ?? 0)) % length);
      optimized(filled(length), indices);
      optimized(BigInt64Array.from({ length }, (_, i) => BigInt(i)), indices);
      optimized(Uint8Array.from({ length }, (_, i) => i), indices);
    }),
    { numRuns: 40 },
  );
});

Deno.test("indices of all kinds are taken", () => {
  const data = filled(1024);
  const indices = Array.from({ length: 64 }, (_, i) => i * 16);
  const expected = optimizeLayout(data, indices).indices;
  for (const same of [Float64Array.from(indices), BigInt64Array.from(indices.map(BigInt))]) {
    assertEquals(optimizeLayout(data, same).indices, expected);
  }
});
