/**
 * Timing in turn, and dropping losers: with simulated times, whose truth is known.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  LEAST_ROUNDS,
  type Race,
  raceConfigurations,
  RaceEndedError,
} from "../../../src/lab/tuning/configuration_race.ts";
import {
  chooseConfiguration,
  findChallenger,
} from "../../../src/lab/tuning/configuration_choice.ts";
import { roundOrder } from "../../../src/lab/tuning/round_order.ts";
import { generator, SimulatedDevice } from "./simulated_times.ts";

function raceOf(entrants: number, time: Race["time"], options: Partial<Race> = {}): Race {
  return { entrants, warmUp: 0, repeats: 30, time, isFatal: () => false, ...options };
}

Deno.test("each round times all, in the order of its number, warm-up and others", async () => {
  const order: number[] = [];
  await raceConfigurations(raceOf(3, (entrant) => {
    order.push(entrant);
    return Promise.resolve(1);
  }, { warmUp: 1, repeats: 4 }));
  assertEquals(order, [0, 0, 1, 2, 3].flatMap((round) => roundOrder(3, round)));
});

Deno.test("warm-up rounds are not among the samples, and equals are all timed to the end", async () => {
  let clock = 0;
  const outcomes = await raceConfigurations(
    raceOf(2, () => Promise.resolve(clock++ < 6 ? 1e9 : 5), { warmUp: 3, repeats: 12 }),
  );
  for (const { samples, stoppedEarly } of outcomes) {
    assertEquals([samples, stoppedEarly], [new Array(12).fill(5), false]);
  }
});

Deno.test("a loser is dropped as soon as statistics allow, the winner is timed until it is sure", async () => {
  const [winner, loser] = await raceConfigurations(
    raceOf(2, (entrant) => Promise.resolve(entrant === 0 ? 10 : 11)),
  );
  assertEquals([winner!.samples.length, loser!.samples.length], [LEAST_ROUNDS, LEAST_ROUNDS]);
  assertEquals([winner!.stoppedEarly, loser!.stoppedEarly], [false, true]);
});

Deno.test("what is long and clearly slower is dropped after one round, what is short is not", async () => {
  const times = [1_000, 200_000, 3_000];
  const outcomes = await raceConfigurations(
    raceOf(3, (entrant) => Promise.resolve(times[entrant]!)),
  );
  assertEquals(outcomes.map(({ samples }) => samples.length), [LEAST_ROUNDS, 1, LEAST_ROUNDS]);
  // An interruption of some milliseconds must not cost a short kernel its place.
  let calls = 0;
  const [unlucky] = await raceConfigurations(
    raceOf(2, (entrant) => Promise.resolve(entrant === 0 ? calls++ === 0 ? 5_000 : 10 : 20)),
  );
  assertEquals(unlucky!.stoppedEarly, false);
});

Deno.test("one alone is timed as often as asked", async () => {
  const [only] = await raceConfigurations(raceOf(1, () => Promise.resolve(1), { repeats: 20 }));
  assertEquals(only!.samples.length, 20);
});

Deno.test("what throws is out and keeps its error, whenever it does", async () => {
  let calls = 0;
  const outcomes = await raceConfigurations(raceOf(3, (entrant) => {
    if (entrant === 0) return Promise.reject(new RangeError("at once"));
    if (entrant === 1 && ++calls > 4) return Promise.reject(new TypeError("later"));
    return Promise.resolve(7);
  }));
  assertEquals(outcomes.map(({ failure }) => (failure?.error as Error | undefined)?.message), [
    "at once",
    "later",
    undefined,
  ]);
  assert(outcomes[2]!.samples.length >= LEAST_ROUNDS);
});

Deno.test("a fatal error ends the race and says whose it is", async () => {
  const error = new Error("lost");
  const race = raceOf(3, (entrant) => entrant === 1 ? Promise.reject(error) : Promise.resolve(1), {
    isFatal: (thrown) => thrown === error,
  });
  const ended = await assertRejects(() => raceConfigurations(race), RaceEndedError);
  assertEquals([ended.entrant, ended.cause], [1, error]);
});

Deno.test("property: who is dropped is truly slower, and the choice is a minimum up to the noise", async () => {
  const random = generator(11);
  let wrongDrops = 0;
  let launches = 0;
  const races = 300;
  const jitter = 0.05;
  for (let seed = 0; seed < races; seed++) {
    const truths = Array.from({ length: 2 + seed % 7 }, () => 20 * (1 + random()));
    const simulated = new SimulatedDevice(seed, jitter);
    const outcomes = await raceConfigurations(
      raceOf(
        truths.length,
        (entrant) => Promise.resolve(simulated.time(entrant, truths[entrant]!)),
      ),
    );
    const least = Math.min(...truths);
    for (const [index, { stoppedEarly }] of outcomes.entries()) {
      if (stoppedEarly && truths[index] === least) wrongDrops++;
    }
    const challenger = findChallenger(outcomes);
    const chosen = challenger === -1 ? chooseConfiguration(outcomes) : challenger;
    assert(
      truths[chosen]! <= least * (1 + jitter),
      `race ${seed}: ${truths[chosen]} of ${truths.join(", ")}`,
    );
    launches += simulated.launches.reduce((sum, count) => sum + count, 0) / truths.length;
  }
  assertEquals(wrongDrops, 0);
  assert(launches / races < 15, `${launches / races} launches each: nobody is dropped early`);
});
