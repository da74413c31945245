// What pictures of requests are drawn from is what the analysis counts: its sectors and wavefronts,
// of random requests, element sizes and offsets.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { analyzeAccess, bankConflicts } from "../../../src/lab/analysis/mod.ts";
import { requestBanks } from "../../../src/cli/pictures/request_banks.ts";
import { requestSectors } from "../../../src/cli/pictures/request_sectors.ts";

const anyIndices = fc.oneof(
  fc.array(fc.nat(200), { maxLength: 70 }),
  fc.array(fc.maxSafeNat(), { maxLength: 40 }),
  fc.tuple(fc.integer({ min: 0, max: 40 }), fc.nat(70)).map(([stride, count]) =>
    Array.from({ length: count }, (_, i) => i * stride)
  ),
);
const elementBytes = fc.constantFrom(1, 2, 4, 8, 12, 16);

Deno.test("the drawn sectors are those that the analysis counts", () => {
  fc.assert(fc.property(anyIndices, elementBytes, fc.nat(300), (indices, bytes, offset) => {
    const requests = requestSectors(indices, { elementBytes: bytes, offset });
    const report = analyzeAccess(Float64Array.from(indices), { elementBytes: bytes, offset });
    assertEquals(requests.length, report.requests);
    const drawn = requests.reduce((sum, { sectors }) => sum + sectors.length, 0);
    assertEquals(drawn, report.sectors);
    for (const { sectors, lanes, used, usedShare } of requests) {
      const accessBytes = bytes === 12 ? 4 : bytes;
      const spans = lanes.reduce((sum, { from, to }) => sum + to - from, 0);
      assertEquals(spans % accessBytes, 0, "an access that sectors cut is drawn whole");
      for (const { from, to, sector } of [...lanes, ...used]) {
        assert(0 <= from && from < to && to <= 32 && sector < sectors.length);
      }
      assert(usedShare > 0 && usedShare <= 1);
    }
  }));
});

Deno.test("the first byte of indices beyond 2^53 bytes is exact", () => {
  const index = Number.MAX_SAFE_INTEGER;
  const [request] = requestSectors([index, index - 1], { elementBytes: 16, offset: 0 });
  assertEquals(request!.firstByte, (BigInt(index - 1) * 16n / 32n) * 32n);
  assertEquals(request!.sectors, [0n]);
});

Deno.test("the drawn wavefronts are those that the analysis counts", () => {
  const small = fc.array(fc.nat(5000), { maxLength: 70 });
  fc.assert(fc.property(small, elementBytes, (indices, bytes) => {
    const requests = requestBanks(indices, bytes);
    const counted = bankConflicts(indices, { elementBytes: bytes });
    const sum = (figure: (request: typeof requests[number]) => number) =>
      requests.reduce((total, request) => total + figure(request), 0);
    assertEquals(sum(({ wavefronts }) => wavefronts), counted.wavefronts);
    assertEquals(sum(({ idealWavefronts }) => idealWavefronts), counted.idealWavefronts);
  }));
});
