// Division of work into chunks that fit into memory.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { type ChunkOptions, chunksThatFit } from "../../../src/memory/manager/chunks.ts";

function lengths(total: number, bytes: number, options: ChunkOptions): number[] {
  return chunksThatFit(total, bytes, options).map(({ length }) => length).toArray();
}

Deno.test("chunksThatFit() makes almost equal chunks in multiples", () => {
  assertEquals(lengths(10, 1, { availableBytes: 10 }), [10]);
  assertEquals(lengths(11, 1, { availableBytes: 10 }), [6, 5]);
  assertEquals(lengths(10, 4, { availableBytes: 19 }), [4, 3, 3]);
  assertEquals(lengths(10, 4, { availableBytes: 19, multipleOf: 2 }), [4, 4, 2]);
  assertEquals(lengths(11, 4, { availableBytes: 19, multipleOf: 4 }), [4, 4, 3]);
  assertEquals(lengths(10, 1, { availableBytes: 10, inFlight: 2 }), [5, 5]);
  assertEquals(lengths(10, 1, { availableBytes: 10, fixedBytes: 9 }), Array(10).fill(1));
  assertEquals(lengths(10, 1, { availableBytes: 10, maxElements: 4 }), [4, 3, 3]);
  assertEquals(lengths(0, 1, { availableBytes: 1 }), []);
  assertEquals(lengths(3, 1, { availableBytes: 100, multipleOf: 7 }), [3]);
});

Deno.test("chunksThatFit() covers all elements in order with the fewest chunks", () => {
  const positive = (max: number) => fc.integer({ min: 1, max });
  fc.assert(fc.property(
    fc.integer({ min: 0, max: 5000 }),
    positive(16),
    positive(2000),
    fc.nat(500),
    positive(3),
    positive(9),
    positive(2000),
    (total, bytes, available, fixed, inFlight, multipleOf, maxElements) => {
      const room = Math.min(Math.floor((available - fixed) / inFlight / bytes), maxElements);
      fc.pre(room >= multipleOf);
      const options = {
        availableBytes: available,
        fixedBytes: fixed,
        inFlight,
        multipleOf,
        maxElements,
      };
      const chunks = [...chunksThatFit(total, bytes, options)];
      const largest = room - room % multipleOf;
      assertEquals(chunks.length, Math.ceil(total / largest));
      let next = 0;
      for (const { index, start, end, length } of chunks) {
        assertEquals([start, length], [next, end - start]);
        assert(length > 0 && fixed + length * bytes * inFlight <= available);
        assert(index === chunks.length - 1 || length % multipleOf === 0);
        next = end;
      }
      assertEquals(next, total);
      const sizes = chunks.slice(0, -1).map(({ length }) => length);
      assert(Math.max(...sizes, 0) - Math.min(...sizes, Infinity) <= multipleOf);
    },
  ));
});

Deno.test("chunksThatFit() reports the memory of the smallest chunk if it does not fit", () => {
  const cases: [number, number, ChunkOptions, string][] = [
    [10, 4, { availableBytes: 3 }, "at least the 4 bytes"],
    [10, 4, { availableBytes: 63, fixedBytes: 16, inFlight: 2, multipleOf: 6 }, "the 64 bytes"],
    [10, 4, { availableBytes: 0 }, "it is 0"],
    [0, 4, { availableBytes: 3 }, "at least the 4 bytes"],
    [10, 1, { availableBytes: 100, maxElements: 3, multipleOf: 4 }, "at least multipleOf"],
    [-1, 1, { availableBytes: 1 }, "totalElements"],
    [1.5, 1, { availableBytes: 1 }, "totalElements"],
    [1, 0, { availableBytes: 1 }, "bytesPerElement"],
    [1, NaN, { availableBytes: 1 }, "bytesPerElement"],
    [1, 1, { availableBytes: -1 }, "availableBytes"],
    [1, 1, { availableBytes: 1, fixedBytes: 0.5 }, "fixedBytes"],
    [1, 1, { availableBytes: 1, inFlight: 0 }, "inFlight"],
    [1, 1, { availableBytes: 1, multipleOf: 0 }, "multipleOf"],
    [1, 1, { availableBytes: 1, maxElements: 0 }, "maxElements"],
  ];
  for (const [total, bytes, options, says] of cases) {
    const error = assertThrows(() => chunksThatFit(total, bytes, options), RangeError);
    assert(error.message.startsWith("Cannot split work into chunks as "), error.message);
    assertStringIncludes(error.message, says);
  }
  assertThrows(() => chunksThatFit(1, 1, undefined as never), TypeError, "options");
});
