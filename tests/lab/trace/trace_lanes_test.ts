import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { assignLanes } from "../../../src/lab/trace/trace_lanes.ts";

Deno.test("what is apart or within another shares a lane; what crosses has another", () => {
  const spans = (...pairs: [number, number][]) => pairs.map(([begin, end]) => ({ begin, end }));
  assertEquals(assignLanes([]), []);
  assertEquals(assignLanes(spans([0, 10], [2, 5], [5, 10], [10, 12])), [0, 0, 0, 0]);
  assertEquals(assignLanes(spans([0, 10], [5, 15], [12, 20])), [0, 1, 0]);
  // The one that encloses the other comes first, in whatever order they are given.
  assertEquals(assignLanes(spans([0, 3], [0, 10])), [0, 0]);
});

Deno.test("no two spans of a lane cross, whatever they are", () => {
  const span = fc.record({ begin: fc.nat(50), length: fc.nat(20) })
    .map(({ begin, length }) => ({ begin, end: begin + length }));
  fc.assert(fc.property(fc.array(span, { maxLength: 20 }), (spans) => {
    const lanes = assignLanes(spans);
    for (const [i, one] of spans.entries()) {
      for (const [j, other] of spans.entries()) {
        if (lanes[i] !== lanes[j] || one.begin >= other.begin) continue;
        assert(one.end <= other.begin || other.end <= one.end, Deno.inspect({ one, other }));
      }
    }
  }));
});
