/**
 * Comparing results with a reference.
 *
 * @module
 */

/** The worst element of a comparison. */
export interface Comparison {
  /** Its error. */
  readonly maxError: number;
  /** Its bound. */
  readonly bound: number;
  /** Whether every element is within its bound. */
  readonly passed: boolean;
}

/**
 * Compares element by element. NaN agrees with NaN only.
 *
 * @param bound What an element may be off by.
 * @returns The error and bound of the element that is closest to its bound, or furthest beyond it.
 */
export function compareNumbers(
  actual: Float64Array,
  expected: Float64Array,
  bound: (index: number) => number,
): Comparison {
  let worst: Comparison = { maxError: 0, bound: expected.length > 0 ? bound(0) : 0, passed: true };
  let worstExcess = -Infinity;
  for (let i = 0; i < expected.length; i++) {
    const same = Object.is(actual[i], expected[i]) || actual[i] === expected[i];
    const error = same ? 0 : Math.abs(actual[i]! - expected[i]!);
    const limit = bound(i);
    // NaN where a number should be is infinitely wrong.
    const maxError = Number.isNaN(error) ? Infinity : error;
    const excess = limit === 0 ? (maxError === 0 ? 0 : Infinity) : maxError / limit;
    if (excess > worstExcess) {
      worstExcess = excess;
      worst = { maxError, bound: limit, passed: maxError <= limit };
    }
  }
  return actual.length === expected.length
    ? worst
    : { maxError: Infinity, bound: 0, passed: false };
}

/** Compares big integers, which must be equal; the error is their largest difference. */
export function compareIntegers(actual: BigInt64Array, expected: BigInt64Array): Comparison {
  let most = 0n;
  expected.forEach((value, index) => {
    const difference = value - (actual[index] ?? 0n);
    const magnitude = difference < 0n ? -difference : difference;
    if (magnitude > most) most = magnitude;
  });
  const maxError = actual.length === expected.length ? Number(most) : Infinity;
  return { maxError, bound: 0, passed: maxError === 0 };
}

/** Compares the bytes of two arrays; the error is the number of bytes that differ. */
export function compareBytes(actual: ArrayBufferView, expected: ArrayBufferView): Comparison {
  const a = new Uint8Array(actual.buffer, actual.byteOffset, actual.byteLength);
  const b = new Uint8Array(expected.buffer, expected.byteOffset, expected.byteLength);
  const differing = b.reduce((count, value, index) => count + (a[index] === value ? 0 : 1), 0) +
    Math.abs(a.length - b.length);
  return { maxError: differing, bound: 0, passed: differing === 0 };
}
