/**
 * The second look: what was the fastest among all is timed once more beside the first alone.
 */

import { assertEquals, assertRejects } from "@std/assert";
import { configureTuning } from "../../../src/lab/tuning/mod.ts";
import { device } from "../../support/device.ts";
import { always, breaking, Cast, LONG, LUCKY, SHORT } from "./cast.ts";

Deno.test("what is faster twice is taken, and nobody else is timed again", async () => {
  using cast = new Cast("faster twice", {
    first: always(LONG),
    other: always(LONG),
    fast: always(SHORT),
  });
  const { best, refuted, races } = await cast.tune();
  assertEquals([best, refuted], ["fast", []]);
  assertEquals(races, [["first", "other", "fast"], ["first", "fast"]]);
});

Deno.test("the first that stays the fastest is not timed again", async () => {
  using cast = new Cast("first is fastest", { first: always(SHORT), slow: always(LONG) });
  const { best, races } = await cast.tune();
  assertEquals([best, races], ["first", [["first", "slow"]]]);
});

Deno.test("what is faster only as long as all are timed leaves its place to the first", async () => {
  using cast = new Cast("lucky", { first: always(LONG), lucky: LUCKY });
  const { best, refuted, races } = await cast.tune();
  assertEquals([best, refuted], ["first", ["lucky"]]);
  assertEquals(races, [["first", "lucky"], ["first", "lucky"]]);
  // Neither is it looked at again.
  const again = await cast.tune();
  assertEquals([again.best, again.origin, again.refuted], ["first", "stored", ["lucky"]]);
});

Deno.test("behind what was faster by chance the next best is looked at", async () => {
  using cast = new Cast("next best", {
    first: always(LONG),
    lucky: LUCKY,
    fast: always(10 * SHORT),
  });
  const { best, refuted, races } = await cast.tune();
  assertEquals([best, refuted], ["fast", ["lucky"]]);
  assertEquals(races, [["first", "lucky", "fast"], ["first", "lucky"], ["first", "fast"]]);
});

Deno.test("what fails at the second look is out, and the next best is looked at", async () => {
  using cast = new Cast("failing challenger", {
    first: always(LONG),
    breaks: breaking(SHORT),
    fast: always(10 * SHORT),
  });
  const { best, refuted, failed, races } = await cast.tune();
  assertEquals([best, refuted, failed], ["fast", [], ["breaks"]]);
  assertEquals(races, [["first", "breaks", "fast"], ["first", "breaks"], ["first", "fast"]]);
});

Deno.test("when the first fails at the second look the next one that runs is the first", async () => {
  using cast = new Cast("failing first", {
    first: breaking(LONG),
    second: always(LONG),
    fast: always(SHORT),
  });
  const { best, failed, races } = await cast.tune();
  assertEquals([best, failed], ["fast", ["first"]]);
  assertEquals(races, [["first", "second", "fast"], ["first", "fast"], ["second", "fast"]]);
});

Deno.test("a choice is confirmed once, and once more beside another first", async () => {
  using cast = new Cast("another first", {
    a: always(LONG),
    b: always(LONG),
    fast: always(SHORT),
  });
  assertEquals((await cast.tune()).best, "fast");
  const again = await cast.tune();
  assertEquals([again.best, again.origin, again.races], ["fast", "stored", []]);

  // Nothing is missing, but nobody has seen these two alone.
  const reordered = ["b", "a", "fast"];
  configureTuning({ mode: "stored" });
  try {
    const untimed = await cast.tune(reordered);
    assertEquals([untimed.best, untimed.origin, untimed.races], ["b", "stored", []]);
  } finally {
    configureTuning();
  }
  const { best, origin, races } = await cast.tune(reordered);
  assertEquals([best, origin], ["fast", "timed"]);
  assertEquals(races, [["b", "fast"], ["b", "fast"]]);
  const known = await cast.tune(reordered);
  assertEquals([known.best, known.origin, known.races], ["fast", "stored", []]);
});

Deno.test("what prune leaves has a first of its own, beside which others are confirmed", async () => {
  using cast = new Cast("pruned first", {
    a: always(LONG),
    b: always(LONG),
    fast: always(SHORT),
  });
  assertEquals((await cast.tune()).best, "fast");
  cast.actors.set("fast", LUCKY);
  const { best, refuted } = await cast.tune(["a", "b", "fast"], {
    prune: (names) => names.filter((name) => name !== "a"),
  });
  assertEquals([best, refuted], ["b", ["fast"]]);
});

Deno.test("what is known and fails at the second look outdates the rest, and ends it", async () => {
  using cast = new Cast("outdated", { first: always(LONG), other: always(LONG) });
  assertEquals((await cast.tune()).best, "first");
  cast.actors.set("first", breaking(LONG));
  cast.actors.set("fast", always(SHORT));
  const { best, failed, races } = await cast.tune();
  assertEquals([best, failed], ["fast", ["first"]]);
  assertEquals(races, [
    ["first", "fast"],
    ["first", "fast"],
    ["first", "other", "fast"],
    ["other", "fast"],
  ]);
});

Deno.test("a signal ends the pause before the second look", async () => {
  const controller = new AbortController();
  const enough = new Error("enough");
  const late = Promise.withResolvers<string>();
  let launches = 0;
  // Only in the pause does nothing follow what was launched last.
  const abortUnlessFollowed = async () => {
    const mine = ++launches;
    await device.done();
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (mine !== launches) return;
    controller.abort(enough);
    setTimeout(() => late.resolve("late"), 10);
  };
  const act = (time: number) => () => {
    queueMicrotask(abortUnlessFollowed);
    return { microseconds: time };
  };
  using cast = new Cast("aborted pause", { first: act(LONG), fast: act(SHORT) });
  const tuning = assertRejects(() => cast.tune(undefined, { signal: controller.signal }));
  assertEquals(await Promise.race([tuning, late.promise]), enough);
  await late.promise;
});
