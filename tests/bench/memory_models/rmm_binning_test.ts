import { assertEquals } from "@std/assert";
import { BINNING } from "../../../bench/memory_models/rmm.ts";
import { assertGolden, segmentsText } from "./golden_trace.ts";

const M = 2 ** 20;
const G = 2 ** 30;

// The other bins of a pool of 1 GiB, and its rest.
const OTHERS = "-=512K*128 -=1M*128 -=2M*128 -=4M*128 -=32M";

Deno.test("BINNING has bins by power of two, first in first out, and the pool for the rest", () => {
  assertGolden(
    BINNING,
    `
    device 2G
    start        -> 1G: -=256K*128 ${OTHERS} ; reserved 1G, calls 1
    a 0 1 0      -> 1G: 0=256K -=256K*127 ${OTHERS}
    # 256 KiB fit into the bin of 256 KiB.
    a 1 256K 0   -> 1G: 0=256K 1=256K -=256K*126 ${OTHERS}
    # A freed block goes to the end of the bin's list.
    f 0          -> 1G: -=256K 1=256K -=256K*126 ${OTHERS}
    a 2 1 1      -> 1G: -=256K 1=256K 2=256K -=256K*125 ${OTHERS}
    # One byte more than a bin holds.
    a 3 256K+1 0 -> 1G: -=256K 1=256K 2=256K -=256K*125
                    3=512K -=512K*127 -=1M*128 -=2M*128 -=4M*128 -=32M
    # One byte more than the largest bin holds: rounded to 256 bytes, from the pool.
    a 4 4M+1 0   -> 1G: -=256K 1=256K 2=256K -=256K*125
                    3=512K -=512K*127 -=1M*128 -=2M*128 -=4M*128 4=4M+256 -=28M-256
    a 5 0 0
    # An alignment of 512 needs 256 bytes more, which the bin of 512 KiB does not have.
    a 6 512K 0 512
                 -> 1G: -=256K 1=256K 2=256K -=256K*125
                    3=512K -=512K*127 6=1M -=1M*127 -=2M*128 -=4M*128 4=4M+256 -=28M-256
    f 4          -> 1G: -=256K 1=256K 2=256K -=256K*125
                    3=512K -=512K*127 6=1M -=1M*127 -=2M*128 -=4M*128 -=32M
    `,
  );
});

Deno.test("BINNING searches the list of its own stream first", () => {
  assertGolden(
    BINNING,
    `
    device 2G
    start   -> 1G: -=256K*128 ${OTHERS} ; reserved 1G, calls 1
    # The bin's blocks were taken on stream 0.
    a 0 1 1 -> 1G: 0=256K -=256K*127 ${OTHERS}
    f 0     -> 1G: -=256K*128 ${OTHERS}
    a 1 1 0 -> 1G: -=256K 1=256K -=256K*126 ${OTHERS}
    a 2 1 1 -> 1G: 2=256K 1=256K -=256K*126 ${OTHERS}
    `,
  );
});

Deno.test("BINNING takes 128 more blocks from the pool for an empty bin", () => {
  const allocator = BINNING.create({ capacityBytes: 2 * G });
  for (let block = 0; block < 128; block++) {
    assertEquals(allocator.allocate(block, 4 * M, 0, undefined), true);
  }
  assertEquals([allocator.reservedBytes, allocator.upstreamCalls], [G, 1]);
  // The pool has 32 MiB left of its first GiB and takes as much again.
  assertEquals(allocator.allocate(128, 4 * M, 0, undefined), true);
  assertEquals([allocator.reservedBytes, allocator.upstreamCalls], [2 * G, 2]);
  assertEquals(
    segmentsText(allocator.segments()).split(" | ")[1],
    "1G: 128=4M -=4M*127 -=512M",
  );
});

Deno.test("BINNING refuses every request if the bins do not fit into the device", () => {
  assertGolden(
    BINNING,
    `
    device 512M
    # Half is 256 MiB, for the bins of 32, 64 and 128 MiB; the next takes as much again. The last
    # would take 512 MiB, its own size, so that there is nothing to halve.
    start   -> 256M: -=256K*128 -=512K*128 -=1M*128 -=32M | 256M: -=2M*128
             ; reserved 512M, calls 3
    a 0 1 0 -> refused
    a 1 0 0
    `,
  );
  // With half of 1 GiB, and as much again, all are made.
  assertGolden(
    BINNING,
    `
    device 1G
    start    -> 512M: -=256K*128 -=512K*128 -=1M*128 -=2M*128 -=32M | 512M: -=4M*128
              ; reserved 1G, calls 2
    a 0 1M 0 -> 512M: -=256K*128 -=512K*128 0=1M -=1M*127 -=2M*128 -=32M | 512M: -=4M*128
    `,
  );
});
