// The golden traces' own test: a trace that is wrong anywhere must fail.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CUPY } from "../../../bench/memory_models/cupy.ts";
import { assertGolden, eventsOf, segmentsText } from "./golden_trace.ts";

const RIGHT = `
  device 2K
  # Two units and one.
  a 0 513 0  -> 1K: 0=1K ; reserved 1K, calls 1
  a 1 1K-512 0
             -> 1K: 0=1K | 512: 1=512
              ; reserved 1536, calls 2
  u 1 1
  f 0        -> 1K: -=1K | 512: 1=512
  a 2 2K 0   -> refused 512: 1=512 ; reserved 512, calls 6, retries 2
`;

Deno.test("assertGolden() takes comments, lines that go on, sums, and states told once", () => {
  assertGolden(CUPY, RIGHT);
});

for (
  const [what, right, wrong] of [
    ["segments", "-=1K | 512: 1=512", "-=512*2 | 512: 1=512"],
    ["an owner", "| 512: 1=512\n", "| 512: 0=512\n"],
    ["bytes reserved", "reserved 1536", "reserved 1K"],
    ["calls", "calls 6", "calls 5"],
    ["retries", ", retries 2", ""],
    ["a refusal", "refused ", ""],
    ["a grant", "-> 1K: 0=1K ;", "-> refused 1K: 0=1K ;"],
    ["the device", "device 2K", "device 4K"],
    ["what is as before", "u 1 1", "f 1"],
  ] as const
) {
  Deno.test(`assertGolden() fails for ${what} that is not so`, () => {
    assert(RIGHT.includes(right));
    assertThrows(
      () => assertGolden(CUPY, RIGHT.replace(right, wrong)),
      Error,
      "Values are not equal",
    );
  });
}

Deno.test("assertGolden() tells the line at which the model departs", () => {
  const wrong = RIGHT.replace("calls 2", "calls 3");
  assertThrows(() => assertGolden(CUPY, wrong), Error, "a 1 1K-512 0 -> 1K: 0=1K | 512: 1=512");
});

Deno.test("assertGolden() refuses what is no golden trace", () => {
  for (
    const text of [
      "",
      "a 0 1 0 -> 512: 0=512",
      "device big",
      "device 1K\na 0 1 0 -> 512 0=512",
      "device 1K\na 0 1 0 -> 512: y=512",
      "device 1K\na 0 1 0 -> 512: 0=512 ; reserved 512, call 1",
      "device 1K\na 0 1 0 => 512: 0=512",
    ]
  ) {
    assertThrows(() => assertGolden(CUPY, text), SyntaxError, "of a golden trace");
  }
  // Nothing a program could do: the reader of traces says so.
  assertThrows(() => assertGolden(CUPY, "device 1K\nf 0"), Error, "block 0 was never allocated");
});

Deno.test("segmentsText() writes sizes in the largest unit, and runs once", () => {
  const free = { bytes: 512, state: "free", block: null } as const;
  const blocks = [
    { ...free, offset: 0 },
    { ...free, offset: 512 },
    { offset: 1024, bytes: 1024, state: "live", block: 7 },
    { offset: 2048, bytes: 2 ** 20, state: "pending", block: null },
    { offset: 2048 + 2 ** 20, bytes: 2 ** 30, state: "unmapped", block: null },
  ] as const;
  assertEquals(
    segmentsText([{ bytes: 3 * 2 ** 30, blocks }, { bytes: 1025, blocks: [] }]),
    "3G: -=512*2 7=1K ?=1M x=1G | 1025:",
  );
  assertEquals(eventsOf(["s 3"]), [{ kind: "synchronize", stream: 3 }]);
});
