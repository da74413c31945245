/**
 * Races of configurations: timing in turn, dropping losers, and choosing the winner.
 *
 * Each round times every configuration once: changes over time, of clocks and temperature above all,
 * affect all of them. The order changes from round to round.
 *
 * Times on a device are not normally distributed: nothing makes a kernel faster, and much makes it
 * slower for once. So nothing here uses means or variances. The interval of a median is made of the
 * sorted samples themselves: each sample is as likely above the median as below, and the k-th
 * smallest of n is above it with the probability of fewer than k heads in n throws of a coin.
 *
 * @module
 */

import { median } from "../../launch/kernel_timing.ts";

export interface RaceOutcome {
  /** Its times, one for each round that it was in; none if it failed. */
  readonly samples: readonly number[];
  /** Whether it was dropped because another was certainly faster. */
  readonly stoppedEarly: boolean;
  /** The thrown value; absent if it ran. */
  readonly failure?: { readonly error: unknown };
}

export interface Race {
  readonly entrants: number;
  /** Rounds before the first timed one. */
  readonly warmUp: number;
  /** The limit of timed rounds. */
  readonly repeats: number;
  /** Times a configuration, in microseconds. Its errors drop the configuration. */
  readonly time: (entrant: number) => Promise<number>;
  /** Whether an error ends the race, which then rejects with it. */
  readonly isFatal: (error: unknown, entrant: number) => boolean;
}

/**
 * Rounds before statistics alone decide. With eight, an interval from the shortest to the longest time
 * misses the median once in 128 times, and for two equal configurations the intervals lie apart once
 * in 6435 times.
 */
export const MIN_ROUNDS = 8;
const INTERVAL_ERROR = 1 / 128;

/**
 * Before that, a configuration is dropped if it is slower by a factor that no noise makes, and by more
 * microseconds than a busy system takes from a launch.
 */
const CLEAR_FACTOR = 4;
const CLEAR_DIFFERENCE = 10_000;

/** The probability of telling equal configurations apart by mistake, all comparisons together. */
const CHOICE_ERROR = 0.02;

interface Entrant {
  readonly index: number;
  readonly samples: number[];
  stoppedEarly: boolean;
  failure?: { readonly error: unknown };
}

export async function raceConfigurations(race: Race): Promise<RaceOutcome[]> {
  const entrants = Array.from(
    { length: race.entrants },
    (_, index): Entrant => ({ index, samples: [], stoppedEarly: false }),
  );
  const running = () =>
    entrants.filter(({ stoppedEarly, failure }) => !stoppedEarly && failure === undefined);
  const timeRound = async (round: number, isTimed: boolean) => {
    const still = running();
    for (const place of roundOrder(still.length, round)) {
      const entrant = still[place]!;
      try {
        const time = await race.time(entrant.index);
        if (isTimed) entrant.samples.push(time);
      } catch (error) {
        if (race.isFatal(error, entrant.index)) throw error;
        entrant.failure = { error };
        entrant.samples.length = 0;
      }
    }
  };
  for (let round = 0; round < race.warmUp; round++) await timeRound(round, false);
  for (let round = 0; round < race.repeats; round++) {
    const [first, ...others] = running();
    // The last one is timed often enough for its median to be worth reading.
    const isWon = others.length === 0 && race.entrants > 1 &&
      (first?.samples.length ?? 0) >= MIN_ROUNDS;
    if (first === undefined || isWon) break;
    await timeRound(round, true);
    dropLosers(running());
  }
  return entrants;
}

/** Drops those whose shortest likely median is above the longest likely one of another. */
function dropLosers(entrants: readonly Entrant[]): void {
  const rounds = Math.min(...entrants.map(({ samples }) => samples.length));
  const intervals = entrants.map(({ samples }) => medianInterval(samples, INTERVAL_ERROR));
  const best = Math.min(...intervals.map(([, upper]) => upper));
  const limit = rounds < MIN_ROUNDS ? CLEAR_FACTOR * best + CLEAR_DIFFERENCE : best;
  for (const [index, entrant] of entrants.entries()) {
    entrant.stoppedEarly = intervals[index]![0] > limit;
  }
}

/**
 * The places 0 to `count - 1` in the order of a round, the same for the same arguments. Orders are
 * random, and each one has every other one as its predecessor. Each order is followed by its reverse:
 * of any two each comes first equally often.
 */
export function roundOrder(count: number, round: number): number[] {
  const order = Array.from({ length: count }, (_, place) => place);
  const random = generator(Math.floor(round / 2));
  // Shuffled as by Fisher and Yates.
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return round % 2 === 0 ? order : order.reverse();
}

/** Numbers in [0, 1): a Weyl sequence through the finaliser of MurmurHash3 (Appleby, 2011). */
function generator(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b9);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ state >>> 16, 0x85ebca6b);
    mixed = Math.imul(mixed ^ mixed >>> 13, 0xc2b2ae35);
    return ((mixed ^ mixed >>> 16) >>> 0) / 2 ** 32;
  };
}

/**
 * The rank k at both ends of n sorted samples with which the interval of their median misses it no
 * more often than allowed; 0 if n is too small.
 */
export function medianRank(count: number, error: number): number {
  let rank = 0;
  // Probabilities of 0, 1, 2, … heads, each from the one before to avoid overflow.
  let probability = 0.5 ** count;
  let fewer = probability;
  while (2 * fewer <= error && 2 * (rank + 1) <= count) {
    rank++;
    probability *= (count - rank + 1) / rank;
    fewer += probability;
  }
  return rank;
}

/** The interval of the median of samples; their range if there are too few. */
export function medianInterval(samples: readonly number[], error: number): [number, number] {
  const rank = Math.max(1, medianRank(samples.length, error));
  const sorted = samples.toSorted((one, other) => one - other);
  return [sorted[rank - 1]!, sorted[sorted.length - rank]!];
}

/**
 * Whether the times of one are longer than those of another beyond the noise. Times of the same round
 * are compared: changes of the machine affect both.
 */
export function isSlower(
  one: readonly number[],
  other: readonly number[],
  error: number = CHOICE_ERROR,
): boolean {
  const ratios = Array.from(
    { length: Math.min(one.length, other.length) },
    // Two launches that took no measurable time took equally long.
    (_, round) => one[round] === other[round] ? 1 : one[round]! / other[round]!,
  );
  return ratios.length > 0 && medianInterval(ratios, error)[0] > 1;
}

/**
 * Chooses the winner: the first configuration, unless another is faster beyond the noise; among
 * those that are as fast as the fastest, the first. Depends on nothing but the times and their order.
 *
 * @param outcomes In the order of preference; `undefined` for unknown ones.
 * @returns Its index; -1 if none runs.
 */
export function chooseWinner(
  outcomes: readonly (Pick<RaceOutcome, "samples" | "stoppedEarly"> | undefined)[],
): number {
  const runners = outcomes.flatMap((outcome, index) =>
    outcome === undefined || outcome.samples.length === 0 ? [] : [{
      index,
      samples: outcome.samples,
      stoppedEarly: outcome.stoppedEarly,
      median: median(outcome.samples),
    }]
  );
  const [first] = runners;
  if (first === undefined) return -1;
  // If all were dropped, the one that was faster has failed later on, or is no candidate.
  const finished = runners.filter(({ stoppedEarly }) => !stoppedEarly);
  const eligible = finished.length > 0 ? finished : runners;
  const fastest = eligible.reduce((one, other) => other.median < one.median ? other : one);
  const error = CHOICE_ERROR / Math.max(1, eligible.length - 1);
  const equals = eligible.filter((one) => !isSlower(one.samples, fastest.samples, error));
  // Nothing that seems slower than the first, however slightly, takes its place.
  return (equals.find((one) => one.median <= first.median) ?? fastest).index;
}
