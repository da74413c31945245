import { assertEquals } from "@std/assert";
import { BINNING } from "../../../src/memory/replay/rmm_binning.ts";
import { RMM } from "../../../src/memory/replay/rmm_pool.ts";
import { assertGolden, segmentsText } from "./golden_trace.ts";

const M = 2 ** 20;
const G = 2 ** 30;

Deno.test("rmm: half of the device at the start, and lists of streams", () => {
  const start = RMM.create({ capacityBytes: 4096 });
  assertEquals(segmentsText(start.segments!()), "2K: -=2K");
  assertEquals([start.reservedBytes, start.upstreamCalls], [2048, 1]);
  assertGolden(RMM, 4096, [
    // 1 rounds to 256.
    { event: "a 0 1 0", segments: "2K: 0=256 -=1792", reserved: 2048, calls: 1 },
    // Stream 1 has nothing and takes from stream 0, where the rest stays.
    { event: "a 1 100 1", segments: "2K: 0=256 1=256 -=1536", reserved: 2048, calls: 1 },
    // It is freed into the list of stream 1, and does not merge with what is in that of stream 0.
    { event: "f 1", segments: "2K: 0=256 -=256 -=1536", reserved: 2048, calls: 1 },
    // So stream 0 sees 1536 bytes only.
    { event: "a 2 256 0", segments: "2K: 0=256 -=256 2=256 -=1280", reserved: 2048, calls: 1 },
    // Its own list first.
    { event: "a 3 200 1", segments: "2K: 0=256 3=256 2=256 -=1280", reserved: 2048, calls: 1 },
    { event: "f 3", segments: "2K: 0=256 -=256 2=256 -=1280", reserved: 2048, calls: 1 },
    // 256 and 1280 bytes are both in the list of stream 0.
    { event: "f 2", segments: "2K: 0=256 -=256 -=1536", reserved: 2048, calls: 1 },
    { event: "f 0", segments: "2K: -=256*2 -=1536", reserved: 2048, calls: 1 },
    // 1792 fit nowhere until stream 1 has taken the list of stream 0 over and all is merged.
    { event: "a 4 1700 1", segments: "2K: 4=1792 -=256", reserved: 2048, calls: 1 },
    // 512 fit nowhere: as much again.
    {
      event: "a 5 512 0",
      segments: "2K: 4=1792 -=256 | 2K: 5=512 -=1536",
      reserved: 4096,
      calls: 2,
    },
    { event: "f 5", segments: "2K: 4=1792 -=256 | 2K: -=2K", reserved: 4096, calls: 2 },
    // Asked for 4096 and, as half is too little, for 2304; there is nothing left.
    {
      event: "a 6 2304 0",
      segments: "2K: 4=1792 -=256 | 2K: -=2K",
      reserved: 4096,
      calls: 4,
      retries: 1,
      refused: true,
    },
  ]);
});

Deno.test("rmm: growth halves its try after a refusal, down to what is needed", () => {
  assertGolden(RMM, 6000, [
    // Half is 3000, rounded down to 11 × 256 = 2816.
    { event: "a 0 2816 0", segments: "2816: 0=2816", reserved: 2816, calls: 1 },
    {
      event: "a 1 256 0",
      segments: "2816: 0=2816 | 2816: 1=256 -=2560",
      reserved: 5632,
      calls: 2,
    },
    // 5632, then 2816, which is what is needed.
    {
      event: "a 2 2816 0",
      segments: "2816: 0=2816 | 2816: 1=256 -=2560",
      reserved: 5632,
      calls: 4,
      retries: 1,
      refused: true,
    },
    {
      event: "a 3 2560 0",
      segments: "2816: 0=2816 | 2816: 1=256 3=2560",
      reserved: 5632,
      calls: 4,
      retries: 1,
    },
    // 368 are left: 5632, 2816, 1408, 704 and 352, which is no multiple of 256 and fits.
    {
      event: "a 4 256 0",
      segments: "2816: 0=2816 | 2816: 1=256 3=2560 | 352: 4=256 -=96",
      reserved: 5984,
      calls: 9,
      retries: 5,
    },
    // An alignment of 512 needs 256 more.
    {
      event: "f 0",
      segments: "2816: -=2816 | 2816: 1=256 3=2560 | 352: 4=256 -=96",
      reserved: 5984,
      calls: 9,
      retries: 5,
    },
    {
      event: "a 5 1024 0 512",
      segments: "2816: 5=1280 -=1536 | 2816: 1=256 3=2560 | 352: 4=256 -=96",
      reserved: 5984,
      calls: 9,
      retries: 5,
    },
  ]);
});

Deno.test("rmm: the lowest of equal fits is taken, and heads do not merge backwards", () => {
  assertGolden(RMM, 4096, [
    { event: "a 0 2048 0", segments: "2K: 0=2K", reserved: 2048, calls: 1 },
    { event: "a 1 2048 0", segments: "2K: 0=2K | 2K: 1=2K", reserved: 4096, calls: 2 },
    { event: "f 1", segments: "2K: 0=2K | 2K: -=2K", reserved: 4096, calls: 2 },
    { event: "f 0", segments: "2K: -=2K | 2K: -=2K", reserved: 4096, calls: 2 },
    { event: "a 2 256 0", segments: "2K: 2=256 -=1792 | 2K: -=2K", reserved: 4096, calls: 2 },
  ]);
  // Offsets that follow each other in different segments do not touch.
  assertGolden(RMM, 8192, [
    { event: "a 0 2048 0", segments: "4K: 0=2K -=2K", reserved: 4096, calls: 1 },
    { event: "a 1 2048 0", segments: "4K: 0=2K 1=2K", reserved: 4096, calls: 1 },
    { event: "a 2 2048 0", segments: "4K: 0=2K 1=2K | 4K: 2=2K -=2K", reserved: 8192, calls: 2 },
    { event: "f 0", segments: "4K: -=2K 1=2K | 4K: 2=2K -=2K", reserved: 8192, calls: 2 },
  ]);
});

const TWO_GIB = "-=512K*128 -=1M*128 -=2M*128 -=4M*128 -=32M";

Deno.test("binning: bins by power of two, first in first out, the pool for the rest", () => {
  const start = BINNING.create({ capacityBytes: 2 * G });
  assertEquals(segmentsText(start.segments!()), `1G: -=256K*128 ${TWO_GIB}`);
  assertEquals([start.reservedBytes, start.upstreamCalls], [G, 1]);
  assertGolden(BINNING, 2 * G, [
    { event: "a 0 1 0", segments: `1G: 0=256K -=256K*127 ${TWO_GIB}`, reserved: G, calls: 1 },
    // 256 KiB fit into the bin of 256 KiB.
    {
      event: "a 1 262144 0",
      segments: `1G: 0=256K 1=256K -=256K*126 ${TWO_GIB}`,
      reserved: G,
      calls: 1,
    },
    // A freed block goes to the end of the bin's list.
    { event: "f 0", segments: `1G: -=256K 1=256K -=256K*126 ${TWO_GIB}`, reserved: G, calls: 1 },
    {
      event: "a 2 1 1",
      segments: `1G: -=256K 1=256K 2=256K -=256K*125 ${TWO_GIB}`,
      reserved: G,
      calls: 1,
    },
    // One byte more than a bin holds.
    {
      event: "a 3 262145 0",
      segments: "1G: -=256K 1=256K 2=256K -=256K*125 " +
        "3=512K -=512K*127 -=1M*128 -=2M*128 -=4M*128 -=32M",
      reserved: G,
      calls: 1,
    },
    // One byte more than the largest bin holds: rounded to 256 bytes, from the pool.
    {
      event: "a 4 4194305 0",
      segments: "1G: -=256K 1=256K 2=256K -=256K*125 " +
        "3=512K -=512K*127 -=1M*128 -=2M*128 -=4M*128 4=4194560 -=29359872",
      reserved: G,
      calls: 1,
    },
    {
      event: "a 5 0 0",
      segments: "1G: -=256K 1=256K 2=256K -=256K*125 " +
        "3=512K -=512K*127 -=1M*128 -=2M*128 -=4M*128 4=4194560 -=29359872",
      reserved: G,
      calls: 1,
    },
  ]);
});

Deno.test("binning: an empty bin takes 128 blocks more from the pool, which grows", () => {
  const allocator = BINNING.create({ capacityBytes: 2 * G });
  for (let block = 0; block < 128; block++) {
    assertEquals(allocator.allocate(block, 4 * M, 0, undefined), true);
  }
  assertEquals([allocator.reservedBytes, allocator.upstreamCalls], [G, 1]);
  // The pool has 32 MiB left of its first GiB and takes as much again.
  assertEquals(allocator.allocate(128, 4 * M, 0, undefined), true);
  assertEquals([allocator.reservedBytes, allocator.upstreamCalls], [2 * G, 2]);
  assertEquals(
    segmentsText(allocator.segments!()).split(" | ")[1],
    "1G: 128=4M -=4M*127 -=512M",
  );
});

Deno.test("binning: where the bins do not fit into the device, every request is refused", () => {
  // Half is 256 MiB, for the bins of 32, 64 and 128 MiB; 256 MiB more for the next; 512 do not fit.
  const allocator = BINNING.create({ capacityBytes: 512 * M });
  assertEquals(allocator.reservedBytes, 512 * M);
  assertEquals(allocator.allocate(0, 1, 0, undefined), false);
  assertEquals(BINNING.create({ capacityBytes: G }).allocate(0, 1, 0, undefined), true);
});
