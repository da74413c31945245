// A short soak of each kind of pool; `deno task soak` goes on for long.

import { assert, assertEquals } from "@std/assert";
import { PoolSoak, SOAK_SUBJECTS } from "./pool_soak.ts";
import { RandomNumbers } from "./random_numbers.ts";

for (const subject of Object.keys(SOAK_SUBJECTS)) {
  Deno.test(`a soak of ${subject} memory finds nothing wrong, and does everything`, () => {
    const seed = Date.now() % 2 ** 31;
    try {
      const pool = new PoolSoak(subject, seed);
      for (let count = 0; count < 5; count++) {
        pool.run(20_000);
        pool.check();
      }
      const { cacheHits, cacheMisses, upstreamCalls, marks } = pool.statistics;
      assert(Math.min(cacheHits, cacheMisses, upstreamCalls, marks) > 20);
      pool.finish();
    } catch (error) {
      throw new Error(`With seed ${seed}`, { cause: error });
    }
  });
}

Deno.test("random numbers are the same for the same seed, and spread", () => {
  const first = new RandomNumbers(7);
  const second = new RandomNumbers(7);
  const other = new RandomNumbers(8);
  const numbers = Array.from({ length: 1000 }, () => first.below(10));
  assertEquals(Array.from({ length: 1000 }, () => second.below(10)), numbers);
  assert(Array.from({ length: 1000 }, () => other.below(10)).join() !== numbers.join());
  for (let digit = 0; digit < 10; digit++) {
    assert(numbers.filter((number) => number === digit).length > 50);
  }
  assert([0, 2 ** 31, -1].every((seed) => new RandomNumbers(seed).next() !== 0));
});
