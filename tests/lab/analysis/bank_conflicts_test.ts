import { assertEquals, assertThrows } from "@std/assert";
import { analyzeAccess, BankCounter } from "../../../src/lab/analysis/mod.ts";

/** Wavefronts of one warp, and those that it would take without conflicts. */
function wavefronts(elementBytes: number, index: (lane: number) => number, lanes = 32) {
  const counter = new BankCounter(elementBytes);
  const indices = Array.from({ length: lanes }, (_, lane) => index(lane));
  counter.add([-1, ...indices, -1], 1, lanes + 1);
  return [counter.wavefronts, counter.idealWavefronts];
}

Deno.test("warps that access shared memory take as many wavefronts as on a GPU", () => {
  const word = (stride: number) => wavefronts(4, (lane) => lane * stride)[0];
  assertEquals([1, 2, 4, 8, 32, 33, 64].map(word), [1, 2, 4, 8, 32, 1, 32]);
  assertEquals(wavefronts(4, () => 1000), [1, 1]);
  assertEquals(wavefronts(1, (lane) => lane), [1, 1]);
  assertEquals(wavefronts(2, (lane) => lane), [1, 1]);
  assertEquals(wavefronts(8, (lane) => lane), [2, 2]);
  assertEquals(wavefronts(8, (lane) => 2 * lane), [4, 2]);
  assertEquals(wavefronts(16, (lane) => lane), [4, 4]);
});

Deno.test("a column of a 32 × 32 tile conflicts, of a padded one it does not", () => {
  assertEquals(wavefronts(4, (lane) => lane * 32 + 5)[0], 32);
  assertEquals(wavefronts(4, (lane) => lane * 33 + 5)[0], 1);
});

Deno.test("lanes that want the same word share it, in any order", () => {
  assertEquals(wavefronts(4, (lane) => lane % 2 * 32), [2, 1]);
  assertEquals(wavefronts(4, (lane) => Math.floor(lane / 16) * 32), [2, 1]);
  assertEquals(wavefronts(1, (lane) => lane % 4 + 128 * (lane % 3)), [3, 1]);
});

Deno.test("float3 takes three requests of words, which do not conflict", () => {
  assertEquals(wavefronts(12, (lane) => lane), [3, 3]);
  assertEquals(wavefronts(12, (lane) => 32 * lane), [96, 3]);
});

Deno.test("halves and quarters of a warp without lanes take no wavefront", () => {
  assertEquals(wavefronts(8, (lane) => lane, 16), [1, 1]);
  assertEquals(wavefronts(8, (lane) => lane, 17), [2, 2]);
  assertEquals(wavefronts(16, (lane) => lane, 1), [1, 1]);
  assertEquals(wavefronts(4, (lane) => lane, 0), [0, 0]);
});

Deno.test("banks of indices beyond 32 bits are exact", () => {
  const base = 2 ** 52;
  assertEquals(wavefronts(4, (lane) => base + 32 * lane)[0], 32);
  assertEquals(wavefronts(8, (lane) => base + lane)[0], 2);
});

Deno.test("reports say what conflicts cost beyond accesses without any", () => {
  const lanes = (stride: number) => Uint32Array.from({ length: 320 }, (_, lane) => lane * stride);
  assertEquals(analyzeAccess(lanes(1), { elementBytes: 16 }).bankConflicts, 0);
  assertEquals(analyzeAccess(lanes(2), { elementBytes: 8 }).bankConflicts, 2 * 10);
  assertEquals(analyzeAccess(lanes(32)).bankConflicts, 31 * 10);
});

Deno.test("`new BankCounter()` throws for elements that no instruction accesses", () => {
  for (const bytes of [0, 3, 32, NaN, 4.5]) {
    assertThrows(() => new BankCounter(bytes), RangeError, `it is ${bytes}`);
  }
});
