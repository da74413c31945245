// The roofline against figures worked out by hand, at its edges, and over random kernels.

import { assert, assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "@std/assert";
import fc from "fast-check";
import { roofline, type RooflineOptions } from "../../../src/lab/analysis/mod.ts";

/** A device of 4 TB/s and 60 TFLOP/s: the roofs meet at 15 operations per byte. */
const DEVICE = { bandwidth: 4e12, throughput: 60e12 };

Deno.test("`roofline()` reports memory as the bound below the ridge", () => {
  // A twelfth of an operation per byte; 3 GB take 0.75 ms at least.
  const report = roofline({ ...DEVICE, bytes: 3e9, operations: 0.25e9, seconds: 1e-3 });
  assertAlmostEquals(report.intensity, 1 / 12);
  assertEquals([report.ridge, report.bound], [15, "memory"]);
  assertAlmostEquals(report.attainable, 4e12 / 12);
  assertAlmostEquals(report.secondsAtRoof, 0.75e-3);
  assertAlmostEquals(report.share!, 0.75);
  assertAlmostEquals(report.achieved!, 0.25e12);
  assertAlmostEquals(report.achievedBandwidth!, 3e12);
  assertEquals(
    report.sentence,
    "At 0.0833 operations per byte, below the 15 where the roofs meet, memory bounds it to " +
      "333 GOP/s. It reaches 75 % of the roof: 3 TB/s of 4 TB/s.",
  );
});

Deno.test("`roofline()` reports compute as the bound at the ridge and above", () => {
  // A product of two matrices of 4096 rows in float32.
  const [bytes, operations] = [3 * 4 * 4096 ** 2, 2 * 4096 ** 3];
  const report = roofline({ ...DEVICE, bytes, operations, seconds: operations / 54e12 });
  assertEquals([report.bound, report.attainable], ["compute", 60e12]);
  assertAlmostEquals(report.share!, 0.9);
  assertMatch(
    report.sentence,
    /^At 683 operations per byte, above the 15 where .* 54 TOP\/s of 60/,
  );

  const ridge = roofline({ ...DEVICE, bytes: 1, operations: 15 });
  assertEquals([ridge.bound, ridge.attainable, ridge.share], ["compute", 60e12, null]);
  assertMatch(ridge.sentence, /^At 15 operations per byte, where the roofs meet, arithmetic/);
  const beside = roofline({ ...DEVICE, bytes: 1e6, operations: 15.0001e6 });
  assertMatch(beside.sentence, /^At 15 operations per byte, where the roofs meet, arithmetic/);
  const one = roofline({ ...DEVICE, bytes: 1e6, operations: 1e6 });
  assertMatch(one.sentence, /^At 1 operation per byte, below the 15 where the roofs meet, memory/);
});

Deno.test("`roofline()` reports latency when less than 60 % of both peaks is reached", () => {
  const kernel = { ...DEVICE, bytes: 4e9, operations: 30e9 };
  assertEquals(roofline(kernel).bound, "memory");
  assertEquals(roofline({ ...kernel, seconds: 1e-3 / 0.6001 }).bound, "memory");
  assertEquals(roofline({ ...kernel, seconds: 1e-3 / 0.5999 }).bound, "latency");
  const slow = roofline({ ...kernel, seconds: 1e-3 / 0.01 });
  assertMatch(slow.sentence, /It reaches 1 % of the roof.*latency/);
});

Deno.test("`roofline()` reports the share of bandwidth for a copy", () => {
  const copy = roofline({ ...DEVICE, bytes: 4e9, operations: 0, seconds: 1.25e-3 });
  assertEquals([copy.intensity, copy.attainable, copy.achieved], [0, 0, 0]);
  assertAlmostEquals(copy.share!, 0.8);
  assertEquals(copy.bound, "memory");
  assertMatch(copy.sentence, /^It only moves bytes: memory bounds it. It reaches 80 %/);
});

Deno.test("`roofline()` reports infinite intensity when nothing is moved", () => {
  const report = roofline({ ...DEVICE, bytes: 0, operations: 60e9 });
  assertEquals([report.intensity, report.attainable], [Infinity, 60e12]);
  assertEquals([report.bound, report.secondsAtRoof], ["compute", 1e-3]);
  assertEquals([report.achieved, report.achievedBandwidth, report.share], [null, null, null]);
  assertEquals(report.sentence, "It moves no bytes: arithmetic bounds it.");
});

Deno.test("`sentence` explains a share above 1", () => {
  const report = roofline({ ...DEVICE, bytes: 4e9, operations: 1, seconds: 0.5e-3 });
  assertEquals([report.share, report.bound], [2, "memory"]);
  assertMatch(report.sentence, /200 % of the roof.*caches/);
});

Deno.test("`ceilings` have the kernel's place under each", () => {
  const { ceilings } = roofline({
    ...DEVICE,
    bytes: 1e9,
    operations: 30e9,
    seconds: 1e-3,
    ceilings: [
      { name: "L2 cache", bandwidth: 10e12, bytes: 6e9 },
      { name: "tensor cores", throughput: 600e12 },
      { name: "L1 cache", bandwidth: 20e12 },
      { name: "nothing in L2", bandwidth: 10e12, bytes: 0 },
    ],
  });
  assertEquals(ceilings, [
    { name: "L2 cache", intensity: 5, ridge: 6, attainable: 50e12, share: 0.6e-3 / 1e-3 },
    { name: "tensor cores", intensity: 30, ridge: 150, attainable: 120e12, share: 0.05e-3 / 1e-3 },
    { name: "L1 cache", intensity: 30, ridge: 3, attainable: 60e12, share: 0.05e-3 / 1e-3 },
    { name: "nothing in L2", intensity: Infinity, ridge: 6, attainable: 60e12, share: 0 },
  ]);
});

Deno.test("`roofline()` takes the smaller peak and never reports NaN", () => {
  const count = fc.double({ min: 0, max: 1e18, noNaN: true });
  const peak = fc.double({ min: 1e-3, max: 1e18, noNaN: true });
  fc.assert(fc.property(count, count, peak, peak, peak, (bytes, operations, seconds, b, t) => {
    fc.pre(bytes > 0 || operations > 0);
    const report = roofline({ bytes, operations, seconds, bandwidth: b, throughput: t });
    for (const [name, value] of Object.entries(report)) assert(!Object.is(value, NaN), name);
    assert(report.attainable <= t);
    assert(report.attainable <= report.intensity * b);
    assertEquals(report.secondsAtRoof, Math.max(bytes / b, operations / t));
    const both = Math.max(report.achievedBandwidth! / b, report.achieved! / t);
    if (Math.abs(both - 0.6) > 1e-9) assertEquals(report.bound === "latency", both < 0.6);
  }));
});

Deno.test("`roofline()` throws when a figure is not allowed", () => {
  const right: RooflineOptions = { ...DEVICE, bytes: 1, operations: 1 };
  const cases: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ bytes: -1 }, "bytes must be 0 or more and finite: it is -1"],
    [{ operations: Infinity }, "operations must be 0 or more and finite: it is Infinity"],
    [{ seconds: 0 }, "seconds must be positive and finite: it is 0"],
    [{ throughput: NaN }, "throughput must be positive and finite: it is NaN"],
    [{ bytes: 0, operations: 0 }, "it must move bytes or do operations: both are 0"],
    [{ ceilings: [{ name: "L2", bandwidth: -1 }] }, "ceilings[0].bandwidth must be positive"],
    [{ ceilings: [{ name: "L2", bandwidth: 1, bytes: -1 }] }, "ceilings[0].bytes must be 0 or"],
  ];
  for (const [change, message] of cases) {
    assertThrows(() => roofline({ ...right, ...change } as never), RangeError, message);
  }
  const types: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ bytes: "1" }, "bytes must be a number: it is a string"],
    [{ seconds: 1n }, "seconds must be a number: it is 1n"],
    [{ ceilings: {} }, "ceilings must be an array: it is an object"],
    [{ ceilings: new Array(1) }, "ceilings[0] must be an object: it is undefined"],
    [{ ceilings: [{ bandwidth: 1 }] }, "ceilings[0].name must be a text: it is undefined"],
    [{ ceilings: [{ name: "x" }] }, "must have a bandwidth or a throughput: it has neither"],
    [
      { ceilings: [{ name: "x", bandwidth: 1, throughput: 1 }] },
      "must have a bandwidth or a throughput: it has both",
    ],
    [
      { ceilings: [{ name: "x", throughput: 1, bytes: 1 }] },
      "ceilings[0].bytes belongs to a bandwidth: it has none",
    ],
  ];
  for (const [change, message] of types) {
    assertThrows(() => roofline({ ...right, ...change } as never), TypeError, message);
  }
  assertThrows(() => roofline(undefined as never), TypeError, "options must be an object");
});
