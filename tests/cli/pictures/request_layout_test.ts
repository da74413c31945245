// The pictures of requests show the sectors and wavefronts of the analysis.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { analyzeAccess, bankConflicts } from "../../../src/lab/analysis/mod.ts";
import { bankRequests, sectorRequests } from "../../../src/cli/pictures/request_layout.ts";

const anyIndices = fc.oneof(
  fc.array(fc.nat(200), { maxLength: 70 }),
  fc.array(fc.maxSafeNat(), { maxLength: 40 }),
  fc.tuple(fc.integer({ min: 0, max: 40 }), fc.nat(70)).map(([stride, count]) =>
    Array.from({ length: count }, (_, i) => i * stride)
  ),
);
const elementBytes = fc.constantFrom(1, 2, 4, 8, 12, 16);

Deno.test("`sectorRequests()` returns the sectors of the analysis", () => {
  fc.assert(fc.property(anyIndices, elementBytes, fc.nat(300), (indices, bytes, offset) => {
    const requests = sectorRequests(indices, bytes, offset);
    const report = analyzeAccess(Float64Array.from(indices), { elementBytes: bytes, offset });
    assertEquals(requests.length, report.requests);
    const drawn = requests.reduce((sum, { sectors }) => sum + sectors.length, 0);
    assertEquals(drawn, report.sectors);
    for (const { sectors, lanes, used, usedShare } of requests) {
      const accessBytes = bytes === 12 ? 4 : bytes;
      const spans = lanes.reduce((sum, { from, to }) => sum + to - from, 0);
      assertEquals(spans % accessBytes, 0, "each access is complete");
      for (const { from, to, sector } of [...lanes, ...used]) {
        assert(0 <= from && from < to && to <= 32 && sector < sectors.length);
      }
      assert(usedShare > 0 && usedShare <= 1);
    }
  }));
});

Deno.test("`sectorRequests()` computes exact addresses beyond 2^53", () => {
  const index = Number.MAX_SAFE_INTEGER;
  const [request] = sectorRequests([index, index - 1], 16, 0);
  assertEquals(request!.firstByte, (BigInt(index - 1) * 16n / 32n) * 32n);
  assertEquals(request!.sectors, [0n]);
});

Deno.test("`bankRequests()` returns the wavefronts of the analysis", () => {
  const small = fc.array(fc.nat(5000), { maxLength: 70 });
  fc.assert(fc.property(small, elementBytes, (indices, bytes) => {
    const requests = bankRequests(indices, bytes);
    const counted = bankConflicts(indices, { elementBytes: bytes });
    const sum = (figure: (request: typeof requests[number]) => number) =>
      requests.reduce((total, request) => total + figure(request), 0);
    assertEquals(sum(({ wavefronts }) => wavefronts), counted.wavefronts);
    assertEquals(sum(({ idealWavefronts }) => idealWavefronts), counted.idealWavefronts);
  }));
});
