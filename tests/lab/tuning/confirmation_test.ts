import { assertEquals } from "@std/assert";
import { setTuningMode } from "../../../src/lab/tuning/mod.ts";
import { autotune, type AutotuneOptions } from "../../../src/lab/tuning/mod.ts";
import { poolOf } from "../../../src/memory/pool/device_pools.ts";
import { device } from "../../support/device.ts";
import { type Spin, Spinner } from "./spinning.ts";

/**
 * Microseconds that a busy machine does not confuse: a configuration with the longer time is dropped
 * after a round or two.
 */
const SHORT = 100;
/** The longer time. */
const LONG = 20_000;

/** The behaviour of a configuration in a race: 0 is that of all, 1 the second one. */
type Actor = (race: number) => Spin;

/** Does the same every time. */
function always(microseconds: number): Actor {
  return () => ({ microseconds });
}

/** Is faster than the others in the first race only. */
const LUCKY: Actor = (race) => ({ microseconds: race === 0 ? SHORT : 2 * LONG });

/** Runs in the first race, and fails in the next. */
function breaking(microseconds: number): Actor {
  return (race) => {
    if (race > 0) throw new RangeError("Cannot go on");
    return { microseconds };
  };
}

/** Configurations by their names. */
class Cast implements Disposable {
  readonly actors: Map<string, Actor>;
  readonly #name: string;
  readonly #out = device.allocate("float32", 1);
  readonly #spinner = new Spinner(device, this.#out);

  /** Takes the name of the tuning. */
  constructor(name: string, actors: Readonly<Record<string, Actor>>) {
    this.#name = name;
    this.actors = new Map(Object.entries(actors));
  }

  /** Tunes some of them; `races` has the names in each race. */
  async tune(
    names: readonly string[] = [...this.actors.keys()],
    more: Pick<AutotuneOptions<string>, "prune" | "signal"> = {},
  ) {
    const races: string[][] = [];
    let allocations = -1;
    const { best, origin, report } = await autotune(device, {
      name: this.#name,
      key: 1,
      store: "memory",
      warmUp: 0,
      repeats: 20,
      configurations: names,
      launch: (name) => {
        // Only the timer of each race allocates memory.
        const { allocationCount } = poolOf(device.context).stats();
        if (allocationCount !== allocations) races.push([]);
        allocations = allocationCount;
        const race = races.length - 1;
        races[race] = names.filter((each) => each === name || races[race]!.includes(each));
        this.#spinner.launch(this.actors.get(name)!(race));
      },
      ...more,
    });
    const namesOf = (is: "refuted" | "failed") =>
      report.filter((row) => row[is]).map(({ configuration }) => configuration);
    return { best, origin, refuted: namesOf("refuted"), failed: namesOf("failed"), races };
  }

  [Symbol.dispose](): void {
    this.#out.free();
  }
}

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
