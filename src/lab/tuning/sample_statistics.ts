/**
 * What a few noisy times say: medians, and intervals that hold for noise of any shape.
 *
 * Times on a device are not normally distributed: nothing makes a kernel faster, and much makes it
 * slower for once. So nothing here uses means or variances. The interval of a median is made of the
 * sorted samples themselves: each sample is as likely above the median as below, so that the k-th
 * smallest of n is above it with the probability of fewer than k heads in n throws of a coin.
 *
 * @module
 */

/** A range that something is in. */
export interface Interval {
  /** Its lower end. */
  readonly lower: number;
  /** Its upper end. */
  readonly upper: number;
}

/** Sorts numbers into a new array. */
function ascending(samples: readonly number[]): number[] {
  return samples.toSorted((one, other) => one - other);
}

/** The middle one; of two, their mean; NaN of none. */
export function median(samples: readonly number[]): number {
  if (samples.length === 0) return NaN;
  const sorted = ascending(samples);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
}

/**
 * How far from both ends of n sorted samples the interval of their median begins: the largest rank
 * k, from 1, with which it misses the median no more often than allowed; 0 where n is too small.
 *
 * @param error How often the interval may miss the median.
 */
export function medianRank(count: number, error: number): number {
  let rank = 0;
  // Probabilities of 0, 1, 2, … heads: each from the one before, so that nothing overflows.
  let probability = 0.5 ** count;
  let fewer = probability;
  while (2 * fewer <= error && 2 * (rank + 1) <= count) {
    rank++;
    probability *= (count - rank + 1) / rank;
    fewer += probability;
  }
  return rank;
}

/**
 * The interval that the median of what was sampled is in; all numbers where there are too few samples
 * to say.
 *
 * @param error How often it may miss the median.
 */
export function medianInterval(samples: readonly number[], error: number): Interval {
  const rank = medianRank(samples.length, error);
  if (rank === 0) return { lower: -Infinity, upper: Infinity };
  const sorted = ascending(samples);
  return { lower: sorted[rank - 1]!, upper: sorted[sorted.length - rank]! };
}

/** From the least of some samples to the greatest. */
export function range(samples: readonly number[]): Interval {
  return { lower: Math.min(...samples), upper: Math.max(...samples) };
}
