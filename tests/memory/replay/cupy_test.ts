import { CUPY } from "../../../src/memory/replay/cupy_pool.ts";
import { assertGolden } from "./golden_trace.ts";

Deno.test("cupy: exact requests, best fit per stream, three attempts", () => {
  assertGolden(CUPY, 8192, [
    { event: "a 0 1 0", segments: "512: 0=512", reserved: 512, calls: 1 },
    // 1025 rounds to three units of 512.
    { event: "a 1 1025 0", segments: "512: 0=512 | 1536: 1=1536", reserved: 2048, calls: 2 },
    { event: "f 1", segments: "512: 0=512 | 1536: -=1536", reserved: 2048, calls: 2 },
    // There is no smallest rest.
    { event: "a 2 513 0", segments: "512: 0=512 | 1536: 2=1K -=512", reserved: 2048, calls: 2 },
    // What is free belongs to stream 0.
    {
      event: "a 3 512 1",
      segments: "512: 0=512 | 1536: 2=1K -=512 | 512: 3=512",
      reserved: 2560,
      calls: 3,
    },
    {
      event: "a 4 500 0",
      segments: "512: 0=512 | 1536: 2=1K 4=512 | 512: 3=512",
      reserved: 2560,
      calls: 3,
    },
    {
      event: "f 2",
      segments: "512: 0=512 | 1536: -=1K 4=512 | 512: 3=512",
      reserved: 2560,
      calls: 3,
    },
    { event: "f 4", segments: "512: 0=512 | 1536: -=1536 | 512: 3=512", reserved: 2560, calls: 3 },
    // 2560 + 5632 = 8192: all there is.
    {
      event: "a 5 5632 0",
      segments: "512: 0=512 | 1536: -=1536 | 512: 3=512 | 5632: 5=5632",
      reserved: 8192,
      calls: 4,
    },
    {
      event: "f 0",
      segments: "512: -=512 | 1536: -=1536 | 512: 3=512 | 5632: 5=5632",
      reserved: 8192,
      calls: 4,
    },
    // Refused, 512 and 1536 bytes given back, granted.
    {
      event: "a 6 2048 0",
      segments: "512: 3=512 | 5632: 5=5632 | 2K: 6=2K",
      reserved: 8192,
      calls: 8,
      retries: 1,
    },
    // A block used elsewhere is free at once: the pool knows no uses.
    {
      event: "u 3 0",
      segments: "512: 3=512 | 5632: 5=5632 | 2K: 6=2K",
      reserved: 8192,
      calls: 8,
      retries: 1,
    },
    // Nothing to give back: refused three times.
    {
      event: "a 7 512 0",
      segments: "512: 3=512 | 5632: 5=5632 | 2K: 6=2K",
      reserved: 8192,
      calls: 11,
      retries: 3,
      refused: true,
    },
    {
      event: "f 3",
      segments: "512: -=512 | 5632: 5=5632 | 2K: 6=2K",
      reserved: 8192,
      calls: 11,
      retries: 3,
    },
    // What stream 1 has free does not serve stream 0 before it went back to the device.
    {
      event: "a 8 512 0",
      segments: "5632: 5=5632 | 2K: 6=2K | 512: 8=512",
      reserved: 8192,
      calls: 14,
      retries: 4,
    },
    {
      event: "a 9 0 0",
      segments: "5632: 5=5632 | 2K: 6=2K | 512: 8=512",
      reserved: 8192,
      calls: 14,
      retries: 4,
    },
  ]);
});

Deno.test("cupy: a split segment is not given back while a part of it is live", () => {
  assertGolden(CUPY, 4096, [
    { event: "a 0 2048 0", segments: "2K: 0=2K", reserved: 2048, calls: 1 },
    { event: "f 0", segments: "2K: -=2K", reserved: 2048, calls: 1 },
    { event: "a 1 512 0", segments: "2K: 1=512 -=1536", reserved: 2048, calls: 1 },
    {
      event: "a 2 2560 0",
      segments: "2K: 1=512 -=1536",
      reserved: 2048,
      calls: 4,
      retries: 2,
      refused: true,
    },
    // Merges on both sides: 512 from between.
    { event: "a 3 512 0", segments: "2K: 1=512 3=512 -=1K", reserved: 2048, calls: 4, retries: 2 },
    { event: "f 1", segments: "2K: -=512 3=512 -=1K", reserved: 2048, calls: 4, retries: 2 },
    { event: "f 3", segments: "2K: -=2K", reserved: 2048, calls: 4, retries: 2 },
    // Refused, then given back and granted.
    { event: "a 4 2560 0", segments: "2560: 4=2560", reserved: 2560, calls: 7, retries: 3 },
  ]);
});
