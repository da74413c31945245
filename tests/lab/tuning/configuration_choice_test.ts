/**
 * Which configuration is taken: the fastest, unless noise cannot tell it from an earlier one.
 */

import { assert, assertEquals } from "@std/assert";
import {
  chooseConfiguration,
  findChallenger,
  type TimedConfiguration,
} from "../../../src/lab/tuning/configuration_choice.ts";
import { SimulatedDevice } from "./simulated_times.ts";

function times(...samples: number[]): TimedConfiguration {
  return { samples, stoppedEarly: false };
}

function repeated(time: number, count = 12): TimedConfiguration {
  return times(...new Array<number>(count).fill(time));
}

/** The choice if the one that seems to be the best is confirmed. */
function chosenIfConfirmed(candidates: readonly (TimedConfiguration | undefined)[]): number {
  const challenger = findChallenger(candidates);
  return challenger === -1 ? chooseConfiguration(candidates) : challenger;
}

function confirmedBy(samples: number[], firstSamples: number[], time = 8): TimedConfiguration {
  return { ...repeated(time), confirmation: { samples, firstSamples } };
}

const twelve = (time: number) => new Array<number>(12).fill(time);
const CONFIRMED = [twelve(9), twelve(10)] as const;
const REFUTED = [twelve(11), twelve(10)] as const;

Deno.test("the fastest is taken, and of equals the first", () => {
  assertEquals(chosenIfConfirmed([repeated(3), repeated(1), repeated(2)]), 1);
  assertEquals(chosenIfConfirmed([repeated(3), repeated(1), repeated(1)]), 1);
  assertEquals(chosenIfConfirmed([repeated(1), repeated(1), repeated(1)]), 0);
  assertEquals(chosenIfConfirmed([repeated(0), repeated(0)]), 0);
});

Deno.test("what fails is not taken, and where all fail nothing is", () => {
  assertEquals(chosenIfConfirmed([undefined, repeated(2), repeated(3)]), 1);
  assertEquals(chosenIfConfirmed([undefined, undefined]), -1);
  assertEquals(chosenIfConfirmed([times()]), -1);
  assertEquals(chosenIfConfirmed([]), -1);
});

Deno.test("what was dropped early is taken only where nothing else runs", () => {
  const dropped = { samples: [1, 1, 1], stoppedEarly: true };
  assertEquals(chosenIfConfirmed([dropped, repeated(5)]), 1);
  assertEquals(chosenIfConfirmed([dropped, undefined]), 0);
});

Deno.test("the first keeps its place unless it is slower beyond the noise", () => {
  const noisy = times(10, 12, 9, 11, 13, 9, 10, 12, 11, 10);
  const alike = times(9, 11, 10, 10, 12, 10, 9, 11, 12, 9);
  assertEquals(chosenIfConfirmed([noisy, alike]), 0);
  assertEquals(chosenIfConfirmed([alike, noisy]), 0);
  // A drift that both have says nothing: the second is faster in every round.
  const rising = Array.from({ length: 12 }, (_, round) => 10 * 1.2 ** round);
  const faster = rising.map((time) => time * 0.97);
  assertEquals(chosenIfConfirmed([times(...rising), times(...faster)]), 1);
});

Deno.test("the fastest takes the place of the first only if it is faster the second time too", () => {
  const first = repeated(10);
  const chosen = (samples: number[], firstSamples: number[]) =>
    chooseConfiguration([first, confirmedBy(samples, firstSamples)]);
  assertEquals(chosen(...CONFIRMED), 1);
  assertEquals(chosen(twelve(10), twelve(10)), 0);
  assertEquals(chosen(...REFUTED), 0);
  // Of too few rounds all have to agree, and one that was faster only at times is not.
  assertEquals(chosen([9, 9], [10, 10]), 1);
  assertEquals(chosen([9, 11], [10, 10]), 0);
  assertEquals(chosen([9], [10]), 1);
  // What takes no measurable time is faster than what does, and not than its like.
  assertEquals(chosen(twelve(0), twelve(1)), 1);
  assertEquals(chosen(twelve(0), twelve(0)), 0);
  // The first that runs is the first.
  assertEquals(chooseConfiguration([undefined, first, confirmedBy(...CONFIRMED)]), 2);
});

Deno.test("what was not timed a second time does not take the place of the first", () => {
  const candidates = [repeated(10), repeated(8), repeated(9)];
  assertEquals([findChallenger(candidates), chooseConfiguration(candidates)], [1, 0]);
  // A slower one that was confirmed does.
  candidates[2] = confirmedBy(...CONFIRMED, 9);
  assertEquals([findChallenger(candidates), chooseConfiguration(candidates)], [1, 2]);
  candidates[1] = confirmedBy(...CONFIRMED);
  assertEquals([findChallenger(candidates), chooseConfiguration(candidates)], [-1, 1]);
  assertEquals(findChallenger([undefined, repeated(1)]), -1);
  assertEquals(findChallenger([]), -1);
});

Deno.test("what was refuted gives way to the next best, until too many were", () => {
  const refuted = confirmedBy(...REFUTED);
  const candidates = [repeated(10), refuted, repeated(9)];
  assertEquals([findChallenger(candidates), chooseConfiguration(candidates)], [2, 0]);
  candidates[2] = confirmedBy(...CONFIRMED, 9);
  assertEquals([findChallenger(candidates), chooseConfiguration(candidates)], [-1, 2]);
  const many = [repeated(10), refuted, refuted, refuted, repeated(9)];
  assertEquals([findChallenger(many), chooseConfiguration(many)], [-1, 0]);
  // Also where all others were dropped early.
  const dropped = { ...repeated(10), stoppedEarly: true };
  assertEquals(chooseConfiguration([dropped, refuted]), 0);
});

Deno.test("nothing that seems slower than the first takes its place", () => {
  const first = repeated(10);
  const fastest = repeated(8);
  const between = times(11, 7, 12, 7, 11, 7, 12, 7, 11, 11, 12, 11);
  assertEquals(chosenIfConfirmed([first, between, fastest]), 2);
});

Deno.test("property: of equal configurations the first is chosen almost always", () => {
  let moved = 0;
  const rounds = 400;
  for (let seed = 0; seed < rounds; seed++) {
    const simulated = new SimulatedDevice(seed, 0.2);
    const candidates = Array.from({ length: 8 }, () => times());
    const sampled = candidates.map(() => [] as number[]);
    for (let round = 0; round < 30; round++) {
      for (const samples of sampled) samples.push(simulated.time(0, 100));
    }
    if (chosenIfConfirmed(sampled.map((samples) => times(...samples))) !== 0) moved++;
  }
  // Each choice is between the luckiest of seven and the first.
  assert(moved <= 0.05 * rounds, `${moved} of ${rounds}`);
});

Deno.test("property: the choice depends on times and order only", () => {
  const simulated = new SimulatedDevice(3, 0.1);
  const candidates = [30, 20, 21, 40].map((truth, index) =>
    times(...Array.from({ length: 30 }, () => simulated.time(index, truth)))
  );
  const chosen = chosenIfConfirmed(candidates);
  const copied = JSON.parse(JSON.stringify(candidates));
  assertEquals(chosenIfConfirmed(copied), chosen);
  const scaled = candidates.map(({ samples }) => times(...samples.map((time) => time * 8)));
  assertEquals(chosenIfConfirmed(scaled), chosen);
});
