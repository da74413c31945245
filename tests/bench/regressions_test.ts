import { assertEquals, assertThrows } from "@std/assert";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import { compareRuns, readSavedFigures } from "../../bench/report/regressions.ts";

const figure = (title: string, samples: readonly number[], changes: Partial<Figure> = {}) => ({
  ...figureOf({ area: "a", group: "g", title, baseline: false, bytes: null }, samples),
  ...changes,
});

/** The verdict on a work with these samples in the earlier run and in this one. */
const verdict = (
  before: readonly number[],
  now: readonly number[],
  changes: Partial<Figure> = {},
) => compareRuns([figure("x", before)], [figure("x", now, changes)]).works[0]!.verdict;

Deno.test("compareRuns() reports what is slower or faster than the noise", () => {
  assertEquals(verdict([100, 101, 102], [120, 121, 122]), "slower");
  assertEquals(verdict([120, 121, 122], [100, 101, 102]), "faster");
  assertEquals(verdict([100, 101, 102], [108, 109, 110]), "same");
});

Deno.test("compareRuns() takes the spread of the samples for noise", () => {
  // The median is 1.5 times the fastest sample: 1.4 times says nothing.
  assertEquals(verdict([100, 150, 200], [140, 210, 280]), "same");
  assertEquals(verdict([100, 150, 200], [160, 240, 320]), "slower");
  // A busy machine moves the median alone, and one lucky sample the fastest alone.
  assertEquals(verdict([100, 101, 102], [100, 130, 131]), "same");
  assertEquals(verdict([80, 101, 102], [101, 102, 103]), "same");
  // The passes of a run differed by a half.
  assertEquals(verdict([100, 101, 102], [120, 121, 122], { drift: 1.5 }), "same");
});

Deno.test("compareRuns() lists the works of one run only, and leaves other libraries out", () => {
  const library = { name: "NumPy", version: "2" };
  const before = [figure("old", [1]), figure("both", [1]), figure("theirs", [1], { library })];
  const now = [figure("both", [1]), figure("new", [1]), figure("theirs", [9], { library })];
  const { works, missing, added } = compareRuns(before, now);
  assertEquals(works.map(({ name }) => name), ["a: g: both"]);
  assertEquals([missing, added], [["a: g: old"], ["a: g: new"]]);
});

Deno.test("readSavedFigures() reads both kinds of files, and refuses others", () => {
  const device = { kind: "host", name: "CPU" } as const;
  const figures = [figure("x", [1])];
  const read = (value: unknown) => readSavedFigures(JSON.stringify(value), "f.json", device);
  assertEquals(read({ device, figures }), figures);
  assertEquals(read({ device, measure: { figures } }), figures);
  for (
    const [value, message] of [
      [
        { device: { kind: "cuda", name: "H200" }, figures },
        "be of CPU (host): it is of H200 (cuda)",
      ],
      [{ figures }, "has no figures"],
      [{ device }, "has no figures"],
      [null, "has no figures"],
    ] as const
  ) assertThrows(() => read(value), TypeError, message);
  assertThrows(
    () => readSavedFigures("{", "f.json", device),
    TypeError,
    "f.json as it must be JSON",
  );
});
