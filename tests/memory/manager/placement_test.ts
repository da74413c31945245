// Bands of sizes, and the order of devices for a request.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
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

Deno.test("bandOf() finds the only band of a size", () => {
  const gap = fc.integer({ min: 1, max: 1000 });
  fc.assert(fc.property(gap, gap, gap, fc.nat(4000), (small, medium, large, size) => {
    const limits = { small, medium: small + medium, large: small + medium + large };
    const bands = new SizeBands(0, limits);
    const containing = rangesOf(bands).filter(({ from, to }) => size >= from && size <= to);
    assertEquals(
      containing.map(({ band }) => band),
      size === 0 ? [] : [bands.bandOf(size)],
    );
  }));
  const bands = new SizeBands(8000 * MIB);
  assertEquals([0, 1, MIB].map((size) => bands.bandOf(size)), ["small", "small", "small"]);
  assertEquals(bands.bandOf(MIB + 1), "medium");
  assertEquals(bands.bandOf(2 ** 53), "direct");
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

Deno.test("devicesFor() keeps devices level by its rule", () => {
  for (const rule of ["free-memory", "load"] as const) {
    const live = [0, 0];
    const capacities = [1000, 4000];
    for (let placed = 0; placed < 400; placed++) {
      const rooms = live.map((live, ordinal) => ({
        ordinal,
        capacity: capacities[ordinal]!,
        live,
      }));
      live[devicesFor(rooms, 10, rule)[0]!.ordinal]! += 10;
    }
    const levels = rule === "load"
      ? live.map((live, index) => live / capacities[index]!)
      : live.map((live, index) => capacities[index]! - live);
    assert(Math.abs(levels[0]! - levels[1]!) <= (rule === "load" ? 0.01 : 10), levels.join());
  }
});
