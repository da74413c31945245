/**
 * Round positions along axes.
 *
 * @module
 */

/** The least 1, 2 or 5 times a power of ten that is not below a number above 0. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least * 0.999999)!;
}

/** The multiples of a step from one position to another, however small the step. */
export function multiplesOf(step: number, from: number, to: number): number[] {
  const first = Math.ceil(from / step);
  const count = Math.max(Math.floor(to / step) - first + 1, 0);
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}

/** Sizes that are round in binary, from 0 to a peak: at most five. */
export function byteTicks(peak: number): number[] {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(peak, 1) / 4)));
  return multiplesOf(step, 0, peak);
}

/** A time in milliseconds on an axis that ends at a time and has labels this far apart. */
export function timeLabel(time: number, end: number, step: number): string {
  const [unit, size] = end >= 1000
    ? ["s", 1000] as const
    : end >= 1
    ? ["ms", 1] as const
    : ["µs", 0.001] as const;
  const decimals = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `${(time / size).toFixed(decimals)} ${unit}`;
}
