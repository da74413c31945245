import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { OrderedSet } from "../../../bench/memory_models/segment_blocks.ts";

function numbers(...values: number[]): OrderedSet<number> {
  const set = new OrderedSet<number>((left, right) => left - right);
  for (const value of values) set.insert(value);
  return set;
}

Deno.test("OrderedSet keeps the order of its comparison", () => {
  const set = numbers(5, 1, 3);
  assertEquals([...set], [1, 3, 5]);
  assertEquals([-1, 0, 2, 3].map((position) => set.at(position)), [undefined, 1, 5, undefined]);
  const descending = new OrderedSet<number>((left, right) => right - left);
  for (const value of [1, 3, 2]) descending.insert(value);
  assertEquals([...descending], [3, 2, 1]);
});

Deno.test("OrderedSet finds the first position", () => {
  const set = numbers(10, 20, 30);
  const first = (least: number) => set.firstPosition((value) => value >= least);
  assertEquals([0, 10, 11, 30, 31].map(first), [0, 0, 1, 2, 3]);
  assertEquals(numbers().firstPosition(() => true), 0);
});

Deno.test("OrderedSet ignores duplicates and missing elements", () => {
  const set = numbers(1, 2);
  assertThrows(() => set.insert(2), TypeError, "there already");
  assertEquals([set.delete(3), set.delete(1), set.delete(1)], [false, true, false]);
  assertEquals([...set], [2]);
});

Deno.test("OrderedSet agrees with a sorted Set on random operations", () => {
  const operation = fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 40 }));
  fc.assert(fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
    const set = numbers();
    const model = new Set<number>();
    for (const [insert, value] of operations) {
      if (!insert) assertEquals(set.delete(value), model.delete(value));
      else if (model.has(value)) assertThrows(() => set.insert(value), TypeError);
      else {
        set.insert(value);
        model.add(value);
      }
      assertEquals([...set], [...model].sort((left, right) => left - right));
    }
  }));
});
