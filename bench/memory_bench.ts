/**
 * Allocating and freeing device and pinned memory.
 */

import { DEVICE } from "../src/ffi/command_block.ts";
import { device } from "./support/bench_device.ts";
import { CallLoop } from "./support/call_loop.ts";
import { measure, scaled } from "./support/measure.ts";

const PAIRS = scaled(100, 5);

const { library, ordinal } = device.context;
const loop = new CallLoop(library);

for (const [size, bytes] of [["4 KiB", 4096], ["1 MiB", 2 ** 20], ["64 MiB", 2 ** 26]] as const) {
  const options = { group: `allocate and free ${size}`, calls: PAIRS };
  measure("C loop", { ...options, baseline: true }, () => {
    library.block[DEVICE] = ordinal;
    loop.allocateAndFree(bytes, PAIRS);
  });
  measure("allocate() and free()", options, () => {
    for (let i = 0; i < PAIRS; i++) device.allocate("uint8", bytes).free();
  });
  measure("using buffer = allocate()", options, () => {
    for (let i = 0; i < PAIRS; i++) {
      using _buffer = device.allocate("uint8", bytes);
    }
  });
}

for (const [size, bytes] of [["64 KiB", 2 ** 16], ["16 MiB", 2 ** 24]] as const) {
  measure("pinned buffer", { group: `allocate and free ${size} of pinned memory` }, () => {
    device.allocatePinned("uint8", bytes)[Symbol.dispose]();
  });
}
