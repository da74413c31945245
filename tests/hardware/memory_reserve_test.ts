// The reserve is 5 % of free memory within 64 MiB and 1 GiB, and at most half of it.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { usableMemory } from "../../src/hardware/memory_reserve.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

Deno.test("`usableMemory()` reserves 5 % of free memory", () => {
  const { reserve, usable } = usableMemory({ free: 10 * GIB, total: 80 * GIB });
  assertEquals(reserve, GIB / 2);
  assertEquals(usable, 9.5 * GIB);
});

Deno.test("`usableMemory()` is bounded at both ends", () => {
  const reserve = (free: number) => usableMemory({ free, total: 2 ** 40 }).reserve;
  assertEquals(reserve(20 * GIB), GIB);
  assertEquals(reserve(20 * GIB + 20), GIB);
  assertEquals(reserve(2 ** 40), GIB);
  assertEquals(reserve(20 * GIB - 20), GIB - 1);
  assertEquals(reserve(1280 * MIB), 64 * MIB);
  assertEquals(reserve(1280 * MIB + 20), 64 * MIB + 1);
  assertEquals(reserve(129 * MIB), 64 * MIB);
});

Deno.test("`usableMemory()` reserves at most half of the free memory", () => {
  for (const free of [0, 1, 2, 3, 97, MIB, 127 * MIB, 128 * MIB]) {
    const { reserve, usable } = usableMemory({ free, total: 128 * MIB });
    assertEquals(reserve, Math.floor(free / 2));
    assertEquals(usable, Math.ceil(free / 2));
  }
});

Deno.test("`usableMemory()` splits the reserve into parts", () => {
  const size = fc.maxSafeNat();
  fc.assert(fc.property(size, size, (a, b) => {
    const [free, total] = [Math.min(a, b), Math.max(a, b)];
    const { reserve, usable, parts } = usableMemory({ free, total });
    assertEquals(parts.context + parts.driver + parts.emergencies, reserve);
    assertEquals(reserve + usable, free);
    for (const value of [usable, ...Object.values(parts)]) {
      assert(Number.isSafeInteger(value) && value >= 0);
    }
    assert(reserve <= free / 2 && reserve <= GIB);
  }));
});

Deno.test("`usableMemory()` throws when a figure is not a size", () => {
  const bad = [[-1, 1], [0.5, 1], [NaN, 1], [1, NaN], [1, Infinity], [2, 1], [1, 2 ** 53]] as const;
  for (const [free, total] of bad) {
    const error = assertThrows(() => usableMemory({ free, total }), RangeError);
    assert(/as (free|total) must be/.test(error.message), error.message);
  }
});
