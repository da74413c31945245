import { RMM } from "../../../bench/memory_models/rmm.ts";
import { assertGolden } from "./golden_trace.ts";

Deno.test("RMM reserves half of the device at the start and keeps lists of streams", () => {
  assertGolden(
    RMM,
    `
    device 4K
    start      -> 2K: -=2K ; reserved 2K, calls 1
    # 1 rounds to 256.
    a 0 1 0    -> 2K: 0=256 -=1792
    # Stream 1 has nothing and takes from stream 0, where the rest stays.
    a 1 100 1  -> 2K: 0=256 1=256 -=1536
    # It is freed into the list of stream 1, and does not merge with what is in that of stream 0.
    f 1        -> 2K: 0=256 -=256 -=1536
    # So stream 0 sees 1536 bytes only.
    a 2 256 0  -> 2K: 0=256 -=256 2=256 -=1280
    # Its own list first.
    a 3 200 1  -> 2K: 0=256 3=256 2=256 -=1280
    f 3        -> 2K: 0=256 -=256 2=256 -=1280
    # 256 and 1280 bytes are both in the list of stream 0.
    f 2        -> 2K: 0=256 -=256 -=1536
    f 0        -> 2K: -=256*2 -=1536
    # 1792 fit nowhere until stream 1 has taken the list of stream 0 over and all is merged.
    a 4 1700 1 -> 2K: 4=1792 -=256
    # 512 fit nowhere: as much again.
    a 5 512 0  -> 2K: 4=1792 -=256 | 2K: 5=512 -=1536 ; reserved 4K, calls 2
    f 5        -> 2K: 4=1792 -=256 | 2K: -=2K
    # Asked for 4096 and, as half is too little, for 2304; there is nothing left.
    a 6 2304 0 -> refused ; calls 4, retries 1
    `,
  );
});

Deno.test("RMM halves its request after a refusal, down to the needed size", () => {
  assertGolden(
    RMM,
    `
    device 6000
    # Half is 3000, rounded down to 11 × 256 = 2816.
    start        -> 2816: -=2816 ; reserved 2816, calls 1
    a 0 2816 0   -> 2816: 0=2816
    a 1 256 0    -> 2816: 0=2816 | 2816: 1=256 -=2560 ; reserved 5632, calls 2
    # 5632, then 2816, which is what is needed.
    a 2 2816 0   -> refused ; calls 4, retries 1
    a 3 2560 0   -> 2816: 0=2816 | 2816: 1=256 3=2560
    # 368 are left: 5632, 2816, 1408, 704 and 352, which is no multiple of 256 and fits.
    a 4 256 0    -> 2816: 0=2816 | 2816: 1=256 3=2560 | 352: 4=256 -=96
                  ; reserved 5984, calls 9, retries 5
    f 0          -> 2816: -=2816 | 2816: 1=256 3=2560 | 352: 4=256 -=96
    # An alignment of 512 needs 256 more.
    a 5 1K 0 512 -> 2816: 5=1280 -=1536 | 2816: 1=256 3=2560 | 352: 4=256 -=96
    # 0 bytes are nobody's.
    a 6 0 0
    f 6
    `,
  );
});

Deno.test("RMM takes the lowest of equal fits and merges within a segment", () => {
  assertGolden(
    RMM,
    `
    device 4K
    start     -> 2K: -=2K ; reserved 2K, calls 1
    a 0 2K 0  -> 2K: 0=2K
    a 1 2K 0  -> 2K: 0=2K | 2K: 1=2K ; reserved 4K, calls 2
    f 1       -> 2K: 0=2K | 2K: -=2K
    f 0       -> 2K: -=2K | 2K: -=2K
    a 2 256 0 -> 2K: 2=256 -=1792 | 2K: -=2K
    `,
  );
  // Offsets that follow each other in different segments do not touch.
  assertGolden(
    RMM,
    `
    device 8K
    start    -> 4K: -=4K ; reserved 4K, calls 1
    a 0 2K 0 -> 4K: 0=2K -=2K
    a 1 2K 0 -> 4K: 0=2K 1=2K
    a 2 2K 0 -> 4K: 0=2K 1=2K | 4K: 2=2K -=2K ; reserved 8K, calls 2
    f 0      -> 4K: -=2K 1=2K | 4K: 2=2K -=2K
    `,
  );
});

Deno.test("RMM searches and takes over lists in the order of first use", () => {
  assertGolden(
    RMM,
    `
    device 4K
    start      -> 2K: -=2K ; reserved 2K, calls 1
    a 0 256 0  -> 2K: 0=256 -=1792
    a 1 256 1  -> 2K: 0=256 1=256 -=1536
    a 2 256 2  -> 2K: 0=256 1=256 2=256 -=1280
    a 3 1280 0 -> 2K: 0=256 1=256 2=256 3=1280
    # The other way round than they were first used.
    f 2        -> 2K: 0=256 1=256 -=256 3=1280
    f 1        -> 2K: 0=256 -=256*2 3=1280
    # Streams 1 and 2 have 256 bytes each: those of stream 1.
    a 4 256 3  -> 2K: 0=256 4=256 -=256 3=1280
    f 4        -> 2K: 0=256 -=256*2 3=1280
    # Stream 1 takes over the lists of streams 0, 2 and 3, until 512 bytes have merged.
    a 5 512 1  -> 2K: 0=256 5=512 3=1280
    f 5        -> 2K: 0=256 -=512 3=1280
    f 3        -> 2K: 0=256 -=512 -=1280
    f 0        -> 2K: -=256 -=512 -=1280
    # The list of stream 0 was taken over and is still the first one.
    a 6 256 2  -> 2K: 6=256 -=512 -=1280
    `,
  );
});
