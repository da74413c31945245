/**
 * What is wrong with an index.
 *
 * @module
 */

/** Shows any value in a few words; never throws. */
export function describeInput(value: unknown): string {
  switch (typeof value) {
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      // Printing a huge one takes quadratic time.
      return value === BigInt.asIntN(256, value) ? `${value}n` : "a bigint of more than 256 bits";
    case "undefined":
      return "undefined";
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "an array" : "an object";
    default:
      return `a ${typeof value}`;
  }
}

/**
 * The error for an index that is none.
 *
 * @param action What cannot be done with it: `analyse accesses`.
 * @param position Which one it is, of all that were added.
 * @param value What came.
 */
export function indexError(
  action: string,
  position: number,
  value: unknown,
): RangeError | TypeError {
  const subject = `Cannot ${action} as the index at position ${position} must be`;
  return typeof value === "number" || typeof value === "bigint"
    ? new RangeError(`${subject} an integer in 0..9007199254740991: it is ${describeInput(value)}`)
    : new TypeError(`${subject} a number or a bigint: it is ${describeInput(value)}`);
}
