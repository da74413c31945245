import { PYTORCH_EXPANDABLE } from "../../../src/memory/replay/pytorch_expandable.ts";
import { assertGolden } from "./golden_trace.ts";

const M = 2 ** 20;

// With 100 MiB a range has 112.5 MiB, which are 57 pages of 2 MiB (114 MiB) for small blocks and
// 6 pages of 20 MiB (120 MiB) for large ones. What has no memory at a range's end is not shown.

Deno.test("pytorch-expandable: mapping at the end, best fit, and unmapping when refused", () => {
  assertGolden(PYTORCH_EXPANDABLE, 100 * M, [
    { event: "a 0 1000 0", segments: "114M: 0=1K -=2047K", reserved: 2 * M, calls: 1 },
    // 15 MiB need one page of 20 MiB, and any rest is split off.
    {
      event: "a 1 15728640 0",
      segments: "114M: 0=1K -=2047K | 120M: 1=15M -=5M",
      reserved: 22 * M,
      calls: 2,
    },
    // The free 5 MiB at the end and one page more.
    {
      event: "a 2 12582912 0",
      segments: "114M: 0=1K -=2047K | 120M: 1=15M 2=12M -=13M",
      reserved: 42 * M,
      calls: 3,
    },
    {
      event: "a 3 4194304 0",
      segments: "114M: 0=1K -=2047K | 120M: 1=15M 2=12M 3=4M -=9M",
      reserved: 42 * M,
      calls: 3,
    },
    {
      event: "f 1",
      segments: "114M: 0=1K -=2047K | 120M: -=15M 2=12M 3=4M -=9M",
      reserved: 42 * M,
      calls: 3,
    },
    // 9 MiB would fit best, but with the 80 MiB behind them they count as 89.
    {
      event: "a 4 5242880 0",
      segments: "114M: 0=1K -=2047K | 120M: 4=5M -=10M 2=12M 3=4M -=9M",
      reserved: 42 * M,
      calls: 3,
    },
    {
      event: "f 2",
      segments: "114M: 0=1K -=2047K | 120M: 4=5M -=22M 3=4M -=9M",
      reserved: 42 * M,
      calls: 3,
    },
    // 9 MiB are there, 51 need 3 pages: 42 + 60 > 100. No page is free as a whole (22 MiB lie
    // from 5 to 27), so that the second try is refused as well.
    {
      event: "a 5 62914560 0",
      segments: "114M: 0=1K -=2047K | 120M: 4=5M -=22M 3=4M -=9M",
      reserved: 42 * M,
      calls: 5,
      retries: 1,
      refused: true,
    },
    {
      event: "f 3",
      segments: "114M: 0=1K -=2047K | 120M: 4=5M -=35M",
      reserved: 42 * M,
      calls: 5,
      retries: 1,
    },
    // 35 MiB are there, 25 need 2 pages.
    {
      event: "a 6 62914560 0",
      segments: "114M: 0=1K -=2047K | 120M: 4=5M 6=60M -=15M",
      reserved: 82 * M,
      calls: 6,
      retries: 1,
    },
    {
      event: "f 4",
      segments: "114M: 0=1K -=2047K | 120M: -=5M 6=60M -=15M",
      reserved: 82 * M,
      calls: 6,
      retries: 1,
    },
    // Stream 1 gets a range of its own, and no memory for it.
    {
      event: "a 7 31457280 1",
      segments: "114M: 0=1K -=2047K | 120M: -=5M 6=60M -=15M | 120M:",
      reserved: 82 * M,
      calls: 8,
      retries: 2,
      refused: true,
    },
    {
      event: "f 6",
      segments: "114M: 0=1K -=2047K | 120M: -=80M | 120M:",
      reserved: 82 * M,
      calls: 8,
      retries: 2,
    },
    // Refused, 80 MiB unmapped in one call, granted; the empty range is gone.
    {
      event: "a 8 31457280 1",
      segments: "114M: 0=1K -=2047K | 120M: 8=30M -=10M",
      reserved: 42 * M,
      calls: 11,
      retries: 3,
    },
    {
      event: "f 0",
      segments: "114M: -=2M | 120M: 8=30M -=10M",
      reserved: 42 * M,
      calls: 11,
      retries: 3,
    },
    // 10 MiB and 4 pages: 42 + 80 > 100. The small page goes back, and 40 + 80 is still too much.
    {
      event: "a 9 94371840 1",
      segments: "120M: 8=30M -=10M",
      reserved: 40 * M,
      calls: 14,
      retries: 4,
      refused: true,
    },
  ]);
});

Deno.test("pytorch-expandable: gaps are unmapped in whole pages and filled first", () => {
  assertGolden(PYTORCH_EXPANDABLE, 100 * M, [
    { event: "a 0 10485760 0", segments: "120M: 0=10M -=10M", reserved: 20 * M, calls: 1 },
    { event: "a 1 52428800 0", segments: "120M: 0=10M 1=50M", reserved: 60 * M, calls: 2 },
    {
      event: "a 2 10485760 0",
      segments: "120M: 0=10M 1=50M 2=10M -=10M",
      reserved: 80 * M,
      calls: 3,
    },
    { event: "f 1", segments: "120M: 0=10M -=50M 2=10M -=10M", reserved: 80 * M, calls: 3 },
    // Refused; of 10 to 60 MiB the pages from 20 to 60 go back; granted.
    {
      event: "a 3 31457280 1",
      segments: "120M: 0=10M -=10M x=40M 2=10M -=10M | 120M: 3=30M -=10M",
      reserved: 80 * M,
      calls: 6,
      retries: 1,
    },
    // The lowest address where 15 MiB fit is 10 MiB: one page of the gap.
    {
      event: "a 4 15728640 0",
      segments: "120M: 0=10M 4=15M -=15M x=20M 2=10M -=10M | 120M: 3=30M -=10M",
      reserved: 100 * M,
      calls: 7,
      retries: 1,
    },
    // Both sides of what is freed: it merges with what is free, not with what has no memory.
    {
      event: "f 4",
      segments: "120M: 0=10M -=30M x=20M 2=10M -=10M | 120M: 3=30M -=10M",
      reserved: 100 * M,
      calls: 7,
      retries: 1,
    },
  ]);
});
