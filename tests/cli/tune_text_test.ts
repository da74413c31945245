// The table of `gridstride tune`: the best one first, and others beside what it took in the rounds
// that both were in.

import { assertEquals } from "@std/assert";
import type { TuningRow } from "../../src/lab/tuning/mod.ts";
import { describeTuning } from "../../src/cli/tune_text.ts";
import type { Macros } from "../../src/cli/tune_configurations.ts";

function rowOf(
  tile: number,
  samples: readonly number[],
  more: Partial<TuningRow<Macros>> = {},
): TuningRow<Macros> {
  const sorted = samples.toSorted((one, other) => one - other);
  return {
    configuration: { TILE: tile },
    medianMicroseconds: sorted.length === 0 ? Infinity : sorted[sorted.length >> 1]!,
    failed: samples.length === 0,
    samples,
    stoppedEarly: false,
    refuted: false,
    ...more,
  };
}

Deno.test("what was dropped is compared in its own rounds, and never listed before the best", () => {
  const fast = [10, 11, 10];
  // The machine became half as fast once the others were dropped.
  const best = rowOf(16, [...fast, 20, 21, 22, 21, 20, 22]);
  const dropped = rowOf(8, [15, 16, 15], { stoppedEarly: true });
  const refuted = rowOf(32, [9, 9, 9, 19, 19, 19, 19, 19, 19], { refuted: true });
  const failed = rowOf(64, [], { reason: "RangeError: too large\n    and more" });
  const text = describeTuning({
    best: best.configuration,
    origin: "timed",
    report: [failed, dropped, refuted, best],
  });
  assertEquals(
    text,
    `   TILE      µs  × best
─  ────  ──────  ──────  ──────────────────────────────────────────
→    16   20.00    1.00
     32   19.00    0.95  not faster than the first when timed again
      8   15.00    1.50  dropped early
     64  failed          RangeError: too large

best: TILE=16 (timed now)`,
  );
});
