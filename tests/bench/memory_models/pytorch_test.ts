import { PYTORCH } from "../../../bench/memory_models/pytorch.ts";
import { assertGolden } from "./golden_trace.ts";

Deno.test("PYTORCH rounds sizes, splits blocks and takes the best fit", () => {
  assertGolden(
    PYTORCH,
    `
    device 1G
    # 1000 rounds to 1024: small, so a segment of 2 MiB, and the rest is at least 512 bytes.
    a 0 1000 0    -> 2M: 0=1K -=2047K ; reserved 2M, calls 1
    # 1 MiB is the largest small size.
    a 1 1M 0      -> 2M: 0=1K 1=1M -=1023K
    # One byte more rounds to 1 MiB + 512 and is large: 20 MiB.
    a 2 1M+1 0    -> 2M: 0=1K 1=1M -=1023K | 20M: 2=1M+512 -=19M-512 ; reserved 22M, calls 2
    # An exact fit leaves nothing to split off.
    a 3 1023K 0   -> 2M: 0=1K 1=1M 3=1023K | 20M: 2=1M+512 -=19M-512
    # A small request never takes a large block: a second small segment.
    a 4 1 0       -> 2M: 0=1K 1=1M 3=1023K | 20M: 2=1M+512 -=19M-512
                   | 2M: 4=512 -=2M-512 ; reserved 24M, calls 3
    # Both neighbours are live.
    f 1           -> 2M: 0=1K -=1M 3=1023K | 20M: 2=1M+512 -=19M-512 | 2M: 4=512 -=2M-512
    # Merges with what follows.
    f 0           -> 2M: -=1025K 3=1023K | 20M: 2=1M+512 -=19M-512 | 2M: 4=512 -=2M-512
    # 1025 KiB is the smaller of the two that fit.
    a 5 600K 0    -> 2M: 5=600K -=425K 3=1023K | 20M: 2=1M+512 -=19M-512 | 2M: 4=512 -=2M-512
    # 10 MiB − 1 rounds to 10 MiB, and 9 MiB − 512 is more than 1 MiB.
    a 6 10M-1 0   -> 2M: 5=600K -=425K 3=1023K | 20M: 2=1M+512 6=10M -=9M-512
                   | 2M: 4=512 -=2M-512
    # 9 MiB − 512 − 8 MiB is not more than 1 MiB, so that a large block stays whole.
    a 7 8M 0      -> 2M: 5=600K -=425K 3=1023K | 20M: 2=1M+512 6=10M 7=9M-512
                   | 2M: 4=512 -=2M-512
    # 10 MiB − 512 is below 10 MiB: a shared segment of 20 MiB.
    a 8 10M-512 0 -> 2M: 5=600K -=425K 3=1023K | 20M: 2=1M+512 6=10M 7=9M-512
                   | 2M: 4=512 -=2M-512 | 20M: 8=10M-512 -=10M+512 ; reserved 44M, calls 4
    # It rounds to 10 MiB + 1024, 512 too much for what is free: 12 MiB of its own.
    a 9 10M+513 0 -> 2M: 5=600K -=425K 3=1023K | 20M: 2=1M+512 6=10M 7=9M-512
                   | 2M: 4=512 -=2M-512 | 20M: 8=10M-512 -=10M+512
                   | 12M: 9=10M+1K -=2M-1K ; reserved 56M, calls 5
    `,
  );
});

Deno.test("PYTORCH splits a large block for more than 1 MiB", () => {
  assertGolden(
    PYTORCH,
    `
    device 1G
    # A segment of 12 MiB, all of it used.
    a 0 12M 0     -> 12M: 0=12M ; reserved 12M, calls 1
    f 0           -> 12M: -=12M
    # 12 − 11 = 1 MiB is not more than 1 MiB.
    a 1 11M 0     -> 12M: 1=12M
    f 1           -> 12M: -=12M
    # 512 bytes less asked for leave 1 MiB + 512.
    a 2 11M-512 0 -> 12M: 2=11M-512 -=1M+512
    `,
  );
});

Deno.test("PYTORCH splits a small block for 512 bytes", () => {
  assertGolden(
    PYTORCH,
    `
    device 1G
    a 0 1M 0     -> 2M: 0=1M -=1M ; reserved 2M, calls 1
    a 1 1M-512 0 -> 2M: 0=1M 1=1M-512 -=512
    a 2 1 0      -> 2M: 0=1M 1=1M-512 2=512
    `,
  );
});

Deno.test("PYTORCH takes the lowest of equal fits", () => {
  assertGolden(
    PYTORCH,
    `
    device 1G
    a 0 12M 0 -> 12M: 0=12M ; reserved 12M, calls 1
    a 1 12M 0 -> 12M: 0=12M | 12M: 1=12M ; reserved 24M, calls 2
    f 1       -> 12M: 0=12M | 12M: -=12M
    f 0       -> 12M: -=12M | 12M: -=12M
    a 2 12M 0 -> 12M: 2=12M | 12M: -=12M
    `,
  );
});

Deno.test("PYTORCH keeps blocks in their stream and defers frees after other uses", () => {
  assertGolden(
    PYTORCH,
    `
    device 1G
    a 0 2M 0     -> 20M: 0=2M -=18M ; reserved 20M, calls 1
    u 0 1
    # It was used on stream 1, so that an event is recorded, which nobody looks at before...
    f 0          -> 20M: ?=2M -=18M
    s 1
    # ...the next allocation, of 0 bytes even less.
    a 1 0 0
    a 2 3M 0     -> 20M: 2=3M -=17M
    # What is free belongs to stream 0.
    a 3 2M 1     -> 20M: 2=3M -=17M | 20M: 3=2M -=18M ; reserved 40M, calls 2
    # A use on its own stream is none.
    u 2 0
    f 2          -> 20M: -=20M | 20M: 3=2M -=18M
    d 1
    f 3          -> 20M: -=20M | 20M: -=20M
    f 1
    # An alignment of 64 KiB asks for 64 KiB − 512 more.
    a 4 2M 0 64K -> 20M: 4=2M+64K-512 -=18M-64K+512 | 20M: -=20M
    `,
  );
});

Deno.test("PYTORCH merges pending blocks when it queries their events", () => {
  assertGolden(
    PYTORCH,
    `
    device 20M
    a 0 2M 0  -> 20M: 0=2M -=18M ; reserved 20M, calls 1
    a 1 2M 0  -> 20M: 0=2M 1=2M -=16M
    u 0 1
    u 0 2
    u 0 1
    f 0       -> 20M: ?=2M 1=2M -=16M
    # With what is free behind it only.
    f 1       -> 20M: ?=2M -=18M
    # There is no memory for a second segment, and none is asked for.
    a 2 20M 0 -> 20M: 2=20M
    `,
  );
});

Deno.test("PYTORCH returns unsplit segments after a refusal and retries once", () => {
  assertGolden(
    PYTORCH,
    `
    device 44M
    a 0 10M 0 -> 10M: 0=10M ; reserved 10M, calls 1
    a 1 2M 0  -> 10M: 0=10M | 20M: 1=2M -=18M ; reserved 30M, calls 2
    f 0       -> 10M: -=10M | 20M: 1=2M -=18M
    a 2 12M 0 -> 10M: -=10M | 20M: 1=2M 2=12M -=6M
    # 30 + 20 > 44: refused, 10 MiB given back, granted.
    a 3 20M 0 -> 20M: 1=2M 2=12M -=6M | 20M: 3=20M ; reserved 40M, calls 5, retries 1
    # 7 MiB want a segment of 20 MiB. Nothing can be given back, and it is asked for again.
    a 4 7M 0  -> refused ; calls 7, retries 2
    f 1       -> 20M: -=2M 2=12M -=6M | 20M: 3=20M
    f 2       -> 20M: -=20M | 20M: 3=20M
    # 20 + 24 = 44 fits exactly once 20 MiB went back.
    a 5 24M 0 -> 20M: 3=20M | 24M: 5=24M ; reserved 44M, calls 10, retries 3
    `,
  );
});

Deno.test("PYTORCH returns segments of all streams and both pools", () => {
  assertGolden(
    PYTORCH,
    `
    device 44M
    a 0 2M 1  -> 20M: 0=2M -=18M ; reserved 20M, calls 1
    a 1 1 2   -> 20M: 0=2M -=18M | 2M: 1=512 -=2M-512 ; reserved 22M, calls 2
    f 0       -> 20M: -=20M | 2M: 1=512 -=2M-512
    f 1       -> 20M: -=20M | 2M: -=2M
    # Refused, 20 and 2 MiB given back, granted.
    a 2 44M 0 -> 44M: 2=44M ; reserved 44M, calls 6, retries 1
    `,
  );
});
