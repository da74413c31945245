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

Deno.test("`sectors` is that of a GPU for known patterns", () => {
  const patterns: readonly [string, (lane: number) => number, number, number][] = [
    ["stride 1", (lane) => lane, 4, 4],
    ["misaligned", (lane) => lane + 1, 4, 5],
    ["stride 2", (lane) => 2 * lane, 4, 8],
    ["stride 8", (lane) => 8 * lane, 4, 32],
    ["stride 32", (lane) => 32 * lane, 4, 32],
    ["float4", (lane) => lane, 16, 16],
    ["float2", (lane) => lane, 8, 8],
    ["double", (lane) => lane, 8, 8],
    ["half", (lane) => lane, 2, 2],
    ["byte", (lane) => lane, 1, 1],
    ["broadcast", () => 9, 4, 1],
    ["float3", (lane) => lane, 12, 12],
    ["store of a naive transpose", (lane) => lane % 32 * 4096 + Math.floor(lane / 32), 4, 32],
  ];
  for (const [name, index, elementBytes, expected] of patterns) {
    assertEquals(sectorsPerRequest(analyzeAccess(lanes(index), { elementBytes })), expected, name);
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

Deno.test("counts are exact for lanes at both ends of 2^32", () => {
  // An offset moves element 127 to the line of element 128; in the end there is none behind it.
  const shape = Array.from({ length: 32 }, (_, lane) => lane < 2 ? 127 + lane : 135 + lane * lane);
  const wrapped = shape.map((index) => (index - 128 + 2 ** 32) % 2 ** 32);
  const down = [...shape].reverse();
  const indices = [shape, shape, wrapped, down, down, [...wrapped].reverse()].flat();
  for (const elementBytes of [1, 2, 4, 8, 12, 16]) {
    for (const offset of [0, 1, 16, 64, 127]) {
      const { sectors, lines } = analyzeAccess(Uint32Array.from(indices), { elementBytes, offset });
      const expected = referenceCounts(indices, elementBytes, offset);
      assertEquals(
        [sectors, lines],
        [expected.sectors, expected.lines],
        `${elementBytes} ${offset}`,
      );
    }
  }
});

Deno.test("counts are exact for lanes that are far apart", () => {
  for (const offset of [0, 4, 124, 126]) {
    for (const far of [2 ** 33, 2 ** 20, 2 ** 21, 2 ** 40]) {
      const indices = [2 ** 20 - 1, far, far + 2 ** 40 - 1, far + 2 ** 40, 2 ** 50];
      const { sectors, lines } = analyzeAccess(indices, { offset });
      const expected = referenceCounts(indices, 4, offset);
      assertEquals([sectors, lines], [expected.sectors, expected.lines], `${offset} ${far}`);
    }
  }
});

Deno.test("`stride` distinguishes steps that are equal in 32 bits only", () => {
  const half = Uint32Array.from({ length: 320 }, (_, lane) => lane % 2 * 2 ** 31);
  const report = analyzeAccess(half);
  assertEquals(report.sectors, 2 * 10);
  assertEquals(report.kind, "blocked");
  assertEquals(report.tile, { columns: 2, rows: 160, pitch: 0 });
});

Deno.test("counts are exact after many requests", () => {
  // More requests, none like another, than marks have values.
  const indices = Uint32Array.from({ length: 32 * 70_000 }, (_, i) => {
    const hash = Math.imul(i ^ i >>> 7, 0x9e3779b1);
    return (hash ^ hash >>> 15) & 0xffff;
  });
  const tail = [...indices.subarray(-32 * 1000)];
  const before = analyzeAccess(indices.subarray(0, -32 * 1000));
  const all = analyzeAccess(indices);
  const expected = referenceCounts(tail, 4, 0);
  assertEquals(
    [all.sectors - before.sectors, all.lines - before.lines],
    [expected.sectors, expected.lines],
  );
});
