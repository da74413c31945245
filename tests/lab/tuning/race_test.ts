import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  chooseWinner,
  medianRank,
  MIN_ROUNDS,
  type Race,
  raceConfigurations,
  type RaceOutcome,
  roundOrder,
} from "../../../src/lab/tuning/race.ts";

/** Numbers in [0, 1) that are the same for the same seed. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}

/**
 * Times of a launch on a busy machine: some per cent of jitter, a drift that slows everything down,
 * and now and then an interruption that takes many times as long.
 */
function simulatedDevice(seed: number, jitter: number): (truth: number) => number {
  const random = generator(seed);
  let drift = 1;
  return (truth) => {
    drift *= 1.001;
    const interruption = random() < 0.03 ? 50 : 1;
    return truth * drift * (1 + jitter * random()) * interruption;
  };
}

function raceOf(entrants: number, time: Race["time"], options: Partial<Race> = {}): Race {
  return { entrants, warmUp: 0, repeats: 30, time, isFatal: () => false, ...options };
}

function times(...samples: number[]): RaceOutcome {
  return { samples, stoppedEarly: false };
}

const repeated = (time: number) => times(...new Array<number>(12).fill(time));

Deno.test("roundOrder() has each place once, and each order is followed by its reverse", () => {
  for (const count of [0, 1, 2, 3, 7, 31, 1000]) {
    const places = Array.from({ length: count }, (_, place) => place);
    for (let round = 0; round < 9; round += 2) {
      const order = roundOrder(count, round);
      assertEquals(order.toSorted((one, other) => one - other), places);
      assertEquals(roundOrder(count, round), order);
      assertEquals(roundOrder(count, round + 1), order.toReversed());
    }
  }
  assert(roundOrder(1000, 0).join() !== roundOrder(1000, 2).join());
});

/** The probability of fewer than k heads in n throws of a coin, by counting. */
function tail(n: number, k: number): number {
  let sum = 0;
  let ways = 1;
  for (let heads = 0; heads < k; heads++) {
    sum += ways;
    ways = ways * (n - heads) / (heads + 1);
  }
  return sum / 2 ** n;
}

Deno.test("medianRank() is the largest whose interval misses the median no more often than allowed", () => {
  for (const error of [0.2, 0.05, 0.01, 1 / 128, 1e-4]) {
    for (let n = 0; n <= 200; n++) {
      const rank = medianRank(n, error);
      assert(rank === 0 || 2 * tail(n, rank) <= error, `${n} samples, rank ${rank}`);
      const next = rank + 1;
      assert(2 * next > n || 2 * tail(n, next) > error, `${n} samples, rank ${next} would do`);
    }
  }
  assertEquals([medianRank(7, 1 / 128), medianRank(8, 1 / 128)], [0, 1]);
});

Deno.test("raceConfigurations() times all in each round, in the order of its number", async () => {
  const order: number[] = [];
  const time = (entrant: number) => {
    order.push(entrant);
    return Promise.resolve(1);
  };
  await raceConfigurations(raceOf(3, time, { warmUp: 1, repeats: 4 }));
  assertEquals(order, [0, 0, 1, 2, 3].flatMap((round) => roundOrder(3, round)));
});

Deno.test("raceConfigurations() leaves out warm-up rounds, and times equals to the end", async () => {
  let clock = 0;
  const time = () => Promise.resolve(clock++ < 6 ? 1e9 : 5);
  const outcomes = await raceConfigurations(raceOf(2, time, { warmUp: 3, repeats: 12 }));
  for (const { samples, stoppedEarly } of outcomes) {
    assertEquals([samples, stoppedEarly], [new Array(12).fill(5), false]);
  }
  const [only] = await raceConfigurations(raceOf(1, () => Promise.resolve(1), { repeats: 20 }));
  assertEquals(only!.samples.length, 20);
});

Deno.test("raceConfigurations() drops losers as soon as statistics allow", async () => {
  const raced = async (...truths: number[]) => {
    const outcomes = await raceConfigurations(
      raceOf(truths.length, (entrant) => Promise.resolve(truths[entrant]!)),
    );
    return outcomes.map(({ samples, stoppedEarly }) => [samples.length, stoppedEarly]);
  };
  assertEquals(await raced(10, 11), [[MIN_ROUNDS, false], [MIN_ROUNDS, true]]);
  // A long and clearly slower one after one round.
  assertEquals(
    (await raced(1_000, 200_000, 3_000)).map(([rounds]) => rounds),
    [MIN_ROUNDS, 1, MIN_ROUNDS],
  );
  // An interruption of some milliseconds does not drop a short kernel.
  let calls = 0;
  const [unlucky] = await raceConfigurations(
    raceOf(2, (entrant) => Promise.resolve(entrant === 0 ? calls++ === 0 ? 5_000 : 10 : 20)),
  );
  assertEquals(unlucky!.stoppedEarly, false);
});

Deno.test("raceConfigurations() drops those that throw, and rejects with a fatal error", async () => {
  let calls = 0;
  const time = (entrant: number) => {
    if (entrant === 0) return Promise.reject(new RangeError("at once"));
    if (entrant === 1 && ++calls > 4) return Promise.reject(new TypeError("later"));
    return Promise.resolve(7);
  };
  const outcomes = await raceConfigurations(raceOf(3, time));
  const messages = outcomes.map(({ failure }) => (failure?.error as Error | undefined)?.message);
  assertEquals(messages, ["at once", "later", undefined]);
  assert(outcomes[2]!.samples.length >= MIN_ROUNDS);
  const isFatal = (_error: unknown, entrant: number) => entrant === 1;
  await assertRejects(() => raceConfigurations(raceOf(3, time, { isFatal })), TypeError, "later");
});

Deno.test("raceConfigurations() drops no fastest one, and the winner is a minimum up to the noise", async () => {
  const random = generator(11);
  let launches = 0;
  const races = 300;
  const jitter = 0.05;
  for (let seed = 0; seed < races; seed++) {
    const truths = Array.from({ length: 2 + seed % 7 }, () => 20 * (1 + random()));
    const simulated = simulatedDevice(seed, jitter);
    const outcomes = await raceConfigurations(
      raceOf(truths.length, (entrant) => Promise.resolve(simulated(truths[entrant]!))),
    );
    const least = Math.min(...truths);
    assert(!outcomes[truths.indexOf(least)]!.stoppedEarly, `race ${seed}`);
    const chosen = truths[chooseWinner(outcomes)]!;
    assert(chosen <= least * (1 + jitter), `race ${seed}: ${chosen} of ${truths.join(", ")}`);
    launches += outcomes.reduce((sum, { samples }) => sum + samples.length, 0) / truths.length;
  }
  assert(launches / races < 15, `${launches / races} launches each: none is dropped early`);
});

Deno.test("chooseWinner() takes the fastest, the first of equals, and none that fails", () => {
  assertEquals(chooseWinner([repeated(3), repeated(1), repeated(2)]), 1);
  assertEquals(chooseWinner([repeated(3), repeated(1), repeated(1)]), 1);
  assertEquals(chooseWinner([repeated(1), repeated(1), repeated(1)]), 0);
  assertEquals(chooseWinner([repeated(0), repeated(0)]), 0);
  assertEquals(chooseWinner([undefined, repeated(2), repeated(3)]), 1);
  for (const none of [[undefined, undefined], [times()], []]) assertEquals(chooseWinner(none), -1);
  // A dropped one only if nothing else runs.
  const dropped = { samples: [1, 1, 1], stoppedEarly: true };
  assertEquals(chooseWinner([dropped, repeated(5)]), 1);
  assertEquals(chooseWinner([dropped, undefined]), 0);
});

Deno.test("chooseWinner() keeps the first unless it is slower beyond the noise", () => {
  const noisy = times(10, 12, 9, 11, 13, 9, 10, 12, 11, 10);
  const alike = times(9, 11, 10, 10, 12, 10, 9, 11, 12, 9);
  assertEquals(chooseWinner([noisy, alike]), 0);
  assertEquals(chooseWinner([alike, noisy]), 0);
  // A drift affects both: the second is faster in every round.
  const rising = Array.from({ length: 12 }, (_, round) => 10 * 1.2 ** round);
  assertEquals(chooseWinner([times(...rising), times(...rising.map((time) => time * 0.97))]), 1);
  // One that seems slower than the first does not take its place.
  const between = times(11, 7, 12, 7, 11, 7, 12, 7, 11, 11, 12, 11);
  assertEquals(chooseWinner([repeated(10), between, repeated(8)]), 2);
});
