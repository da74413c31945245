import { assert, assertEquals } from "@std/assert";
import {
  HASHES,
  hashLine,
  lowerOf,
  spreadOf,
  upperOf,
} from "../../../src/lab/analysis/line_hash.ts";

const LINES = 2 ** 15;
const BINS = 256;

function hashOf(line: number): number {
  return hashLine(lowerOf(line), spreadOf(upperOf(line)));
}

/**
 * How far counts in bins are from even, in standard deviations of what is left to chance: positive
 * where lines are clustered, negative where they are more even than at random.
 */
function unevenness(bins: Int32Array): number {
  const expected = bins.reduce((sum, count) => sum + count, 0) / bins.length;
  const square = bins.reduce((sum, count) => sum + (count - expected) ** 2, 0) / expected;
  return (square - (bins.length - 1)) / Math.sqrt(2 * (bins.length - 1));
}

const SETS: ReadonlyMap<string, (i: number) => number> = new Map([
  ...[1, 2, 3, 31, 32, 33, 100, 1000, 1024, 4096, 65_537, 2 ** 16, 2 ** 17, 0x9e3779b1].map((
    stride,
  ) => [`stride ${stride}`, (i: number) => i * stride] as const),
  ...[2 ** 20, 2 ** 32, 2 ** 33, 2 ** 32 + 1, 2 ** 35].map((stride) =>
    [`stride ${stride}`, (i: number) => i * stride] as const
  ),
  ["columns", (i) => i % 181 * 2 ** 13 + Math.floor(i / 181)],
  ["blocks of two halves", (i) => i % 8 * 2 ** 32 + Math.floor(i / 8)],
  ["the greatest", (i) => 2 ** 50 - 1 - i],
]);

Deno.test("hashes of strides, powers of two and columns fall like random numbers", () => {
  for (const [name, line] of SETS) {
    const upper = new Int32Array(BINS);
    const lower = new Int32Array(BINS);
    const smallest = new Int32Array(BINS);
    for (let i = 0; i < LINES; i++) {
      const hash = hashOf(line(i));
      assert(hash >= 0 && hash < HASHES);
      upper[Math.floor(hash / HASHES * BINS)]!++;
      // Members are found by the last bits, where all those in a sample have the same first ones.
      lower[hash % BINS]!++;
      if (hash < HASHES / 4) smallest[Math.floor(i / LINES * BINS)]!++;
    }
    for (const [bins, limit] of [[upper, 6], [lower, 6], [smallest, 6]] as const) {
      const found = unevenness(bins);
      assert(found < limit, `${name}: ${found.toFixed(1)} standard deviations from even`);
    }
  }
});

Deno.test("a number is put together again from its halves", () => {
  for (const line of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 50 - 1]) {
    assertEquals(upperOf(line) * 2 ** 32 + (lowerOf(line) >>> 0), line);
  }
});

Deno.test("no two lines of a half have the same 32 bits, so no three the same hash", () => {
  const seen = new Map<number, number>();
  for (let line = 0; line < 200_000; line++) {
    const hash = hashOf(2 ** 40 + line);
    seen.set(hash, (seen.get(hash) ?? 0) + 1);
  }
  assert(Math.max(...new Set(seen.values())) <= 2);
});
