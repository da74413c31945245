import { assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  commonTime,
  coveredTime,
  lengthOf,
  type TimeSpan,
} from "../../../src/lab/trace/time_spans.ts";

const span = (start: number, duration: number): TimeSpan => ({ start, duration });

Deno.test("spans that overlap, touch or lie within each other cover time once", () => {
  assertEquals(coveredTime([]), []);
  assertEquals(coveredTime([span(5, 2), span(0, 1)]), [[0, 1], [5, 7]]);
  assertEquals(coveredTime([span(0, 10), span(2, 3), span(8, 4)]), [[0, 12]]);
  assertEquals(coveredTime([span(0, 1), span(1, 1), span(3, 0)]), [[0, 2], [3, 3]]);
  assertEquals(lengthOf(coveredTime([span(0, 10), span(2, 3), span(20, 4)])), 14);
});

Deno.test("common time is the overlap and not a difference of sums", () => {
  const one = coveredTime([span(0, 10), span(20, 10)]);
  assertEquals(commonTime(one, coveredTime([span(10, 10)])), 0);
  assertEquals(commonTime(one, coveredTime([span(5, 20)])), 10);
  assertEquals(commonTime(one, []), 0);
  assertEquals(commonTime(one, one), 20);
});

Deno.test("both agree with counting milliseconds one by one", () => {
  const spans = fc.array(fc.record({ start: fc.nat(40), duration: fc.nat(8) }), { maxLength: 12 });
  const ticks = (list: readonly TimeSpan[]) =>
    new Set(
      list.flatMap(({ start, duration }) => Array.from({ length: duration }, (_, i) => start + i)),
    );
  fc.assert(fc.property(spans, spans, (one, other) => {
    const [a, b] = [ticks(one), ticks(other)];
    assertAlmostEquals(lengthOf(coveredTime(one)), a.size);
    assertAlmostEquals(commonTime(coveredTime(one), coveredTime(other)), a.intersection(b).size);
  }));
});
