/**
 * Which of the timed configurations is taken.
 *
 * The fastest of many noisy times is often only the luckiest. So the first configuration, which is
 * what was used before anybody tuned, keeps its place unless another is faster beyond the noise, and
 * of those that noise cannot tell from the fastest the one that is listed first is taken. A machine
 * may also be in a state, for as long as all are timed, in which it does not stay. So the one that is
 * to take the place of the first is timed once more, later and beside the first alone, and takes it
 * only if it is faster there too; otherwise the next best is looked at. The choice depends on nothing
 * but the times and their order: what was read from a file is chosen again.
 *
 * @module
 */

import { median, medianInterval, medianRank, range } from "./sample_statistics.ts";

/** What is known of a configuration that runs. */
export interface TimedConfiguration {
  /** Its times, one for each round that it was in. */
  readonly samples: readonly number[];
  /** Whether it was dropped because another was sure to be faster. */
  readonly stoppedEarly: boolean;
  /** Its times, and those of the first, when it was timed once more beside the first alone. */
  readonly confirmation?: {
    readonly samples: readonly number[];
    readonly firstSamples: readonly number[];
  };
}

/** A configuration that runs, and its place among all. */
interface Runner extends TimedConfiguration {
  readonly index: number;
}

/** How often equal configurations may be told apart by mistake, all comparisons together. */
const ERROR = 0.02;

/**
 * How many may turn out not to be faster than the first after all before nobody is looked at any
 * more: then the machine was in another state for all of the race.
 */
const MOST_REFUTED = 3;

/**
 * The one that is taken: the first that runs, or one that was confirmed.
 *
 * @param candidates In the order of preference; `undefined` for those that do not run.
 * @returns Its index; -1 where none runs.
 */
export function chooseConfiguration(
  candidates: readonly (TimedConfiguration | undefined)[],
): number {
  const runners = runnersOf(candidates);
  const mayBeTaken = (runner: Runner) => runner === runners[0] || runner.confirmation !== undefined;
  const leader = leaderOf(runners);
  if (leader === undefined || mayBeTaken(leader)) return leader?.index ?? -1;
  return leaderOf(runners.filter(mayBeTaken))!.index;
}

/**
 * The one that is to be timed once more beside the first that runs, and to be taken if it is faster
 * there too.
 *
 * @param candidates As of {@linkcode chooseConfiguration}.
 * @returns Its index; -1 where the choice is made.
 */
export function findChallenger(
  candidates: readonly (TimedConfiguration | undefined)[],
): number {
  const runners = runnersOf(candidates);
  const leader = leaderOf(runners);
  if (leader === undefined || leader === runners[0] || leader.confirmation !== undefined) return -1;
  return runners.filter(isRefuted).length < MOST_REFUTED ? leader.index : -1;
}

/** Whether it was timed once more beside the first, and not faster there. */
export function isRefuted({ confirmation }: TimedConfiguration): boolean {
  if (confirmation === undefined) return false;
  return !isSlower(confirmation.firstSamples, confirmation.samples, ERROR);
}

function runnersOf(candidates: readonly (TimedConfiguration | undefined)[]): Runner[] {
  return candidates.flatMap((candidate, index) =>
    candidate !== undefined && candidate.samples.length > 0 ? [{ ...candidate, index }] : []
  );
}

/** Who seems to be the best by the race, without those that are refuted. */
function leaderOf(runners: readonly Runner[]): Runner | undefined {
  const [usual] = runners;
  if (usual === undefined) return undefined;
  const standing = runners.filter((runner) => runner === usual || !isRefuted(runner));
  const finished = standing.filter(({ stoppedEarly }) => !stoppedEarly);
  // Whoever was faster than all of these is not among the candidates any more, or failed later on.
  const eligible = (finished.length > 0 ? finished : standing)
    .map((runner) => ({ runner, samples: runner.samples, median: median(runner.samples) }));
  const fastest = eligible.reduce((one, other) => other.median < one.median ? other : one);
  const error = ERROR / Math.max(1, eligible.length - 1);
  const equals = eligible.filter((one) => !isSlower(one.samples, fastest.samples, error));
  // Nothing that seems slower than the usual one, however slightly, takes its place.
  const most = median(usual.samples);
  return (equals.find((one) => one.median <= most) ?? fastest).runner;
}

/**
 * Whether one is slower than another beyond the noise. Compares what was timed in the same round, so
 * that what slows both down says nothing.
 */
function isSlower(one: readonly number[], other: readonly number[], error: number): boolean {
  const rounds = Math.min(one.length, other.length);
  const ratios = Array.from({ length: rounds }, (_, round) => ratioOf(one[round]!, other[round]!));
  // Of too few rounds all have to agree.
  const isEnough = medianRank(rounds, error) > 0;
  return (isEnough ? medianInterval(ratios, error) : range(ratios)).lower > 1;
}

/** How many times as long; two launches that took no measurable time took equally long. */
function ratioOf(one: number, other: number): number {
  return one === other ? 1 : one / other;
}
