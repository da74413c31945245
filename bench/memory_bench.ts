/**
 * Allocating and freeing pinned memory, and device memory past the pool; `pool_bench.ts` is about
 * the pool.
 */

import { device } from "./support/bench_device.ts";
import { measure, scaled } from "./support/measure.ts";

const PAIRS = scaled(100, 5);

for (const [size, bytes] of [["4 KiB", 4096], ["64 MiB", 2 ** 26]] as const) {
  measure("pool.allocateDirect() and free()", {
    group: `allocate and free ${size} past the pool`,
    calls: PAIRS,
  }, () => {
    for (let i = 0; i < PAIRS; i++) device.pool.allocateDirect("uint8", bytes).free();
  });
}

for (const [size, bytes] of [["64 KiB", 2 ** 16], ["16 MiB", 2 ** 24]] as const) {
  measure("pinned buffer", { group: `allocate and free ${size} of pinned memory` }, () => {
    device.allocatePinned("uint8", bytes)[Symbol.dispose]();
  });
}
