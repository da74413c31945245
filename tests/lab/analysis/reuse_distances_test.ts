import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { analyzeAccess, type ReuseHistogram } from "../../../src/lab/analysis/mod.ts";
import { ReuseDistances } from "../../../src/lab/analysis/reuse_distances.ts";
import { referenceLines } from "./reference_requests.ts";
import {
  type ReferenceHistogram,
  referenceHistogram,
  reuseTraces,
  unitDraws,
} from "./reuse_references.ts";

function histogram(lines: Iterable<number>, capacity: number): ReuseHistogram {
  const distances = new ReuseDistances(capacity);
  for (const line of lines) distances.access(line);
  return distances.histogram();
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

/** The same, by lines that come together. */
function histogramOfAll(lines: readonly number[], capacity: number, base: number): ReuseHistogram {
  const distances = new ReuseDistances(capacity);
  distances.accessAll(Int32Array.from(lines), lines.length, base);
  return distances.histogram();
}

Deno.test("thousands of lines are exact, too, also across 2^32 and however they come", () => {
  const unit = unitDraws(5);
  const lines = Array.from({ length: 20_000 }, (_, i) => Math.floor(unit() * (i % 2 ? 2500 : 99)));
  const exact = referenceHistogram(lines);
  for (const base of [0, 2 ** 31 - 8, 2 ** 32 - 1000, 3 * 2 ** 32 - 2 ** 30, 2 ** 40]) {
    for (const capacity of [2500, 8192]) {
      const { counts, firstTouches, sampled } = histogramOfAll(lines, capacity, base);
      assertEquals({ counts, firstTouches, sampled }, { ...exact, sampled: 1 });
    }
  }
  const { counts, firstTouches } = histogram(lines, 2500);
  assertEquals({ counts, firstTouches }, exact);
});

Deno.test("a line is the same one whatever was taken off its number", () => {
  const begin = 2 ** 32 - 300;
  const lines = Array.from({ length: 600 }, (_, i) => begin + i);
  const bases = [begin, 2 ** 32 - 2 ** 29, 2 ** 32 - 2 ** 30 + 301];
  for (const capacity of [600, 150]) {
    const distances = new ReuseDistances(capacity);
    for (const line of lines) distances.access(line);
    for (const base of bases) {
      const moved = Int32Array.from(lines, (line) => line - base);
      distances.accessAll(moved, moved.length, base);
    }
    const { counts, firstTouches } = distances.histogram();
    const first = firstTouches / (firstTouches + counts.reduce((a, b) => a + b));
    assert(Math.abs(first - 1 / 4) < (capacity === 600 ? 1e-9 : 0.05), `${first}`);
  }
});

Deno.test("shapes that come again, and great strides, access the lines that they did before", () => {
  const rows = Array.from({ length: 1600 }, (_, i) => i % 24 + Math.floor(i / 24) % 30 * 1000);
  const tiles = Array.from({ length: 1600 }, (_, i) => (i >> 4 & 7) * 4096 + (i >> 7) * 5 + i % 16);
  const far = Array.from({ length: 64 }, (_, i) => i % 32 * 138_547_332);
  const back = far.map((index) => 2 ** 32 - 1 - index);
  for (const elementBytes of [1, 2, 4, 8, 12, 16] as const) {
    for (const offset of [0, 4, 62]) {
      const indices = [...rows, ...tiles, ...far, ...back, ...rows];
      const { counts, firstTouches } = analyzeAccess(Uint32Array.from(indices), {
        elementBytes,
        offset,
        reuse: true,
      }).reuse!;
      const expected = referenceHistogram(referenceLines(indices, elementBytes, offset));
      assertEquals({ counts, firstTouches }, expected, `${elementBytes} bytes at ${offset}`);
    }
  }
});

/** Shares of accesses at distances below 16 and 256, and of first ones: what a cache would hold. */
function shares(found: ReferenceHistogram | ReuseHistogram, accesses: number): number[] {
  const below = (entries: number) => found.counts.slice(0, entries).reduce((a, b) => a + b, 0);
  return [below(5), below(9), found.firstTouches].map((count) => count / accesses);
}

Deno.test("a sample is as far off as its standard error says", () => {
  for (const [name, lines] of reuseTraces()) {
    const expected = shares(referenceHistogram(lines), lines.length);
    for (const capacity of [60, 200]) {
      // Many samples of the same trace: the hash sees other lines each time.
      const errors = Array.from({ length: 40 }, (_, i) => {
        const found = histogram(lines.map((line) => line + i * 100_003), capacity);
        const { counts, firstTouches, sampled, standardError } = found;
        assert(sampled > 0 && sampled < 1, name);
        assert(Math.abs([...counts, firstTouches].reduce((a, b) => a + b) - lines.length) < 1e-6);
        return shares(found, lines.length).map((share, k) =>
          (share - expected[k]!) / standardError
        );
      });
      for (const kind of expected.keys()) {
        const squares = errors.reduce((sum, error) => sum + error[kind]! ** 2, 0) / errors.length;
        const off = Math.sqrt(squares);
        assert(off < 1.3, `${name}, ${capacity} lines, share ${kind}: ${off} standard errors`);
      }
    }
  }
});

Deno.test("a sample of a line or a few is none, small or right, and never fails", () => {
  for (const [name, lines] of reuseTraces()) {
    for (const capacity of [1, 2, 3, 7]) {
      const { counts, firstTouches, sampled, standardError } = histogram(lines, capacity);
      const all = [...counts, firstTouches].reduce((a, b) => a + b);
      assert(Math.abs(all - lines.length) < 1e-6, name);
      assert(sampled > 0 && sampled < 0.2 && standardError > 0 && standardError <= 1, name);
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
