/**
 * Timing configurations in turn, and dropping those that cannot win any more.
 *
 * In each round every configuration is timed once, so that whatever changes with time, clocks and
 * temperature above all, meets all of them, and the order changes from round to round.
 *
 * @module
 */

import { roundOrder } from "./round_order.ts";
import { type Interval, medianInterval, range } from "./sample_statistics.ts";

/** What is to be timed, and how. */
export interface Race {
  /** How many configurations there are. */
  readonly entrants: number;
  /** Rounds before the first that counts. */
  readonly warmUp: number;
  /** Rounds that count, at most. */
  readonly repeats: number;
  /** Times one of them, in microseconds. What it throws is the end of this one. */
  readonly time: (entrant: number) => Promise<number>;
  /** Whether what was thrown is the end of all. */
  readonly isFatal: (error: unknown) => boolean;
}

/** What became of a configuration. */
export interface RaceOutcome {
  /** Its times in microseconds, one for each round that it was in. */
  readonly samples: readonly number[];
  /** Whether it was dropped because another was sure to be faster. */
  readonly stoppedEarly: boolean;
  /** What was thrown; absent where it ran. */
  readonly failure?: { readonly error: unknown };
}

/** An error that ends a race, and whose it is. */
export class RaceEndedError extends Error {
  /** The class, for stack traces. */
  override readonly name = "RaceEndedError";

  /** Takes what was thrown, and while which configuration was timed. */
  constructor(readonly entrant: number, cause: unknown) {
    super("The race is over", { cause });
  }
}

/**
 * Rounds before statistics alone decide. With eight an interval from the shortest to the longest
 * time misses the median once in 128 times, and for two equal configurations those of both lie
 * apart once in 6435 times.
 */
export const LEAST_ROUNDS = 8;

/** How often the interval of a configuration's median may miss it. */
const ERROR = 1 / 128;

/**
 * What one has to be slower by to be dropped sooner: a factor that no noise makes, and a time in
 * microseconds beyond what a busy system takes from a launch. It is worth it only for long ones.
 */
const CLEAR_FACTOR = 4;
const CLEAR_DIFFERENCE = 10_000;

interface Entrant {
  readonly index: number;
  readonly samples: number[];
  stoppedEarly: boolean;
  failure: { readonly error: unknown } | undefined;
}

/**
 * Times configurations in turn.
 *
 * @throws {RaceEndedError} If something was thrown that is the end of all.
 */
export async function raceConfigurations(race: Race): Promise<RaceOutcome[]> {
  const entrants = Array.from(
    { length: race.entrants },
    (_, index): Entrant => ({ index, samples: [], stoppedEarly: false, failure: undefined }),
  );
  for (let round = 0; round < race.warmUp; round++) {
    for (const entrant of inOrder(running(entrants), round)) await timeOnce(race, entrant);
  }
  for (let round = 0; round < race.repeats; round++) {
    const still = running(entrants);
    if (still.length === 0 || still.length === 1 && isDecided(race, still[0]!)) break;
    for (const entrant of inOrder(still, round)) {
      const time = await timeOnce(race, entrant);
      if (time !== undefined) entrant.samples.push(time);
    }
    dropLosers(running(entrants));
  }
  return entrants.map(({ samples, stoppedEarly, failure }) => ({
    samples,
    stoppedEarly,
    ...(failure === undefined ? {} : { failure }),
  }));
}

function running(entrants: readonly Entrant[]): Entrant[] {
  return entrants.filter(({ stoppedEarly, failure }) => !stoppedEarly && failure === undefined);
}

/** Whether the only one left has been timed often enough for its median to be worth reading. */
function isDecided({ entrants }: Race, { samples }: Entrant): boolean {
  return entrants > 1 && samples.length >= LEAST_ROUNDS;
}

/** Those that are still timed, in the order of a round. */
function inOrder(entrants: readonly Entrant[], round: number): Entrant[] {
  return roundOrder(entrants.length, round).map((place) => entrants[place]!);
}

async function timeOnce({ time, isFatal }: Race, entrant: Entrant): Promise<number | undefined> {
  try {
    return await time(entrant.index);
  } catch (error) {
    if (isFatal(error)) throw new RaceEndedError(entrant.index, error);
    entrant.failure = { error };
    return undefined;
  }
}

/** Drops those whose shortest likely median is above the longest likely one of another. */
function dropLosers(entrants: readonly Entrant[]): void {
  const rounds = Math.min(...entrants.map(({ samples }) => samples.length));
  const intervalOf = ({ samples }: Entrant): Interval =>
    rounds < LEAST_ROUNDS ? range(samples) : medianInterval(samples, ERROR);
  const intervals = entrants.map(intervalOf);
  const best = Math.min(...intervals.map(({ upper }) => upper));
  const limit = rounds < LEAST_ROUNDS ? CLEAR_FACTOR * best + CLEAR_DIFFERENCE : best;
  for (const [index, entrant] of entrants.entries()) {
    entrant.stoppedEarly = intervals[index]!.lower > limit;
  }
}
