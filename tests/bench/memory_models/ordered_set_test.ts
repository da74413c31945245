import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { OrderedSet } from "../../../bench/memory_models/segment_blocks.ts";

function numbers(...values: number[]): OrderedSet<number> {
  const set = new OrderedSet<number>((left, right) => left - right);
  for (const value of values) set.insert(value);
  return set;
}

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
