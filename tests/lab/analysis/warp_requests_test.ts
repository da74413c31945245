import { assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type AccessReport, analyzeAccess } from "../../../src/lab/analysis/mod.ts";
import { referenceCounts } from "./reference_requests.ts";

const LANES = 32 * 7;

function lanes(index: (lane: number) => number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: LANES }, (_, lane) => index(lane));
}

function sectorsPerRequest({ sectors, requests }: AccessReport): number {
  return sectors / requests;
}

Deno.test("`sectors` and `bankConflicts` are those of a GPU for known patterns", () => {
  // Sectors a request, and wavefronts a request beyond those without a conflict.
  const patterns: readonly [string, (lane: number) => number, number, number, number][] = [
    ["coalesced", (lane) => lane, 4, 4, 0],
    ["reversed", (lane) => LANES - lane - 1, 4, 4, 0],
    ["misaligned", (lane) => lane + 1, 4, 5, 0],
    ["stride 2", (lane) => 2 * lane, 4, 8, 1],
    ["stride 4", (lane) => 4 * lane, 4, 16, 3],
    ["stride 8", (lane) => 8 * lane, 4, 32, 7],
    ["stride 32", (lane) => 32 * lane, 4, 32, 31],
    ["stride 33", (lane) => 33 * lane, 4, 32, 0],
    ["broadcast", () => 9, 4, 1, 0],
    ["float4", (lane) => lane, 16, 16, 0],
    ["float2", (lane) => lane, 8, 8, 0],
    ["float2, stride 2", (lane) => 2 * lane, 8, 16, 2],
    ["float3", (lane) => lane, 12, 12, 0],
    ["half", (lane) => lane, 2, 2, 0],
    ["byte", (lane) => lane, 1, 1, 0],
    ["columns of a tile", (lane) => lane % 32 * 32 + Math.floor(lane / 32), 4, 32, 31],
    ["columns of a padded tile", (lane) => lane % 32 * 33 + Math.floor(lane / 32), 4, 32, 0],
    ["a word shared by pairs of lanes", (lane) => lane % 2 * 32, 4, 2, 1],
    ["beyond 32 bits", (lane) => 2 ** 52 + 32 * lane, 4, 32, 31],
  ];
  for (const [name, index, elementBytes, sectors, conflicts] of patterns) {
    const indices = Array.from({ length: LANES }, (_, lane) => index(lane));
    const report = analyzeAccess(indices, { elementBytes });
    const { requests } = report;
    assertEquals([report.sectors, report.bankConflicts], [
      sectors * requests,
      conflicts * requests,
    ], name);
    const expected = referenceCounts(indices, elementBytes, 0);
    assertEquals([expected.sectors, expected.bankConflicts], [
      sectors * requests,
      conflicts * requests,
    ], `${name}, counted with sets`);
  }
});

Deno.test("`requests` is three for each access of 12 bytes", () => {
  const report = analyzeAccess(lanes((lane) => lane), { elementBytes: 12 });
  assertEquals(report.requests, 3 * 7);
  assertEquals(report.sectors, 12 * 3 * 7);
  assertEquals(report.efficiency, 4 / 12);
});

Deno.test("`sectors` is 31.97 a request for random accesses", () => {
  let state = 12345;
  const random = Uint32Array.from({ length: 320_000 }, () => {
    state = Math.imul(state, 1664525) + 1013904223 >>> 0;
    return state >>> 16 << 1 | state >>> 31;
  });
  // 32 draws of 2^14 sectors: 2^14 (1 − (1 − 2^-14)^32).
  const expected = 2 ** 14 * (1 - (1 - 2 ** -14) ** 32);
  assertAlmostEquals(expected, 31.97, 0.005);
  assertAlmostEquals(sectorsPerRequest(analyzeAccess(random)), expected, 0.02);
});

Deno.test("`offset` counts modulo a line", () => {
  for (const offset of [4, 28, 132, 2 ** 40 + 4]) {
    assertEquals(sectorsPerRequest(analyzeAccess(lanes((lane) => lane), { offset })), 5);
  }
  assertEquals(sectorsPerRequest(analyzeAccess(lanes((lane) => lane), { offset: 96 })), 4);
});

/** Indices as kernels have them: regular warps, their mixtures, and others. */
const someIndices: fc.Arbitrary<number[]> = fc.record({
  begin: fc.oneof(
    fc.nat(300),
    fc.constantFrom(2 ** 31 - 40, 2 ** 32 - 200, 2 ** 40, 2 ** 53 - 20_000),
  ),
  pieces: fc.array(
    fc.oneof(
      fc.record({ stride: fc.integer({ min: -140, max: 140 }), length: fc.nat(70) }),
      fc.record({ spread: fc.constantFrom(1, 7, 40, 1000, 2 ** 32), length: fc.nat(40) }),
      fc.record({ columns: fc.integer({ min: 1, max: 20 }), length: fc.nat(200) }),
    ),
    { maxLength: 4 },
  ),
  seed: fc.nat(),
}).map(({ begin, pieces, seed }) => {
  let state = seed;
  const random = (below: number) => {
    state = Math.imul(state ^ state >>> 15, 0x2c1b3c6d) + 0x9e3779b9 | 0;
    return Math.floor((state >>> 0) / 2 ** 32 * below);
  };
  return pieces.flatMap((piece) =>
    Array.from({ length: piece.length }, (_, i) => {
      if ("stride" in piece) return begin + 9800 + i * piece.stride;
      if ("spread" in piece) return begin + random(Math.min(piece.spread, 2 ** 53 - 1 - begin));
      return begin + i % piece.columns + 100 * Math.floor(i / piece.columns);
    })
  );
});

Deno.test("counts agree with sets of bytes", () => {
  fc.assert(
    fc.property(
      someIndices,
      fc.constantFrom(1, 2, 4, 8, 12, 16),
      fc.oneof(fc.constant(0), fc.nat(127)),
      (indices, elementBytes, offset) => {
        const { requests, sectors, lines, idealSectors, bankConflicts } = analyzeAccess(indices, {
          elementBytes,
          offset,
        });
        assertEquals(
          { requests, sectors, lines, idealSectors, bankConflicts },
          referenceCounts(indices, elementBytes, offset),
        );
      },
    ),
    { numRuns: 150 },
  );
});

Deno.test("counts are exact at every stride, place and element size", () => {
  for (const elementBytes of [1, 2, 4, 8, 12, 16]) {
    for (const stride of [0, 1, -1, 3, 31, 33, 127, -128, 129, 255, 256, 1000, 2 ** 27]) {
      for (const place of [0, 1, 17, 127]) {
        // The second warp is the first one, shifted by whole lines, and must be found again.
        const warp = Array.from({ length: 32 }, (_, lane) => place + 2 ** 15 + lane * stride)
          .map((index) => index < 0 ? index + 2 ** 32 : index);
        const indices = [...warp, ...warp.map((index) => index + 128)];
        const { sectors, lines, idealSectors, bankConflicts } = analyzeAccess(indices, {
          elementBytes,
        });
        const expected = referenceCounts(indices, elementBytes, 0);
        assertEquals(
          [sectors, lines, idealSectors, bankConflicts],
          [expected.sectors, expected.lines, expected.idealSectors, expected.bankConflicts],
          `stride ${stride}, place ${place}, ${elementBytes} bytes`,
        );
      }
    }
  }
});
