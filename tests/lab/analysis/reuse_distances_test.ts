import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { analyzeAccess, type ReuseHistogram } from "../../../src/lab/analysis/mod.ts";
import { ReuseDistances } from "../../../src/lab/analysis/reuse_distances.ts";
import { referenceLines } from "./reference_requests.ts";

/** A histogram that is counted exactly. */
interface ReferenceHistogram {
  readonly counts: number[];
  readonly firstTouches: number;
}

/** Counts distances in a list of all lines, the newest last, that is looked through each time. */
function referenceHistogram(lines: Iterable<number | bigint>): ReferenceHistogram {
  const used: (number | bigint)[] = [];
  const counts: number[] = [];
  let firstTouches = 0;
  for (const line of lines) {
    const place = used.lastIndexOf(line);
    if (place < 0) {
      firstTouches++;
    } else {
      const distance = used.length - 1 - place;
      const entry = distance === 0 ? 0 : Math.floor(Math.log2(distance)) + 1;
      while (counts.length <= entry) counts.push(0);
      counts[entry]!++;
      used.splice(place, 1);
    }
    used.push(line);
  }
  return { counts, firstTouches };
}

/** Numbers in 0..1, the same each time. */
function unitDraws(seed: number): () => number {
  let state = seed;
  return () => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}

/** Traces of 8000 accesses to some hundreds and thousands of lines. */
function reuseTraces(): ReadonlyMap<string, number[]> {
  const unit = unitDraws(7);
  const trace = (line: (i: number) => number) =>
    Array.from({ length: 8000 }, (_, i) => Math.floor(line(i)));
  return new Map([
    ["uniform", trace(() => unit() * 1400)],
    ["Zipf", trace(() => Math.exp(unit() * Math.log(3000)))],
    ["cyclic", trace((i) => i % 1331)],
    ["a power of two apart", trace((i) => i % 1024 * 2 ** 20)],
    ["columns", trace((i) => i % 64 * 32 + (i >> 6 & 15))],
    ["nested", trace((i) => i % 40 + Math.floor(i / 400) * 40)],
    ["beyond 2^32", trace((i) => 2 ** 32 * (i % 37) + 2 ** 31 * (i % 2) + 3 * (i % 1000))],
    ["mixed", trace((i) => i % 3 === 0 ? i / 3 : i % 3 === 1 ? unit() * 90 : 5000 + i % 700)],
  ]);
}

function histogram(lines: Iterable<number>, capacity: number): ReuseHistogram {
  const distances = new ReuseDistances(capacity);
  for (const line of lines) distances.access(line);
  return distances.histogram();
}

Deno.test("`ReuseDistances` is exact when all lines fit the sample", () => {
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

Deno.test("`reuse` counts each line once a request, in the order of lanes", () => {
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

Deno.test("`reuse` has distance 0 for a broadcast", () => {
  const broadcast = analyzeAccess(new Uint32Array(320), { reuse: true }).reuse!;
  assertEquals(broadcast.counts, [9]);
  const rows = Uint32Array.from({ length: 32 * 100 }, (_, i) => i % 320);
  assertEquals(analyzeAccess(rows, { reuse: true }).reuse!.counts, [0, 0, 0, 0, 90]);
  assertEquals(analyzeAccess(rows).reuse, null);
});

/** Shares of accesses at distances below 16 and 256, and of first ones: what a cache would hold. */
function shares(found: ReferenceHistogram | ReuseHistogram, accesses: number): number[] {
  const below = (entries: number) => found.counts.slice(0, entries).reduce((a, b) => a + b, 0);
  return [below(5), below(9), found.firstTouches].map((count) => count / accesses);
}

Deno.test("`standardError` is the error of a sample", () => {
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

Deno.test("`ReuseDistances` follows as many lines as allowed", () => {
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
