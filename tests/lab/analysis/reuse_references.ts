/**
 * Reuse distances, counted plainly, and traces of lines to count them in.
 *
 * @module
 */

/** What a histogram says, counted exactly. */
export interface ReferenceHistogram {
  readonly counts: number[];
  readonly firstTouches: number;
}

/** Counts distances in a list of all lines, the newest last, that is looked through each time. */
export function referenceHistogram(lines: Iterable<number | bigint>): ReferenceHistogram {
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
export function unitDraws(seed: number): () => number {
  let state = seed;
  return () => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}

/** Traces of 8000 accesses to some hundreds and thousands of lines. */
export function reuseTraces(): ReadonlyMap<string, number[]> {
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
