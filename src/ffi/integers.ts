/**
 * Range checks before numbers cross the seam.
 *
 * The FFI layer's own checks vanish once V8 has optimised a call: 1.5 then becomes 1 and 2^31
 * becomes -2^31 without a word. So every integer is checked here first.
 *
 * @module
 */

import { describeValue } from "./describe_value.ts";

/**
 * Returns the value if it is an integer in `minimum..maximum`.
 *
 * @param value The number to check.
 * @param name What it is, as the error message says it.
 * @param action What the caller is about to do, as the error message says it.
 * @throws {RangeError} If the value is out of range, fractional or not a number.
 */
export function checkInteger(
  value: number,
  name: string,
  action: string,
  minimum: number,
  maximum: number,
): number {
  // Adding 0 makes -0 a 0: the FFI layer takes -0 for no integer.
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return value + 0;
  throw new RangeError(
    `Cannot ${action} as ${name} must be an integer in ${minimum}..${maximum}: it is ${
      describeValue(value)
    }`,
  );
}

/**
 * Returns the value if it is a count or size: an integer in 0..2^53-1.
 *
 * @throws {RangeError} If it is not.
 */
export function checkSize(value: number, name: string, action: string): number {
  return checkInteger(value, name, action, 0, Number.MAX_SAFE_INTEGER);
}

/**
 * Returns the value if it fits an `int32_t`.
 *
 * @throws {RangeError} If it does not.
 */
export function checkInt32(value: number, name: string, action: string): number {
  return checkInteger(value, name, action, -2147483648, 2147483647);
}
