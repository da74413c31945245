import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { analyzeAccess, type ReuseHistogram } from "../../src/analysis/mod.ts";
import { ReuseDistances } from "../../src/analysis/reuse_distances.ts";
import { referenceLines } from "./reference_requests.ts";

/** Counts distances by looking through all accesses in between: exact, in quadratic time. */
function referenceHistogram(lines: readonly (number | bigint)[]) {
  const counts: number[] = [];
  let firstTouches = 0;
  lines.forEach((line, i) => {
    const before = lines.lastIndexOf(line, i - 1);
    if (i === 0 || before < 0) {
      firstTouches++;
      return;
    }
    const distance = new Set(lines.slice(before + 1, i)).size;
    const entry = distance === 0 ? 0 : Math.floor(Math.log2(distance)) + 1;
    while (counts.length <= entry) counts.push(0);
    counts[entry]!++;
  });
  return { counts, firstTouches };
}

function histogram(lines: Iterable<number>, capacity: number): ReuseHistogram {
  const distances = new ReuseDistances(capacity);
  for (const line of lines) distances.access(line);
  return distances.histogram();
}

/** A sequence that is the same each time. */
function draws(count: number, seed: number, line: (unit: number) => number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return Math.floor(line(((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32));
  });
}

Deno.test("distances are exact where all lines fit the sample", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(12), fc.constantFrom(2 ** 32, 2 ** 32 + 1, 2 ** 50)), {
        maxLength: 400,
      }),
      (lines) => {
        const { counts, firstTouches, sampled, standardError } = histogram(lines, 20);
        assertEquals({ counts, firstTouches }, referenceHistogram(lines));
        assertEquals([sampled, standardError], [1, 0]);
      },
    ),
  );
});

Deno.test("lines are accessed once a request, in the order of lanes, and their sum is `lines`", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(3000), fc.constant(2 ** 40)), { maxLength: 150 }),
      fc.integer({ min: -40, max: 40 }),
      fc.constantFrom(1, 4, 12, 16),
      fc.nat(127),
      (random, stride, elementBytes, offset) => {
        const strided = Array.from({ length: 70 }, (_, i) => 3000 + i * stride);
        const indices = [...strided, ...random, ...strided];
        const { reuse, lines } = analyzeAccess(indices, { elementBytes, offset, reuse: true });
        const { counts, firstTouches } = reuse!;
        const expected = referenceHistogram(referenceLines(indices, elementBytes, offset));
        assertEquals({ counts, firstTouches }, expected);
        assertEquals(counts.reduce((sum, count) => sum + count, firstTouches), lines);
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("lines of indices that are far apart are followed by their own numbers", () => {
  // The greatest ends in the line after its surroundings, and is accessed alone, too.
  const warp = [0, 2 ** 40 - 1, 2 ** 40, 2 ** 52 - 1];
  const alone = [2 ** 52 - 1, 2 ** 52];
  const indices = [...Array(8).fill(warp).flat(), ...alone, ...Array(15).fill(alone).flat()];
  for (const offset of [0, 124, 126]) {
    const { counts, firstTouches } = analyzeAccess(indices, { offset, reuse: true }).reuse!;
    const expected = referenceHistogram(referenceLines(indices, 4, offset));
    assertEquals({ counts, firstTouches }, expected);
  }
});

Deno.test("a broadcast is used again at distance 0, rows of a tile at theirs", () => {
  const broadcast = analyzeAccess(new Uint32Array(320), { reuse: true }).reuse!;
  assertEquals(broadcast.counts, [9]);
  const rows = Uint32Array.from({ length: 32 * 100 }, (_, i) => i % 320);
  assertEquals(analyzeAccess(rows, { reuse: true }).reuse!.counts, [0, 0, 0, 0, 90]);
  assertEquals(analyzeAccess(rows).reuse, null);
});

Deno.test("a sample is as far off as its standard error says, and keeps to its bound", () => {
  const patterns = {
    uniform: draws(4000, 1, (unit) => unit * 700),
    skewed: draws(4000, 2, (unit) => 1500 * unit ** 3),
    nested: Array.from({ length: 4000 }, (_, i) => i % 40 + Math.floor(i / 400) * 40),
  };
  for (const [name, lines] of Object.entries(patterns)) {
    const exact = referenceHistogram(lines);
    // Many samples of the same pattern: the hash sees other lines each time.
    const errors = Array.from({ length: 40 }, (_, i) => {
      const moved = lines.map((line) => line + i * 100_003);
      const { counts, firstTouches, sampled, standardError } = histogram(moved, 100);
      assert(sampled > 0 && sampled < 1, name);
      assert(Math.abs([...counts, firstTouches].reduce((a, b) => a + b) - lines.length) < 1e-6);
      // Shares of accesses at distances below 16, and of first ones: what a cache would hold.
      const near = (values: readonly number[]) => values.slice(0, 5).reduce((a, b) => a + b, 0);
      const share = Math.abs(near(counts) - near(exact.counts)) / lines.length;
      const first = Math.abs(firstTouches - exact.firstTouches) / lines.length;
      return [share / standardError, first / standardError];
    });
    for (const kind of [0, 1]) {
      const squares = errors.reduce((sum, error) => sum + error[kind]! ** 2, 0) / errors.length;
      assert(Math.sqrt(squares) < 1.3, `${name}: ${Math.sqrt(squares)} standard errors`);
    }
  }
});

Deno.test("half a million lines are followed by as many as there is room for", () => {
  const capacity = 64;
  const distances = new ReuseDistances(capacity);
  for (let round = 0; round < 2; round++) {
    for (let line = 0; line < 500_000; line++) distances.access(line);
  }
  const { counts, firstTouches, sampled } = distances.histogram();
  assert(sampled * 500_000 < 1.5 * capacity && sampled * 500_000 > capacity / 1.5, `${sampled}`);
  // Half of the accesses are first ones; the others come back after all other lines.
  assert(Math.abs(firstTouches - 500_000) < 100_000);
  const entry = Math.floor(Math.log2(499_999)) + 1;
  assertEquals(counts.slice(0, entry - 1).filter((count) => count > 0), []);
});
