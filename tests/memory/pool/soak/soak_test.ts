// A short soak of each kind of pool; `deno task soak` goes on for long.

import { assert } from "@std/assert";
import { PoolSoak, SOAK_SUBJECTS } from "./pool_soak.ts";

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
