import { assertEquals } from "@std/assert";
import { setTuningMode } from "../../../src/lab/tuning/mod.ts";
import { always, breaking, Cast, LONG, LUCKY, SHORT } from "./cast.ts";

Deno.test("autotune() takes a configuration that is faster twice, and times no other again", async () => {
  using cast = new Cast("faster twice", {
    first: always(LONG),
    other: always(LONG),
    fast: always(SHORT),
  });
  const { best, refuted, races } = await cast.tune();
  assertEquals([best, refuted], ["fast", []]);
  assertEquals(races, [["first", "other", "fast"], ["first", "fast"]]);
});

Deno.test("autotune() keeps the first when the winner is not faster beside it alone", async () => {
  using cast = new Cast("lucky", { first: always(LONG), lucky: LUCKY });
  const { best, refuted, races } = await cast.tune();
  assertEquals([best, refuted], ["first", ["lucky"]]);
  assertEquals(races, [["first", "lucky"], ["first", "lucky"]]);
  const again = await cast.tune();
  assertEquals([again.best, again.origin, again.refuted], ["first", "stored", ["lucky"]]);
});

Deno.test("autotune() keeps the first when the winner fails beside it", async () => {
  using cast = new Cast("failing challenger", {
    first: always(LONG),
    breaks: breaking(SHORT),
  });
  const { best, refuted, failed, races } = await cast.tune();
  assertEquals([best, refuted, failed], ["first", [], ["breaks"]]);
  assertEquals(races, [["first", "breaks"], ["first", "breaks"]]);
});

Deno.test("autotune() takes the next configuration that runs when the first fails later", async () => {
  using cast = new Cast("failing first", {
    first: breaking(LONG),
    second: always(LONG),
    fast: always(SHORT),
  });
  const { best, failed } = await cast.tune();
  assertEquals([best, failed], ["second", ["first"]]);
});

Deno.test("autotune() confirms a winner again beside another first", async () => {
  using cast = new Cast("another first", {
    a: always(LONG),
    b: always(LONG),
    fast: always(SHORT),
  });
  assertEquals((await cast.tune()).best, "fast");
  const again = await cast.tune();
  assertEquals([again.best, again.origin, again.races], ["fast", "stored", []]);
  const reordered = ["b", "a", "fast"];
  setTuningMode("stored");
  try {
    const untimed = await cast.tune(reordered);
    assertEquals([untimed.best, untimed.origin, untimed.races], ["b", "stored", []]);
  } finally {
    setTuningMode("tune");
  }
  const { best, origin, races } = await cast.tune(reordered);
  assertEquals([best, origin], ["fast", "timed"]);
  assertEquals(races, [["b", "a", "fast"], ["b", "fast"]]);
});
