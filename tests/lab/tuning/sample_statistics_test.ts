/**
 * Medians and their intervals, against definitions and against simulated samples.
 */

import { assert, assertEquals } from "@std/assert";
import {
  median,
  medianInterval,
  medianRank,
  range,
} from "../../../src/lab/tuning/sample_statistics.ts";
import { generator } from "./simulated_times.ts";

Deno.test("the median is the middle one, or the mean of two", () => {
  assertEquals(median([3]), 3);
  assertEquals(median([9, 1, 5]), 5);
  assertEquals(median([4, 1, 3, 2]), 2.5);
  assertEquals(median([]), NaN);
  const samples = [2, 1];
  median(samples);
  assertEquals(samples, [2, 1], "they stay in their order");
});

/** How often fewer than k of n throws of a coin are heads, by counting. */
function tail(n: number, k: number): number {
  let sum = 0;
  let ways = 1;
  for (let heads = 0; heads < k; heads++) {
    sum += ways;
    ways = ways * (n - heads) / (heads + 1);
  }
  return sum / 2 ** n;
}

Deno.test("the rank is the largest whose interval misses the median no more often than allowed", () => {
  for (const error of [0.2, 0.05, 0.01, 1 / 128, 1e-4]) {
    for (let n = 0; n <= 200; n++) {
      const rank = medianRank(n, error);
      assert(rank === 0 || 2 * tail(n, rank) <= error, `${n} samples, rank ${rank}`);
      const next = rank + 1;
      assert(2 * next > n || 2 * tail(n, next) > error, `${n} samples, rank ${next} would do`);
    }
  }
  // Eight is where an interval from the least to the greatest is wrong once in 128 times.
  assertEquals([medianRank(7, 1 / 128), medianRank(8, 1 / 128)], [0, 1]);
  assertEquals(medianRank(10_000, 0.01) > 4000, true);
});

Deno.test("the interval covers the median as often as it says, also of skewed noise", () => {
  const random = generator(7);
  for (const count of [8, 15, 30]) {
    let missed = 0;
    const rounds = 4000;
    for (let round = 0; round < rounds; round++) {
      // Exponential, as times are that something disturbs: the median is ln 2.
      const samples = Array.from({ length: count }, () => -Math.log(1 - random()));
      const { lower, upper } = medianInterval(samples, 0.05);
      if (lower > Math.LN2 || upper < Math.LN2) missed++;
    }
    assert(missed <= rounds * 0.06, `${count} samples: ${missed} of ${rounds}`);
  }
});

Deno.test("too few samples say nothing, and a range is from the least to the greatest", () => {
  assertEquals(medianInterval([1, 2, 3], 0.01), { lower: -Infinity, upper: Infinity });
  assertEquals(range([3, 1, 2]), { lower: 1, upper: 3 });
});
