// Bands of sizes, and the order of devices for a request.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type BalanceRule, devicesFor } from "../../../src/memory/manager/multi_device_memory.ts";
import { SizeBands } from "../../../src/memory/manager/size_bands.ts";

const MIB = 2 ** 20;

type BandLimits = ConstructorParameters<typeof SizeBands>[1];

function rangesOf(bands: SizeBands) {
  return bands.count([]).map(({ band, from, to }) => ({ band, from, to }));
}

Deno.test("SizeBands has limits of 1 MiB, 100 MiB and a quarter of the memory by default", () => {
  assertEquals(rangesOf(new SizeBands(8000 * MIB)), [
    { band: "small", from: 1, to: MIB },
    { band: "medium", from: MIB + 1, to: 100 * MIB },
    { band: "large", from: 100 * MIB + 1, to: 2000 * MIB },
    { band: "direct", from: 2000 * MIB + 1, to: Infinity },
  ]);
});

Deno.test("SizeBands counts sizes by band, and has ascending limits on tiny devices", () => {
  const bands = new SizeBands(0, { small: 10, medium: "1K", large: 2000 });
  const figures = bands.count([1, 10, 11, 2001, 5000]);
  assertEquals(figures.map(({ band }) => band), ["small", "medium", "large", "direct"]);
  assertEquals(figures.map(({ count }) => count), [2, 1, 0, 2]);
  assertEquals(figures.map(({ bytes }) => bytes), [11, 11, 0, 7001]);
  const limits: [number, BandLimits][] = [[0, {}], [1, {}], [0, { small: "1GB" }]];
  for (const [usable, given] of limits) {
    const ranges = rangesOf(new SizeBands(usable, given));
    for (const [index, { from, to }] of ranges.entries()) {
      assert(from <= to && from === (ranges[index - 1]?.to ?? 0) + 1);
    }
  }
});

Deno.test("SizeBands refuses invalid or descending limits", () => {
  const refused: [unknown, ErrorConstructor, string][] = [
    [{ small: 0 }, RangeError, "bands.small must be an integer in 1.."],
    [{ small: 1.5 }, RangeError, "it is 1.5"],
    [{ small: "lots" }, RangeError, 'it is "lots"'],
    [{ small: {} }, TypeError, "bands.small"],
    [{ small: "2GB", medium: "2GB" }, RangeError, "bands.medium must be an integer in 2147483649"],
    [{ medium: 5 }, RangeError, "bands.medium"],
    [{ large: "100MB" }, RangeError, "bands.large must be an integer in 104857601"],
    [{ large: Infinity }, RangeError, "bands.large"],
    [null, TypeError, "bands must be an object"],
  ];
  for (const [limits, ErrorClass, says] of refused) {
    const error = assertThrows(() => new SizeBands(0, limits as BandLimits), ErrorClass, says);
    assertEquals(error.constructor, ErrorClass);
  }
});

const DEVICES = [
  { ordinal: 0, capacity: 1000, live: 900 },
  { ordinal: 3, capacity: 400, live: 100 },
  { ordinal: 7, capacity: 800, live: 440 },
];

function order(bytes: number, rule: BalanceRule): number[] {
  return devicesFor(DEVICES, bytes, rule).map(({ ordinal }) => ordinal);
}

Deno.test("devicesFor() orders by free memory or by the used share", () => {
  assertEquals(order(10, "free-memory"), [7, 3, 0]);
  assertEquals(order(10, "load"), [3, 7, 0]); // 110/400, 450/800, 910/1000
  assertEquals(order(250, "load"), [7, 3, 0]); // 690/800, 350/400, no room
  assertEquals(order(320, "load"), [7, 3, 0]);
  assertEquals(order(10_000, "load"), [7, 3, 0]);
});

Deno.test("devicesFor() prefers the lower ordinal and puts a device without memory last", () => {
  const devices = [2, 1].map((ordinal) => ({ ordinal, capacity: 100, live: 50 }));
  const none = { ordinal: 0, capacity: 0, live: 0 };
  for (const rule of ["free-memory", "load"] as const) {
    const ordinals = devicesFor([none, ...devices], 1, rule).map(({ ordinal }) => ordinal);
    assertEquals(ordinals, [1, 2, 0]);
    assertEquals(devicesFor([none, devices[0]!], 0, rule).map(({ ordinal }) => ordinal), [2, 0]);
  }
});
