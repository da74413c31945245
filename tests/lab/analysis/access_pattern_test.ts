import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { AccessAnalyzer, type AccessReport, analyzeAccess } from "../../../src/lab/analysis/mod.ts";

function pattern(indices: Iterable<number>) {
  const { kind, stride, confidence, outliers, tile } = analyzeAccess(indices);
  return { kind, stride, confidence, outliers, tile };
}

function exactly(kind: string, stride: number | null, tile: AccessReport["tile"] = null) {
  return { kind, stride, confidence: 1, outliers: 0, tile };
}

function range(count: number, index: (i: number) => number): number[] {
  return Array.from({ length: count }, (_, i) => index(i));
}

/** Numbers from 0 to below 1, the same each time. */
function randomUnits(seed: number): () => number {
  let state = seed;
  return () => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}

Deno.test("`kind` is exact for a few indices", () => {
  assertEquals(pattern([]), exactly("empty", null));
  assertEquals(pattern([7]), exactly("sequential", 1));
  assertEquals(pattern([7, 7]), exactly("broadcast", 0));
  assertEquals(pattern([7, 8]), exactly("sequential", 1));
  assertEquals(pattern([8, 7]), exactly("reversed", -1));
  assertEquals(pattern([5, 100, 7]), { ...exactly("random", null) });
  assertEquals(pattern([90, 3, 41, 8]).kind, "random");
});

Deno.test("`kind` and `stride` are exact for regular patterns of any length", () => {
  const strides = [0, 1, -1, 2, -7, 32, 1_000_003, -(2 ** 31), 2 ** 32, 2 ** 37];
  for (const stride of strides) {
    for (const count of [3, 31, 32, 33, 63, 65, 8191, 8192, 8193, 20_000]) {
      const begin = stride < 0 ? -stride * count : 0;
      const kind = stride === 0
        ? "broadcast"
        : stride === 1
        ? "sequential"
        : stride === -1
        ? "reversed"
        : "strided";
      assertEquals(pattern(range(count, (i) => begin + stride * i)), exactly(kind, stride));
    }
  }
});

Deno.test("`tile` is found for rows with a pitch", () => {
  const rows = (count: number, columns: number, pitch: number, stride = 1) =>
    range(count, (i) => 2 ** 20 + Math.floor(i / columns) * pitch + i % columns * stride);
  const tile = (columns: number, rows: number, pitch: number) => ({ columns, rows, pitch });
  assertEquals(pattern(rows(6, 2, 10)), exactly("blocked", 1, tile(2, 3, 10)));
  assertEquals(pattern(rows(8, 4, 10)), exactly("blocked", 1, tile(4, 2, 10)));
  assertEquals(pattern(rows(1000, 16, 1000)), exactly("blocked", 1, tile(16, 63, 1000)));
  assertEquals(pattern(rows(1000, 17, -100)), exactly("blocked", 1, tile(17, 59, -100)));
  assertEquals(pattern(rows(1000, 32, 0)), exactly("blocked", 1, tile(32, 32, 0)));
  assertEquals(pattern(rows(1000, 10, 2, -1)), exactly("blocked", -1, tile(10, 100, 2)));
  // Each element four times; columns of a matrix; windows that overlap.
  assertEquals(pattern(rows(400, 4, 1, 0)), exactly("blocked", 0, tile(4, 100, 1)));
  assertEquals(pattern(rows(64 * 64, 64, 1, 64)), exactly("blocked", 64, tile(64, 64, 1)));
  assertEquals(pattern(rows(300, 3, 1)), exactly("blocked", 1, tile(3, 100, 1)));
  assertEquals(pattern(rows(300, 4, 3)), exactly("blocked", 1, tile(4, 75, 3)));
  // Runs that are much longer than a batch.
  assertEquals(pattern(rows(90_000, 30_000, 10 ** 6)).tile, tile(30_000, 3, 10 ** 6));
});

/** The elements of a row-major matrix, tile by tile. */
function tiled(height: number, width: number, rows: number, columns: number): number[] {
  const indices: number[] = [];
  for (let top = 0; top < height; top += rows) {
    for (let left = 0; left < width; left += columns) {
      for (let row = top; row < top + rows; row++) {
        for (let column = left; column < left + columns; column++) {
          indices.push(row * width + column);
        }
      }
    }
  }
  return indices;
}

Deno.test("`tile` has the rows of tiles that follow each other", () => {
  for (const [rows, columns] of [[16, 16], [2, 2], [8, 32], [32, 4], [3, 5]] as const) {
    const indices = tiled(rows * 4, columns * 8, rows, columns);
    const tile = { columns, rows, pitch: columns * 8 };
    assertEquals(pattern(indices), exactly("blocked", 1, tile));
    assertEquals(pattern(indices.slice(0, -columns - 1)).tile, tile);
  }
});

Deno.test("`outliers` is 1 when an index of a tile is replaced", () => {
  const indices = tiled(64, 128, 16, 16);
  for (const place of [0, 1, 255, 256, 257, 272, 2048, 2049, 4000]) {
    const { tile, outliers } = pattern(indices.with(place, 10 ** 6));
    assertEquals(tile, { columns: 16, rows: 16, pitch: 128 }, `at ${place}`);
    // Where the very first is one, the first run has another length besides.
    assert(outliers === 1 || place === 0 && outliers <= 3, `${outliers} at ${place}`);
  }
});

Deno.test("`outliers` is 1 when an index is replaced or inserted", () => {
  const patterns = {
    sequential: range(4096, (i) => i),
    reversed: range(4096, (i) => 4096 - i),
    strided: range(4096, (i) => 7 * i),
    broadcast: range(4096, () => 3),
    blocked: range(4096, (i) => Math.floor(i / 16) * 1000 + i % 16),
  };
  for (const [kind, indices] of Object.entries(patterns)) {
    const { stride, tile } = pattern(indices);
    for (const place of [1, 2, 15, 16, 17, 18, 1600, 1601, 2047, 3000, 4090, 4095]) {
      const replaced = indices.with(place, 777_777);
      const found = pattern(replaced);
      assertEquals([found.kind, found.stride, found.outliers], [kind, stride, 1], `at ${place}`);
      assertEquals(found.tile, tile);
      assertAlmostEquals(found.confidence, 1 - 1 / 4096);
    }
    const strays = range(39, (i) => 10 + 97 * i);
    const scattered = indices.map((index, i) => strays.includes(i) ? 10 ** 6 + i * i : index);
    assertEquals(pattern(scattered).outliers, 39, kind);
  }
  for (const place of [1, 500, 4000]) {
    const inserted = patterns.sequential.toSpliced(place, 0, 777_777);
    assertEquals([pattern(inserted).kind, pattern(inserted).outliers], ["sequential", 1]);
  }
});

/** Accesses that do not follow a stride, by the words of `access_pattern.ts`. */
function referenceOutliers(indices: readonly number[], stride: number): number {
  const followed = [true];
  let anchor = 0;
  for (let i = 1; i < indices.length; i++) {
    const continues = (from: number) => indices[i]! - indices[from]! === stride * (i - from);
    followed[i] = continues(i - 1) || continues(anchor) || i > 1 && continues(i - 2) ||
      indices[i]! - indices[anchor]! === stride;
    if (followed[i]) anchor = i;
  }
  return followed.filter((one) => !one).length;
}

Deno.test("`outliers` agrees with its definition", () => {
  const strayed = fc.oneof(
    { weight: 12, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.nat(40) },
  );
  let compared = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: -4, max: 4 }),
      fc.array(strayed, { minLength: 80, maxLength: 300, size: "max" }),
      (stride, strays) => {
        // Every fourth kind of stray is a jump, from which the pattern goes on.
        let shift = 2000;
        const indices = strays.map((stray, i) => {
          if (stray !== null && stray % 4 === 0) shift += stray - 20;
          return shift + stride * i + (stray === null || stray % 4 === 0 ? 0 : stray - 20);
        });
        const { kind, stride: found, outliers } = pattern(indices);
        if (kind === "blocked" || found !== stride) return;
        compared++;
        assertEquals(outliers, referenceOutliers(indices, stride));
      },
    ),
    { numRuns: 300 },
  );
  assert(compared > 200, `${compared}`);
});

Deno.test("`kind` is random for random accesses in any range", () => {
  for (const spread of [2 ** 32, 2 ** 20, 1000, 16, 7]) {
    const random = randomUnits(spread);
    const indices = Uint32Array.from({ length: 50_000 }, () => random() * spread);
    const { kind, stride, outliers, confidence } = analyzeAccess(indices);
    assertEquals([kind, stride, outliers], ["random", null, 0], `${spread}`);
    assert(confidence > 0.5 && confidence <= 1);
  }
});

Deno.test("`stride` is found when the pattern begins late", () => {
  const random = randomUnits(9);
  const indices = range(100_000, (i) => i < 20_000 ? Math.floor(random() * 2 ** 40) : 5 * i);
  const { kind, stride, outliers } = pattern(indices);
  assertEquals([kind, stride], ["strided", 5]);
  // It is looked for in the whole batch of 8192 in which it begins.
  assert(outliers >= 20_000 - 8192 && outliers <= 20_001, `${outliers}`);
  // Of patterns that follow each other it is the one that most accesses follow.
  const two = [...range(10_000, (i) => 3 * i), ...range(30_000, (i) => 9 * i)];
  assertEquals(pattern(two).stride, 9);
  assertEquals(pattern(two.toReversed()).stride, -9);
});

/** Regular indices with some strays among them. */
const regular = fc.record({
  stride: fc.integer({ min: -9, max: 9 }),
  columns: fc.option(fc.integer({ min: 3, max: 40 })),
  pitch: fc.integer({ min: 500, max: 600 }),
  count: fc.integer({ min: 200, max: 900 }),
  strays: fc.array(fc.tuple(fc.nat(899), fc.nat(10 ** 6)), { maxLength: 6 }),
}).map(({ stride, columns, pitch, count, strays }) => {
  const run = columns ?? count;
  const indices = range(count, (i) => 10 ** 4 + Math.floor(i / run) * pitch + i % run * stride);
  for (const [place, index] of strays) if (place < count) indices[place] = 10 ** 6 + index;
  return indices;
});

Deno.test("the pattern is the same when all indices are shifted", () => {
  fc.assert(
    fc.property(regular, fc.constantFrom(1, 12_345, 2 ** 31, 2 ** 45), (indices, shift) => {
      assertEquals(pattern(indices.map((index) => index + shift)), pattern(indices));
    }),
    { numRuns: 60 },
  );
});

Deno.test("`report()` does not depend on the pieces that were added", () => {
  fc.assert(
    fc.property(
      fc.array(regular, { minLength: 1, maxLength: 24 }),
      fc.array(fc.constantFrom(0, 1, 31, 32, 33, 1000, 8191, 8192), { minLength: 1 }),
      fc.boolean(),
      (parts, pieces, reuse) => {
        const indices = parts.flat();
        const analyzer = new AccessAnalyzer({ reuse });
        for (let i = 0, at = 0; at < indices.length; i++) {
          const piece = indices.slice(at, at += pieces[i % pieces.length]! + i % 2);
          analyzer.add(i % 2 === 0 ? piece : Uint32Array.from(piece));
        }
        assertEquals(analyzer.report(), analyzeAccess(indices, { reuse }));
      },
    ),
    { numRuns: 30 },
  );
});
