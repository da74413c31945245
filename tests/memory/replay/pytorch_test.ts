import { PYTORCH } from "../../../src/memory/replay/pytorch_segments.ts";
import { assertGolden } from "./golden_trace.ts";

const M = 2 ** 20;

Deno.test("pytorch: rounding, pools, segment sizes, splitting and best fit", () => {
  assertGolden(PYTORCH, 1024 * M, [
    // 1000 rounds to 1024: small, so a segment of 2 MiB, and the rest is at least 512 bytes.
    { event: "a 0 1000 0", segments: "2M: 0=1K -=2047K", reserved: 2 * M, calls: 1 },
    // 1 MiB is the largest small size.
    { event: "a 1 1048576 0", segments: "2M: 0=1K 1=1M -=1023K", reserved: 2 * M, calls: 1 },
    // One byte more rounds to 1 MiB + 512 and is large: 20 MiB, of which 19922432 bytes are left.
    {
      event: "a 2 1048577 0",
      segments: "2M: 0=1K 1=1M -=1023K | 20M: 2=1049088 -=19922432",
      reserved: 22 * M,
      calls: 2,
    },
    // An exact fit leaves nothing to split off.
    {
      event: "a 3 1047552 0",
      segments: "2M: 0=1K 1=1M 3=1023K | 20M: 2=1049088 -=19922432",
      reserved: 22 * M,
      calls: 2,
    },
    // A small request never takes a large block: a second small segment. 2 MiB − 512 is left.
    {
      event: "a 4 1 0",
      segments: "2M: 0=1K 1=1M 3=1023K | 20M: 2=1049088 -=19922432 | 2M: 4=512 -=2096640",
      reserved: 24 * M,
      calls: 3,
    },
    // Both neighbours are live.
    {
      event: "f 1",
      segments: "2M: 0=1K -=1M 3=1023K | 20M: 2=1049088 -=19922432 | 2M: 4=512 -=2096640",
      reserved: 24 * M,
      calls: 3,
    },
    // Merges with what follows.
    {
      event: "f 0",
      segments: "2M: -=1025K 3=1023K | 20M: 2=1049088 -=19922432 | 2M: 4=512 -=2096640",
      reserved: 24 * M,
      calls: 3,
    },
    // 1025 KiB is the smaller of the two that fit.
    {
      event: "a 5 614400 0",
      segments: "2M: 5=600K -=425K 3=1023K | 20M: 2=1049088 -=19922432 | 2M: 4=512 -=2096640",
      reserved: 24 * M,
      calls: 3,
    },
    // 10 MiB − 1 rounds to 10 MiB, and 19922432 − 10485760 = 9436672 is more than 1 MiB.
    {
      event: "a 6 10485759 0",
      segments: "2M: 5=600K -=425K 3=1023K | 20M: 2=1049088 6=10M -=9436672 | 2M: 4=512 -=2096640",
      reserved: 24 * M,
      calls: 3,
    },
    // 9436672 − 8 MiB = 1048064 is not more than 1 MiB, so that a large block stays whole.
    {
      event: "a 7 8388608 0",
      segments: "2M: 5=600K -=425K 3=1023K | 20M: 2=1049088 6=10M 7=9436672 | 2M: 4=512 -=2096640",
      reserved: 24 * M,
      calls: 3,
    },
    // 10 MiB − 512 is below 10 MiB: a shared segment of 20 MiB.
    {
      event: "a 8 10485248 0",
      segments: "2M: 5=600K -=425K 3=1023K | 20M: 2=1049088 6=10M 7=9436672 | " +
        "2M: 4=512 -=2096640 | 20M: 8=10485248 -=10486272",
      reserved: 44 * M,
      calls: 4,
    },
    // 10486273 rounds to 10486784 = 10241 KiB, 512 too much for what is free: 12 MiB of its own.
    {
      event: "a 9 10486273 0",
      segments: "2M: 5=600K -=425K 3=1023K | 20M: 2=1049088 6=10M 7=9436672 | " +
        "2M: 4=512 -=2096640 | 20M: 8=10485248 -=10486272 | 12M: 9=10241K -=2047K",
      reserved: 56 * M,
      calls: 5,
    },
  ]);
});

Deno.test("pytorch: at exactly 1 MiB left a large block stays whole, at more it is split", () => {
  assertGolden(PYTORCH, 1024 * M, [
    // A segment of 12 MiB, all of it used.
    { event: "a 0 12582912 0", segments: "12M: 0=12M", reserved: 12 * M, calls: 1 },
    { event: "f 0", segments: "12M: -=12M", reserved: 12 * M, calls: 1 },
    // 12 − 11 = 1 MiB is not more than 1 MiB.
    { event: "a 1 11534336 0", segments: "12M: 1=12M", reserved: 12 * M, calls: 1 },
    { event: "f 1", segments: "12M: -=12M", reserved: 12 * M, calls: 1 },
    // 512 bytes less asked for leave 1 MiB + 512.
    {
      event: "a 2 11533824 0",
      segments: "12M: 2=11533824 -=1049088",
      reserved: 12 * M,
      calls: 1,
    },
  ]);
});

Deno.test("pytorch: streams keep their blocks, and uses elsewhere defer the release", () => {
  assertGolden(PYTORCH, 1024 * M, [
    { event: "a 0 2097152 0", segments: "20M: 0=2M -=18M", reserved: 20 * M, calls: 1 },
    { event: "u 0 1", segments: "20M: 0=2M -=18M", reserved: 20 * M, calls: 1 },
    // It was used on stream 1, so that an event is recorded, which nobody looks at before...
    { event: "f 0", segments: "20M: ?=2M -=18M", reserved: 20 * M, calls: 1 },
    { event: "s 1", segments: "20M: ?=2M -=18M", reserved: 20 * M, calls: 1 },
    // ...the next allocation, of 0 bytes even less.
    { event: "a 1 0 0", segments: "20M: ?=2M -=18M", reserved: 20 * M, calls: 1 },
    { event: "a 2 3145728 0", segments: "20M: 2=3M -=17M", reserved: 20 * M, calls: 1 },
    // What is free belongs to stream 0.
    {
      event: "a 3 2097152 1",
      segments: "20M: 2=3M -=17M | 20M: 3=2M -=18M",
      reserved: 40 * M,
      calls: 2,
    },
    // A use on its own stream is none.
    {
      event: "u 2 0",
      segments: "20M: 2=3M -=17M | 20M: 3=2M -=18M",
      reserved: 40 * M,
      calls: 2,
    },
    { event: "f 2", segments: "20M: -=20M | 20M: 3=2M -=18M", reserved: 40 * M, calls: 2 },
    { event: "d 1", segments: "20M: -=20M | 20M: 3=2M -=18M", reserved: 40 * M, calls: 2 },
    { event: "f 3", segments: "20M: -=20M | 20M: -=20M", reserved: 40 * M, calls: 2 },
    { event: "f 1", segments: "20M: -=20M | 20M: -=20M", reserved: 40 * M, calls: 2 },
    // An alignment of 64 KiB asks for 64 KiB − 512 more: 2 MiB + 64 KiB − 512 = 2162176.
    {
      event: "a 4 2097152 0 65536",
      segments: "20M: 4=2162176 -=18809344 | 20M: -=20M",
      reserved: 40 * M,
      calls: 2,
    },
  ]);
});

Deno.test("pytorch: after a refusal all that is not split goes back, then one retry", () => {
  assertGolden(PYTORCH, 44 * M, [
    { event: "a 0 10485760 0", segments: "10M: 0=10M", reserved: 10 * M, calls: 1 },
    {
      event: "a 1 2097152 0",
      segments: "10M: 0=10M | 20M: 1=2M -=18M",
      reserved: 30 * M,
      calls: 2,
    },
    { event: "f 0", segments: "10M: -=10M | 20M: 1=2M -=18M", reserved: 30 * M, calls: 2 },
    {
      event: "a 2 12582912 0",
      segments: "10M: -=10M | 20M: 1=2M 2=12M -=6M",
      reserved: 30 * M,
      calls: 2,
    },
    // 30 + 20 > 44: refused, 10 MiB given back, granted.
    {
      event: "a 3 20971520 0",
      segments: "20M: 1=2M 2=12M -=6M | 20M: 3=20M",
      reserved: 40 * M,
      calls: 5,
      retries: 1,
    },
    // 7 MiB want a segment of 20 MiB. Nothing can be given back, and it is asked for again.
    {
      event: "a 4 7340032 0",
      segments: "20M: 1=2M 2=12M -=6M | 20M: 3=20M",
      reserved: 40 * M,
      calls: 7,
      retries: 2,
      refused: true,
    },
    {
      event: "f 1",
      segments: "20M: -=2M 2=12M -=6M | 20M: 3=20M",
      reserved: 40 * M,
      calls: 7,
      retries: 2,
    },
    { event: "f 2", segments: "20M: -=20M | 20M: 3=20M", reserved: 40 * M, calls: 7, retries: 2 },
    // 20 + 24 = 44 fits exactly once 20 MiB went back.
    {
      event: "a 5 25165824 0",
      segments: "20M: 3=20M | 24M: 5=24M",
      reserved: 44 * M,
      calls: 10,
      retries: 3,
    },
  ]);
});
