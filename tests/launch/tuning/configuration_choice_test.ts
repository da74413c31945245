/**
 * Which configuration is taken: the fastest, unless noise cannot tell it from an earlier one.
 */

import { assert, assertEquals } from "@std/assert";
import { chooseConfiguration } from "../../../src/launch/tuning/configuration_choice.ts";
import { SimulatedDevice } from "./simulated_times.ts";

function times(...samples: number[]) {
  return { samples, stoppedEarly: false };
}

function repeated(time: number, count = 12) {
  return times(...new Array<number>(count).fill(time));
}

Deno.test("the fastest is taken, and of equals the first", () => {
  assertEquals(chooseConfiguration([repeated(3), repeated(1), repeated(2)]), 1);
  assertEquals(chooseConfiguration([repeated(3), repeated(1), repeated(1)]), 1);
  assertEquals(chooseConfiguration([repeated(1), repeated(1), repeated(1)]), 0);
  assertEquals(chooseConfiguration([repeated(0), repeated(0)]), 0);
});

Deno.test("what fails is not taken, and where all fail nothing is", () => {
  assertEquals(chooseConfiguration([undefined, repeated(2), repeated(3)]), 1);
  assertEquals(chooseConfiguration([undefined, undefined]), -1);
  assertEquals(chooseConfiguration([times()]), -1);
  assertEquals(chooseConfiguration([]), -1);
});

Deno.test("what was dropped early is taken only where nothing else runs", () => {
  const dropped = { samples: [1, 1, 1], stoppedEarly: true };
  assertEquals(chooseConfiguration([dropped, repeated(5)]), 1);
  assertEquals(chooseConfiguration([dropped, undefined]), 0);
});

Deno.test("the first keeps its place unless it is slower beyond the noise", () => {
  const noisy = times(10, 12, 9, 11, 13, 9, 10, 12, 11, 10);
  const alike = times(9, 11, 10, 10, 12, 10, 9, 11, 12, 9);
  assertEquals(chooseConfiguration([noisy, alike]), 0);
  assertEquals(chooseConfiguration([alike, noisy]), 0);
  // A drift that both have says nothing: the second is faster in every round.
  const rising = Array.from({ length: 12 }, (_, round) => 10 * 1.2 ** round);
  const faster = rising.map((time) => time * 0.97);
  assertEquals(chooseConfiguration([times(...rising), times(...faster)]), 1);
});

Deno.test("the fastest keeps the place of the first only if it is faster the second time too", () => {
  const first = repeated(10);
  const seen = (samples: number[], firstSamples: number[]) => ({
    ...repeated(8),
    confirmation: { samples, firstSamples },
  });
  const twelve = (time: number) => new Array<number>(12).fill(time);
  assertEquals(chooseConfiguration([first, seen(twelve(9), twelve(10))]), 1);
  assertEquals(chooseConfiguration([first, seen(twelve(10), twelve(10))]), 0);
  assertEquals(chooseConfiguration([first, seen(twelve(11), twelve(10))]), 0);
  // Of too few rounds all have to agree, and one that was faster only at times is not.
  assertEquals(chooseConfiguration([first, seen([9, 9], [10, 10])]), 1);
  assertEquals(chooseConfiguration([first, seen([9, 11], [10, 10])]), 0);
  // What was refuted gives way to the first, and not to the next one that was not looked at again.
  assertEquals(chooseConfiguration([first, seen(twelve(11), twelve(10)), repeated(9)]), 0);
  // The first that runs is the first.
  assertEquals(chooseConfiguration([undefined, first, seen(twelve(9), twelve(10))]), 2);
});

Deno.test("nothing that seems slower than the first takes its place", () => {
  const first = repeated(10);
  const fastest = repeated(8);
  const between = times(11, 7, 12, 7, 11, 7, 12, 7, 11, 11, 12, 11);
  assertEquals(chooseConfiguration([first, between, fastest]), 2);
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
    if (chooseConfiguration(sampled.map((samples) => times(...samples))) !== 0) moved++;
  }
  // Each choice is between the luckiest of seven and the first.
  assert(moved <= 0.05 * rounds, `${moved} of ${rounds}`);
});

Deno.test("property: the choice depends on times and order only", () => {
  const simulated = new SimulatedDevice(3, 0.1);
  const candidates = [30, 20, 21, 40].map((truth, index) =>
    times(...Array.from({ length: 30 }, () => simulated.time(index, truth)))
  );
  const chosen = chooseConfiguration(candidates);
  const copied = JSON.parse(JSON.stringify(candidates));
  assertEquals(chooseConfiguration(copied), chosen);
  const scaled = candidates.map(({ samples }) => times(...samples.map((time) => time * 8)));
  assertEquals(chooseConfiguration(scaled), chosen);
});
