import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { StopMatcher } from "../../../src/bitnet/tokenizer/stop_matcher.ts";

function match(stops: readonly string[], pieces: readonly string[]) {
  const matcher = new StopMatcher(stops);
  const found = pieces.map((piece) => matcher.push(piece));
  const text = found.map(({ text }) => text).join("");
  return { shown: found.map(({ text }) => text), text: text + matcher.finish(), found };
}

Deno.test("StopMatcher finds a stop string that spans pieces and shows nothing of it", () => {
  const { shown, text, found } = match(["\n\nUser:"], ["Hi", "!\n", "\nUs", "er", ": more", "x"]);
  assertEquals(shown, ["Hi", "!", "", "", "", ""]);
  assertEquals(text, "Hi!");
  assertEquals(found.map(({ stop }) => stop).slice(3), [undefined, "\n\nUser:", "\n\nUser:"]);
});

Deno.test("StopMatcher takes the first stop string to end, and the longest of those", () => {
  assertEquals(match(["b", "ab"], ["xab"]).text, "x");
  assertEquals(match(["abcd", "bc"], ["xabcd"]).text, "xa");
});

Deno.test("StopMatcher shows withheld text when it starts no stop string", () => {
  assertEquals(match(["aab"], ["a", "a", "a", "c"]).shown, ["", "", "a", "aac"]);
  assertEquals(match(["aab"], ["xaa"]).text, "xaa");
  assertEquals(match([], ["a", "b"]).shown, ["a", "b"]);
  assertEquals(match(["🦙!"], ["a🦙", "?"]).shown, ["a", "🦙?"]);
});

Deno.test("StopMatcher gives the same text when pieces are cut elsewhere", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 20 });
  const stop = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });
  fc.assert(fc.property(letters, fc.array(stop, { maxLength: 3 }), (text, stops) => {
    const ends = stops.map((stop) => ({ stop, end: text.indexOf(stop) + stop.length }))
      .filter(({ stop }) => text.includes(stop))
      .sort((a, b) => a.end - b.end || b.stop.length - a.stop.length);
    const expected = ends[0] === undefined
      ? text
      : text.slice(0, ends[0].end - ends[0].stop.length);
    for (const length of [1, 2, 3, 7, 20]) {
      const pieces = text.match(new RegExp(`.{1,${length}}`, "g")) ?? [];
      const result = match(stops, pieces);
      assertEquals(result.text, expected);
      assertEquals(result.found.at(-1)?.stop, text === "" ? undefined : ends[0]?.stop);
    }
  }));
});

Deno.test("StopMatcher refuses stop strings that are no nonempty texts", () => {
  for (const stops of [[""], [1], ["\ud83e"], "stop", undefined]) {
    assertThrows(() => new StopMatcher(stops as string[]), TypeError, "as stop");
  }
  assert(new StopMatcher(["x"]).finish() === "");
});
