/**
 * Holds what a device has computed against plain TypeScript.
 *
 * @module
 */

/** The largest difference, as a share of the largest value that is expected; NaN where one is. */
export function largestError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) {
    throw new RangeError(`There are ${actual.length} results, and ${expected.length} expected`);
  }
  let difference = 0;
  let scale = 0;
  for (let index = 0; index < expected.length; index++) {
    const error = Math.abs(actual[index]! - expected[index]!);
    if (Number.isNaN(error)) return NaN;
    difference = Math.max(difference, error);
    scale = Math.max(scale, Math.abs(expected[index]!));
  }
  return scale === 0 ? difference : difference / scale;
}

/** Numbers that are the same in every run, between -1 and 1, from a linear congruential generator. */
export function sampleNumbers(length: number): Float32Array<ArrayBuffer> {
  let state = 1;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/**
 * Says in a line how far a result is from the expected one.
 *
 * @throws {Error} If that is further than it may be.
 */
export function report(
  what: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
): void {
  const error = largestError(actual, expected);
  if (!(error <= tolerance)) throw new Error(`${what}: off by ${error}, allowed is ${tolerance}`);
  console.log(`${what}: ${actual.length} results, off by ${error.toExponential(1)} at most`);
}
