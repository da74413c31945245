import { assertEquals, assertMatch } from "@std/assert";
import { type AccessOptions, analyzeAccess } from "../../../src/lab/analysis/mod.ts";

function advice(index: (i: number) => number, options: AccessOptions = {}): string {
  return analyzeAccess(Uint32Array.from({ length: 3200 }, (_, i) => index(i)), options).advice;
}

Deno.test("`advice` is empty when there is nothing to gain", () => {
  assertEquals(advice((i) => i), "");
  assertEquals(advice((i) => 3200 - i - 1), "");
  assertEquals(advice(() => 7), "");
  assertEquals(advice((i) => i, { elementBytes: 16 }), "");
  assertEquals(advice((i) => Math.floor(i / 32) * 1024 + i % 32), "");
});

Deno.test("`advice` names the waste and a remedy", () => {
  assertMatch(advice((i) => i + 1), /touches 5 sectors where 4 .* 20 % .* multiple of 8 elements/);
  assertMatch(
    advice((i) => 3 * i),
    /12 sectors .* 66.7 % .* 3 elements \(12 bytes\) .*structure of/,
  );
  assertMatch(advice((i) => 1024 * i), /32 sectors .* 87.5 % .*4096 bytes\) apart: transpose/);
  assertMatch(
    advice((i) => 1024 * i),
    /31 wavefronts an access: pad the stride of 1024 elements to 1025/,
  );
  assertMatch(advice((i) => i, { elementBytes: 12 }), /three parts, 12 bytes apart/);
  assertMatch(
    advice((i) => Math.floor(i / 32) * 36 + i % 32),
    /begin the first at a multiple of 8 elements \(32 bytes\), and pad the pitch of 36 .* to 40/,
  );
  assertMatch(
    advice((i) => Math.floor(i / 4) * 64 + i % 4),
    /Runs of 4 elements .* fill sectors in/,
  );
  assertMatch(advice((i) => Math.floor(i / 9) + i % 9), /Runs of 9 elements overlap .* shared/);
  assertMatch(advice((i) => i === 999 ? 10 ** 6 : i + 1), /Accesses after a jump are not aligned/);
  assertMatch(advice((i) => i % 100 * 100 + Math.floor(i / 100)), /transpose/);
});

Deno.test("`advice` suggests a remedy for random accesses when lines are reused", () => {
  const mixed = (i: number) => {
    const hash = Math.imul(i + 1 ^ i >>> 5, 0x9e3779b1);
    return Math.imul(hash ^ hash >>> 15, 0x85ebca6b) >>> 12;
  };
  assertMatch(advice(mixed), /Sort or group the indices/);
  assertMatch(advice(mixed, { reuse: true }), /Sort or group the indices/);
  const often = (i: number) => mixed(i) % 4096;
  assertMatch(
    advice(often, { reuse: true }),
    /were accessed before: keep the elements in shared memory or, if accesses come in the same/,
  );
});

Deno.test("`advice` begins with the fault when accesses are not aligned", () => {
  assertMatch(advice((i) => i, { offset: 2 }), /^Accesses of 4 bytes fault .* instead of byte 2\./);
  assertEquals(advice((i) => i, { offset: 4, elementBytes: 12 }).includes("fault"), false);
});

Deno.test("`advice` names the outliers when a sequence has a few", () => {
  assertMatch(
    advice((i) => i % 50 === 49 ? 10 ** 6 + i * i : i),
    /64 accesses leave the sequence/,
  );
});
