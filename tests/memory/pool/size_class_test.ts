// Size classes: whatever is asked for, its class holds it, wastes little, and is the least that does.

import { assert, assertEquals } from "@std/assert";
import { UNIT } from "../../../src/memory/pool/block_table.ts";
import {
  LARGEST_SMALL,
  LARGEST_SMALL_UNITS,
  SIZE_CLASSES,
  sizeClass,
  unitsFor,
  unitsOfClass,
} from "../../../src/memory/pool/size_class.ts";

Deno.test("each class is larger than the one before, and its own class", () => {
  assertEquals(unitsOfClass(1), 1);
  assertEquals(unitsOfClass(SIZE_CLASSES - 1), LARGEST_SMALL_UNITS);
  for (let index = 1; index < SIZE_CLASSES; index++) {
    assertEquals(sizeClass(unitsOfClass(index)), index);
    assert(index === 1 || unitsOfClass(index) > unitsOfClass(index - 1));
  }
});

Deno.test("a number of units is of the least class that holds it", () => {
  for (let units = 1; units <= LARGEST_SMALL_UNITS; units++) {
    const index = sizeClass(units);
    assert(Number.isInteger(index) && index >= 1 && index < SIZE_CLASSES);
    assert(unitsOfClass(index) >= units && (index === 1 || unitsOfClass(index - 1) < units));
  }
});

Deno.test("all small requests waste a sixteenth at most, and less than a unit up to 16 KiB", () => {
  // Comparing in the loop and asserting behind it, as an assertion a byte takes seconds.
  let before = 1;
  let wrong = 0;
  for (let bytes = 1; bytes <= LARGEST_SMALL; bytes++) {
    const units = unitsFor(bytes);
    const waste = units * UNIT - bytes;
    const most = bytes <= 16384 ? UNIT - 1 : bytes / 16 + UNIT - 1;
    if (units < before || waste < 0 || waste > most) wrong++;
    before = units;
  }
  assertEquals(wrong, 0);
});

Deno.test("rounding to a class adds at most a sixteenth of the units above 16 KiB", () => {
  for (let units = 33; units <= LARGEST_SMALL_UNITS; units++) {
    assert(unitsOfClass(sizeClass(units)) <= units * 17 / 16, `${units}`);
  }
});

Deno.test("large requests are rounded to units only", () => {
  assertEquals(unitsFor(LARGEST_SMALL), LARGEST_SMALL_UNITS);
  for (const bytes of [LARGEST_SMALL + 1, 2 ** 31 + 1, 2 ** 40 + 511, 2 ** 53 - 1]) {
    assertEquals(unitsFor(bytes), Math.ceil(bytes / UNIT));
  }
});
