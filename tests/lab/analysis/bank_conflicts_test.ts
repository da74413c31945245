import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { bankConflicts } from "../../../src/lab/analysis/mod.ts";

Deno.test("`bankConflicts()` names the worst request and bank", () => {
  const indices = new Uint32Array(96);
  for (let lane = 0; lane < 32; lane++) {
    indices[lane] = lane;
    indices[32 + lane] = 2 * lane;
    indices[64 + lane] = 32 * lane + 5;
  }
  const counts = { requests: 3, wavefronts: 35, idealWavefronts: 3, conflicts: 32 };
  assertEquals(bankConflicts(indices), { ...counts, degree: 32, worstRequest: 2, worstBank: 5 });
  assertEquals(bankConflicts(indices, { offset: 4 }), {
    ...{ ...counts, degree: 32, worstRequest: 2, worstBank: 6 },
  });
  assertEquals(bankConflicts([]), {
    ...{ requests: 0, wavefronts: 0, idealWavefronts: 0, conflicts: 0 },
    ...{ degree: 0, worstRequest: null, worstBank: null },
  });
  assertEquals(bankConflicts([1, 1, 1]).worstBank, null);
});

Deno.test("`bankConflicts()` agrees with sets of words for all widths and offsets", () => {
  const widths = fc.constantFrom(1, 2, 4, 8, 12, 16);
  const index = fc.oneof(fc.nat(200), fc.nat(2 ** 31), fc.integer({ min: 2 ** 45, max: 2 ** 46 }));
  fc.assert(
    fc.property(
      widths,
      fc.array(index, { maxLength: 100 }),
      fc.nat(40),
      (width, indices, shift) => {
        const part = width === 12 ? 4 : width;
        const offset = shift * part;
        let wavefronts = 0;
        for (let first = 0; first < indices.length; first += 32) {
          const warp = indices.slice(first, first + 32);
          for (let begin = 0; begin < width; begin += part) {
            const group = 32 / Math.max(1, part / 4);
            for (let lane = 0; lane < warp.length; lane += group) {
              const words = new Set(
                warp.slice(lane, lane + group).flatMap((each) =>
                  Array.from(
                    { length: Math.max(1, part / 4) },
                    (_, word) =>
                      (BigInt(each) * BigInt(width) + BigInt(offset + begin)) / 4n + BigInt(word),
                  )
                ),
              );
              const banks = Map.groupBy(words, (word) => word % 32n);
              wavefronts += Math.max(...[...banks.values()].map(({ length }) => length));
            }
          }
        }
        assertEquals(
          bankConflicts(indices, { elementBytes: width, offset }).wavefronts,
          wavefronts,
        );
      },
    ),
  );
});
