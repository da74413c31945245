/**
 * Which of the timed configurations is taken.
 *
 * The fastest of many noisy times is often only the luckiest. So the first configuration, which is
 * what was used before anybody tuned, keeps its place unless another is faster beyond the noise, and
 * of those that noise cannot tell from the fastest the one that is listed first is taken. A machine
 * may also be in a state, for as long as all are timed, in which it does not stay. So the one that is
 * to take the place of the first is timed once more, later and beside the first alone, and has to be
 * faster there too. The choice depends on nothing but the times and their order: what was read from a
 * file is chosen again.
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

/** How often equal configurations may be told apart by mistake, all comparisons together. */
const ERROR = 0.02;

/**
 * The one that is taken.
 *
 * @param candidates In the order of preference; `undefined` for those that do not run.
 * @returns Its index; -1 where none runs.
 */
export function chooseConfiguration(
  candidates: readonly (TimedConfiguration | undefined)[],
): number {
  const runs = candidates.flatMap((candidate, index) =>
    candidate !== undefined && candidate.samples.length > 0 ? [{ ...candidate, index }] : []
  );
  const finished = runs.filter(({ stoppedEarly }) => !stoppedEarly);
  // Whoever was faster than all of these is not among the candidates any more, or failed later on.
  const eligible = (finished.length > 0 ? finished : runs)
    .map(({ samples, index }) => ({ samples, index, median: median(samples) }));
  const [usual] = runs;
  if (usual === undefined) return -1;
  const fastest = eligible.reduce((one, other) => other.median < one.median ? other : one);
  const error = ERROR / Math.max(1, eligible.length - 1);
  const equals = eligible.filter((one) => !isSlower(one.samples, fastest.samples, error));
  // Nothing that seems slower than the usual one, however slightly, takes its place.
  const most = median(usual.samples);
  const { index } = equals.find((one) => one.median <= most) ?? fastest;
  const { confirmation } = candidates[index]!;
  return confirmation === undefined || isConfirmed(confirmation) ? index : usual.index;
}

/** Whether what was the fastest was so too when it was timed once more. */
export function isConfirmed(
  { samples, firstSamples }: NonNullable<TimedConfiguration["confirmation"]>,
): boolean {
  return isSlower(firstSamples, samples, ERROR);
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
