import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { BankCounter } from "../../../src/lab/analysis/bank_conflicts.ts";
import { bankConflicts } from "../../../src/lab/analysis/mod.ts";

/** Wavefronts of one warp, and those that it would take without conflicts. */
function wavefronts(elementBytes: number, index: (lane: number) => number, lanes = 32) {
  const counter = new BankCounter(elementBytes);
  const indices = Array.from({ length: lanes }, (_, lane) => index(lane));
  counter.add([-1, ...indices, -1], 1, lanes + 1);
  return [counter.wavefronts, counter.idealWavefronts];
}

Deno.test("`BankCounter` counts as many wavefronts as a GPU takes", () => {
  const word = (stride: number) => wavefronts(4, (lane) => lane * stride)[0];
  assertEquals([1, 2, 4, 8, 32, 33, 64].map(word), [1, 2, 4, 8, 32, 1, 32]);
  assertEquals(wavefronts(4, () => 1000), [1, 1]);
  assertEquals(wavefronts(1, (lane) => lane), [1, 1]);
  assertEquals(wavefronts(2, (lane) => lane), [1, 1]);
  assertEquals(wavefronts(8, (lane) => lane), [2, 2]);
  assertEquals(wavefronts(8, (lane) => 2 * lane), [4, 2]);
  assertEquals(wavefronts(16, (lane) => lane), [4, 4]);
});

Deno.test("`BankCounter` counts one wavefront when lanes share a word", () => {
  assertEquals(wavefronts(4, (lane) => lane % 2 * 32), [2, 1]);
  assertEquals(wavefronts(4, (lane) => Math.floor(lane / 16) * 32), [2, 1]);
  assertEquals(wavefronts(1, (lane) => lane % 4 + 128 * (lane % 3)), [3, 1]);
});

Deno.test("`BankCounter` counts three requests for elements of 12 bytes", () => {
  assertEquals(wavefronts(12, (lane) => lane), [3, 3]);
  assertEquals(wavefronts(12, (lane) => 32 * lane), [96, 3]);
});

Deno.test("`BankCounter` counts no wavefront for halves and quarters without lanes", () => {
  assertEquals(wavefronts(8, (lane) => lane, 16), [1, 1]);
  assertEquals(wavefronts(8, (lane) => lane, 17), [2, 2]);
  assertEquals(wavefronts(16, (lane) => lane, 1), [1, 1]);
  assertEquals(wavefronts(4, (lane) => lane, 0), [0, 0]);
});

Deno.test("`BankCounter` is exact for indices beyond 32 bits", () => {
  const base = 2 ** 52;
  assertEquals(wavefronts(4, (lane) => base + 32 * lane)[0], 32);
  assertEquals(wavefronts(8, (lane) => base + lane)[0], 2);
});

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
