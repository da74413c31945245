import { CUPY } from "../../../bench/memory_models/cupy.ts";
import { assertGolden } from "./golden_trace.ts";

Deno.test("CUPY makes exact requests, takes the best fit per stream, and tries three times", () => {
  assertGolden(
    CUPY,
    `
    device 8K
    a 0 1 0    -> 512: 0=512 ; reserved 512, calls 1
    # 1025 rounds to three units of 512.
    a 1 1025 0 -> 512: 0=512 | 1536: 1=1536 ; reserved 2K, calls 2
    f 1        -> 512: 0=512 | 1536: -=1536
    # There is no smallest rest.
    a 2 513 0  -> 512: 0=512 | 1536: 2=1K -=512
    # What is free belongs to stream 0.
    a 3 512 1  -> 512: 0=512 | 1536: 2=1K -=512 | 512: 3=512 ; reserved 2560, calls 3
    a 4 500 0  -> 512: 0=512 | 1536: 2=1K 4=512 | 512: 3=512
    f 2        -> 512: 0=512 | 1536: -=1K 4=512 | 512: 3=512
    f 4        -> 512: 0=512 | 1536: -=1536 | 512: 3=512
    # 2560 + 5632 = 8192: all there is.
    a 5 5632 0 -> 512: 0=512 | 1536: -=1536 | 512: 3=512 | 5632: 5=5632 ; reserved 8K, calls 4
    f 0        -> 512: -=512 | 1536: -=1536 | 512: 3=512 | 5632: 5=5632
    # Refused, 512 and 1536 bytes given back, granted.
    a 6 2K 0   -> 512: 3=512 | 5632: 5=5632 | 2K: 6=2K ; calls 8, retries 1
    # A block used elsewhere is free at once: the pool knows no uses.
    u 3 0
    # Nothing to give back: refused three times.
    a 7 512 0  -> refused ; calls 11, retries 3
    f 3        -> 512: -=512 | 5632: 5=5632 | 2K: 6=2K
    # What stream 1 has free does not serve stream 0 before it went back to the device.
    a 8 512 0  -> 5632: 5=5632 | 2K: 6=2K | 512: 8=512 ; calls 14, retries 4
    # 0 bytes are nobody's, and neither is what becomes of them.
    a 9 0 0
    u 9 1
    f 9
    `,
  );
});

Deno.test("CUPY keeps a split segment with a live part", () => {
  assertGolden(
    CUPY,
    `
    device 4K
    a 0 2K 0   -> 2K: 0=2K ; reserved 2K, calls 1
    f 0        -> 2K: -=2K
    a 1 512 0  -> 2K: 1=512 -=1536
    a 2 2560 0 -> refused ; calls 4, retries 2
    # Merges on both sides: 512 from between.
    a 3 512 0  -> 2K: 1=512 3=512 -=1K
    f 1        -> 2K: -=512 3=512 -=1K
    f 3        -> 2K: -=2K
    # Refused, then given back and granted.
    a 4 2560 0 -> 2560: 4=2560 ; reserved 2560, calls 7, retries 3
    `,
  );
});

Deno.test("CUPY takes the oldest of equal fits and aligns to 512 bytes", () => {
  assertGolden(
    CUPY,
    `
    device 8K
    a 0 1K 0      -> 1K: 0=1K ; reserved 1K, calls 1
    a 1 1K 0      -> 1K: 0=1K | 1K: 1=1K ; reserved 2K, calls 2
    f 1           -> 1K: 0=1K | 1K: -=1K
    f 0           -> 1K: -=1K | 1K: -=1K
    a 2 1K 0 512  -> 1K: 2=1K | 1K: -=1K
    # Wherever 512 more bytes begin, there is a multiple of 1024 with 512 after it.
    a 3 512 0 1K  -> 1K: 2=1K | 1K: 3=1K
    `,
  );
});
