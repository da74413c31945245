/**
 * The second look: what was the fastest among all is timed once more beside the first alone.
 */

import { assert, assertEquals } from "@std/assert";
import type { TuningRow } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { type Spin, Spinner } from "./spinning.ts";

/** Rounds of the race: so few drop nobody who is not slower by more than ten milliseconds. */
const ROUNDS = 7;

/** Microseconds that tell a change of what is launched from whatever else slows a launch down. */
const SHORT = 100;
const LONG = 9_500;

/** A configuration, and what its launch number `launched`, from 0, does. */
interface Actor {
  readonly name: string;
  readonly act: (launched: number) => Spin;
}

/** Tunes configurations whose launches change with time. */
async function tune(...actors: Actor[]) {
  using out = device.allocate("float32", 1);
  const { launch } = new Spinner(device, out);
  const launched = new Map<string, number>();
  const { best, report } = await device.autotune({
    name: "second look",
    key: 1,
    store: false,
    warmUp: 0,
    repeats: ROUNDS,
    configurations: actors.map(({ name }) => name),
    launch: (name) => {
      const count = launched.get(name) ?? 0;
      launched.set(name, count + 1);
      launch(actors.find((actor) => actor.name === name)!.act(count));
    },
  });
  const names = (is: (row: TuningRow<string>) => boolean) =>
    report.filter(is).map(({ configuration }) => configuration);
  return {
    best,
    refuted: names(({ refuted }) => refuted),
    failed: names(({ failed }) => failed),
    launches: actors.map(({ name }) => launched.get(name)!),
    medians: report.map(({ medianMicroseconds }) => medianMicroseconds),
  };
}

const always = (name: string, microseconds: number): Actor => ({
  name,
  act: () => ({ microseconds }),
});

Deno.test("what is faster twice is taken, and nobody else is timed again", async () => {
  const { best, refuted, launches } = await tune(
    always("first", LONG),
    always("other", LONG),
    always("fast", SHORT),
  );
  assertEquals([best, refuted], ["fast", []]);
  assertEquals(launches, [2 * ROUNDS, ROUNDS, 2 * ROUNDS]);
});

Deno.test("what is faster only as long as all are timed leaves its place to the first", async () => {
  const { best, refuted, launches, medians } = await tune(
    always("first", LONG),
    {
      name: "lucky",
      act: (launched) => ({ microseconds: launched < ROUNDS ? SHORT : 2 * LONG }),
    },
  );
  assertEquals([best, refuted], ["first", ["lucky"]]);
  assertEquals(launches, [2 * ROUNDS, 2 * ROUNDS]);
  // The report has the times of the race, in which it was the fastest.
  assert(medians[1]! < medians[0]!, `${medians}`);
});

Deno.test("what fails at the second look is out, and the next best is looked at", async () => {
  const { best, refuted, failed, launches } = await tune(
    always("first", LONG),
    {
      name: "breaks",
      act: (launched) => {
        if (launched >= ROUNDS) throw new RangeError("Cannot go on");
        return { microseconds: SHORT };
      },
    },
    always("fast", 4 * SHORT),
  );
  assertEquals([best, refuted, failed], ["fast", [], ["breaks"]]);
  assertEquals(launches, [3 * ROUNDS, ROUNDS + 1, 2 * ROUNDS]);
});

Deno.test("when the first fails at the second look the next one that runs is the first", async () => {
  const { best, failed } = await tune(
    {
      name: "first",
      act: (launched) => {
        if (launched >= ROUNDS) throw new RangeError("Cannot go on");
        return { microseconds: LONG };
      },
    },
    always("second", LONG),
    always("fast", SHORT),
  );
  assertEquals([best, failed], ["fast", ["first"]]);
});

Deno.test("the first that stays the fastest is not timed again", async () => {
  const { best, launches } = await tune(always("first", SHORT), always("slow", LONG));
  assertEquals([best, launches], ["first", [ROUNDS, ROUNDS]]);
});
