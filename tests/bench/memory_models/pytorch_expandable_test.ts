import { PYTORCH_EXPANDABLE } from "../../../bench/memory_models/pytorch.ts";
import { assertGolden } from "./golden_trace.ts";

// With 100 MiB a range has 112.5 MiB, which are 57 pages of 2 MiB (114 MiB) for small blocks and
// 6 pages of 20 MiB (120 MiB) for large ones. Unmapped addresses at a range's end are not shown.

Deno.test("PYTORCH_EXPANDABLE maps at the end, takes the best fit, and unmaps after a refusal", () => {
  assertGolden(
    PYTORCH_EXPANDABLE,
    `
    device 100M
    a 0 1000 0 -> 114M: 0=1K -=2047K ; reserved 2M, calls 1
    # 15 MiB need one page of 20 MiB, and any rest is split off.
    a 1 15M 0  -> 114M: 0=1K -=2047K | 120M: 1=15M -=5M ; reserved 22M, calls 2
    # The free 5 MiB at the end and one page more.
    a 2 12M 0  -> 114M: 0=1K -=2047K | 120M: 1=15M 2=12M -=13M ; reserved 42M, calls 3
    a 3 4M 0   -> 114M: 0=1K -=2047K | 120M: 1=15M 2=12M 3=4M -=9M
    f 1        -> 114M: 0=1K -=2047K | 120M: -=15M 2=12M 3=4M -=9M
    # 9 MiB would fit best, but with the 80 MiB behind them they count as 89.
    a 4 5M 0   -> 114M: 0=1K -=2047K | 120M: 4=5M -=10M 2=12M 3=4M -=9M
    f 2        -> 114M: 0=1K -=2047K | 120M: 4=5M -=22M 3=4M -=9M
    # 9 MiB are there, 51 need 3 pages: 42 + 60 > 100. No page is free as a whole (22 MiB lie
    # from 5 to 27), so that the second try is refused as well.
    a 5 60M 0  -> refused ; calls 5, retries 1
    f 3        -> 114M: 0=1K -=2047K | 120M: 4=5M -=35M
    # 35 MiB are there, 25 need 2 pages.
    a 6 60M 0  -> 114M: 0=1K -=2047K | 120M: 4=5M 6=60M -=15M ; reserved 82M, calls 6
    f 4        -> 114M: 0=1K -=2047K | 120M: -=5M 6=60M -=15M
    # Stream 1 gets a range of its own, and no memory for it.
    a 7 30M 1  -> refused 114M: 0=1K -=2047K | 120M: -=5M 6=60M -=15M | 120M:
                ; calls 8, retries 2
    f 6        -> 114M: 0=1K -=2047K | 120M: -=80M | 120M:
    # Refused, 80 MiB unmapped in one call, granted; the empty range is gone.
    a 8 30M 1  -> 114M: 0=1K -=2047K | 120M: 8=30M -=10M ; reserved 42M, calls 11, retries 3
    f 0        -> 114M: -=2M | 120M: 8=30M -=10M
    # 10 MiB and 4 pages: 42 + 80 > 100. The small page goes back, and 40 + 80 is still too much.
    a 9 90M 1  -> refused 120M: 8=30M -=10M ; reserved 40M, calls 14, retries 4
    `,
  );
});

Deno.test("PYTORCH_EXPANDABLE unmaps gaps in whole pages and fills them first", () => {
  assertGolden(
    PYTORCH_EXPANDABLE,
    `
    device 100M
    a 0 10M 0 -> 120M: 0=10M -=10M ; reserved 20M, calls 1
    a 1 50M 0 -> 120M: 0=10M 1=50M ; reserved 60M, calls 2
    a 2 10M 0 -> 120M: 0=10M 1=50M 2=10M -=10M ; reserved 80M, calls 3
    f 1       -> 120M: 0=10M -=50M 2=10M -=10M
    # Refused; of 10 to 60 MiB the pages from 20 to 60 go back; granted.
    a 3 30M 1 -> 120M: 0=10M -=10M x=40M 2=10M -=10M | 120M: 3=30M -=10M ; calls 6, retries 1
    # The lowest address where 15 MiB fit is 10 MiB: one page of the gap.
    a 4 15M 0 -> 120M: 0=10M 4=15M -=15M x=20M 2=10M -=10M | 120M: 3=30M -=10M
               ; reserved 100M, calls 7
    # Both sides of what is freed: it merges with what is free, not with what has no memory.
    f 4       -> 120M: 0=10M -=30M x=20M 2=10M -=10M | 120M: 3=30M -=10M
    `,
  );
});

// A gap without memory from 20 to 40 MiB, and free memory behind it up to 60 MiB.
const GAP = `
    device 100M
    a 0 10M 0 -> 120M: 0=10M -=10M ; reserved 20M, calls 1
    a 1 30M 0 -> 120M: 0=10M 1=30M ; reserved 40M, calls 2
    a 2 10M 0 -> 120M: 0=10M 1=30M 2=10M -=10M ; reserved 60M, calls 3
    f 1       -> 120M: 0=10M -=30M 2=10M -=10M
    # 60 + 60 > 100: refused, the page from 20 to 40 unmapped, granted.
    a 3 50M 1 -> 120M: 0=10M -=10M x=20M 2=10M -=10M | 120M: 3=50M -=10M
               ; reserved 100M, calls 6, retries 1
    f 3       -> 120M: 0=10M -=10M x=20M 2=10M -=10M | 120M: -=60M
    # 40 MiB more are refused, and so are 100 after the 60 were unmapped: addresses remain.
    a 4 90M 1 -> refused 120M: 0=10M -=10M x=20M 2=10M -=10M | 120M:
               ; reserved 40M, calls 9, retries 2
    f 2       -> 120M: 0=10M -=10M x=20M -=20M | 120M:`;

Deno.test("PYTORCH_EXPANDABLE maps a gap and the end one after the other", () => {
  assertGolden(
    PYTORCH_EXPANDABLE,
    `${GAP}
    # 10, the gap of 20, 20 and two pages at the end.
    a 5 80M 0 -> 120M: 0=10M 5=80M -=10M | 120M: ; reserved 100M, calls 11
    `,
  );
  assertGolden(
    PYTORCH_EXPANDABLE,
    `${GAP}
    # The gap is granted, three pages at the end are not: 60 + 60 > 100. From 20 to 60 all is
    # unmapped, the gap too; five pages are too much again.
    a 5 100M 0 -> refused 120M: 0=10M -=10M | 120M: ; reserved 20M, calls 13, retries 3
    `,
  );
});

Deno.test("PYTORCH_EXPANDABLE reserves a second range when addresses run out", () => {
  assertGolden(
    PYTORCH_EXPANDABLE,
    `
    device 100M
    a 0 50M 0 -> 120M: 0=50M -=10M ; reserved 60M, calls 1
    a 1 10M 0 -> 120M: 0=50M 1=10M
    f 0       -> 120M: -=50M 1=10M
    # 60 MiB of addresses follow the live block. In a new range 4 pages are refused, and granted
    # when of the 50 MiB before the live block two pages went back.
    a 2 65M 0 -> 120M: x=40M -=10M 1=10M | 120M: 2=65M -=15M ; reserved 100M, calls 4, retries 1
    f 2       -> 120M: x=40M -=10M 1=10M | 120M: -=80M
    # 50 MiB fit into the 40 that have no memory and the 10 behind them, but 80 MiB are there: the
    # smallest that is large enough counts, without looking for addresses.
    a 3 50M 0 -> 120M: x=40M -=10M 1=10M | 120M: 3=50M -=30M
    `,
  );
});

Deno.test("PYTORCH_EXPANDABLE splits a large block for 512 bytes", () => {
  assertGolden(
    PYTORCH_EXPANDABLE,
    `
    device 100M
    a 0 20M-512 0 -> 120M: 0=20M-512 -=512 ; reserved 20M, calls 1
    # The free 512 bytes and one page more, of which 512 bytes are left.
    a 1 20M 0     -> 120M: 0=20M-512 1=20M -=512 ; reserved 40M, calls 2
    `,
  );
});

Deno.test("PYTORCH_EXPANDABLE takes the lowest of equal fits", () => {
  assertGolden(
    PYTORCH_EXPANDABLE,
    `
    device 100M
    a 0 10M 0 -> 120M: 0=10M -=10M ; reserved 20M, calls 1
    a 1 10M 0 -> 120M: 0=10M 1=10M
    a 2 10M 0 -> 120M: 0=10M 1=10M 2=10M -=10M ; reserved 40M, calls 2
    a 3 10M 0 -> 120M: 0=10M 1=10M 2=10M 3=10M
    f 2       -> 120M: 0=10M 1=10M -=10M 3=10M
    f 0       -> 120M: -=10M 1=10M -=10M 3=10M
    a 4 10M 0 -> 120M: 4=10M 1=10M -=10M 3=10M
    `,
  );
});

Deno.test("PYTORCH_EXPANDABLE keeps the pages of pending blocks", () => {
  assertGolden(
    PYTORCH_EXPANDABLE,
    `
    device 100M
    a 0 20M 0 -> 120M: 0=20M ; reserved 20M, calls 1
    a 1 20M 0 -> 120M: 0=20M 1=20M ; reserved 40M, calls 2
    u 0 1
    f 0       -> 120M: ?=20M 1=20M
    f 1       -> 120M: ?=20M -=20M
    # The events are looked at, and three pages follow the 40 MiB.
    a 2 90M 0 -> 120M: 2=90M -=10M ; reserved 100M, calls 3
    `,
  );
});
