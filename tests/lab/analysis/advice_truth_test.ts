// Advice that names a number is followed, and the accesses are analysed once more: it has to help.

import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  type AccessReport,
  analyzeAccess,
  bankConflicts,
  type IndexArray,
} from "../../../src/lab/analysis/mod.ts";

const COUNT = 32 * 64;

/** Runs of accesses a stride apart, which begin a pitch apart; moved until none is negative. */
function runs(columns: number, stride: number, pitch: number, base = 0): IndexArray {
  const last = Math.floor((COUNT - 1) / columns);
  const least = Math.min(0, last * pitch) + Math.min(0, (Math.min(columns, COUNT) - 1) * stride);
  return Float64Array.from(
    { length: COUNT },
    (_, i) => base - least + Math.floor(i / columns) * pitch + i % columns * stride,
  );
}

/** Numbers that a sentence of the advice names. */
function named(text: string, pattern: RegExp): number[] | null {
  const match = pattern.exec(text);
  return match === null ? null : match.slice(1).map(Number);
}

function* patterns() {
  for (const elementBytes of [1, 4, 8, 12]) {
    for (const columns of [2, 3, 8, 31, 32, 33, 64]) {
      for (const pitch of [1, 6, -6, columns + 3, -64, 100, 129]) {
        for (const base of [0, 1]) {
          for (const stride of [0, 1, -1, 32]) {
            yield { elementBytes, columns, pitch, base, stride };
          }
        }
      }
    }
  }
}

Deno.test("`advice` to pad a pitch or align runs saves sectors when followed", () => {
  let followed = 0;
  for (const { elementBytes, columns, pitch, base, stride } of patterns()) {
    const before = analyzeAccess(runs(columns, stride, pitch, base), { elementBytes });
    const padded = named(before.advice, /and pad the pitch of (\d+) elements to (\d+)\./);
    const begins = /begin the first at a multiple/.test(before.advice);
    if (before.kind !== "blocked" || !begins) continue;
    followed++;
    const { tile } = before;
    const better = padded === null ? tile!.pitch : Math.sign(tile!.pitch) * padded[1]!;
    const after = analyzeAccess(runs(tile!.columns, before.stride!, better), { elementBytes });
    assert(
      after.sectors < before.sectors,
      `${before.advice} ${before.sectors} → ${after.sectors} of ` +
        JSON.stringify({ elementBytes, columns, pitch, base, stride }),
    );
  }
  assert(followed > 100, `only ${followed} patterns were advised so`);
});

function follow(report: AccessReport): IndexArray | null {
  const { tile } = report;
  const stride = named(report.bankAdvice, /pad the stride of \d+ elements to (\d+)/);
  if (stride !== null) {
    return runs(tile?.columns ?? COUNT, Math.sign(report.stride!) * stride[0]!, tile?.pitch ?? 0);
  }
  const pitch = named(report.bankAdvice, /pad the pitch of \d+ elements to (\d+)/);
  if (pitch === null) return null;
  return runs(tile!.columns, report.stride!, Math.sign(tile!.pitch) * pitch[0]!);
}

Deno.test("`bankAdvice` to pad rows saves wavefronts when followed", () => {
  let followed = 0;
  for (const { elementBytes, columns, pitch, base, stride } of patterns()) {
    if (base !== 0) continue;
    const before = analyzeAccess(runs(columns, stride, pitch), { elementBytes });
    const better = follow(before);
    if (better === null) continue;
    followed++;
    const { conflicts } = bankConflicts(better, { elementBytes });
    assert(
      conflicts < before.bankConflicts,
      `${before.bankAdvice} ${before.bankConflicts} → ${conflicts} of ` +
        JSON.stringify({ elementBytes, columns, pitch, stride }),
    );
  }
  assert(followed > 100, `only ${followed} patterns were advised so`);
});

Deno.test("`bankAdvice` holds for few accesses, small tiles and huge distances", () => {
  const few = analyzeAccess(Uint32Array.from({ length: 16 }, (_, i) => 32 * i));
  assertMatch(few.bankAdvice, /15 wavefronts an access: pad the stride of 32 elements to 33\.$/);
  const tiles = (i: number) => (i >> 4) * 2 ** 16 + (i >> 2 & 3) * 1024 + (i & 3);
  const small = analyzeAccess(Uint32Array.from({ length: 512 }, (_, i) => tiles(i)));
  assertEquals(small.tile, { columns: 4, rows: 4, pitch: 1024 });
  assertMatch(small.bankAdvice, /: paddingFor\(\) says by how much to pad the tile's rows\.$/);
  for (const stride of [2 ** 33, 2 ** 47, 2 ** 47 + 2]) {
    const { bankAdvice } = analyzeAccess(Array.from({ length: 60 }, (_, i) => i * stride));
    assertMatch(
      bankAdvice,
      new RegExp(`pad the stride of ${stride} elements to ${stride + 1}\\.$`),
    );
  }
  const stray = analyzeAccess([...Array(500).keys()].map((i) => i % 100 === 7 ? 10 ** 6 : i));
  assertMatch(stray.bankAdvice, /, which no padding of rows avoids\.$/);
});
