/**
 * Checks of arguments, and the wording of their errors.
 *
 * @module
 */

/** Shows any value in a few words; never throws. */
export function describeInput(value: unknown): string {
  switch (typeof value) {
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      // Printing a huge bigint takes quadratic time.
      return value === BigInt.asIntN(256, value) ? `${value}n` : "a bigint of more than 256 bits";
    case "undefined":
      return "undefined";
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "an array" : "an object";
    default:
      return `a ${typeof value}`;
  }
}

/** Makes the `RangeError` of an argument: `Cannot … as … must be …: it is …`. */
export function rangeError(
  action: string,
  name: string,
  allowed: string,
  given: unknown,
): RangeError {
  return new RangeError(`Cannot ${action} as ${name} must ${allowed}: it is ${given}`);
}

export function typeError(
  action: string,
  name: string,
  allowed: string,
  value: unknown,
): TypeError {
  return new TypeError(
    `Cannot ${action} as ${name} must be ${allowed}: it is ${describeInput(value)}`,
  );
}

export function requireNumber(
  action: string,
  name: string,
  value: unknown,
): asserts value is number {
  if (typeof value !== "number") throw typeError(action, name, "a number", value);
}

export function requireInteger(
  action: string,
  name: string,
  value: unknown,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  requireNumber(action, name, value);
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw rangeError(action, name, `be an integer in ${min}..${max}`, describeInput(value));
}

export function requireOneOf(
  action: string,
  name: string,
  value: unknown,
  allowed: readonly number[],
): asserts value is number {
  requireNumber(action, name, value);
  if (allowed.includes(value)) return;
  throw rangeError(action, name, `be one of ${allowed.join(", ")}`, describeInput(value));
}

export function requireObject(action: string, name: string, value: unknown): void {
  if (typeof value !== "object" || value === null) {
    throw typeError(action, name, "an object", value);
  }
}

export function requireArray(action: string, name: string, value: unknown): void {
  if (!Array.isArray(value)) throw typeError(action, name, "an array", value);
}

/** The product of two sizes. Throws a `RangeError` if it is more than 2^53 − 1. */
export function checkedProduct(action: string, name: string, left: number, right: number): number {
  const product = left * right;
  if (Number.isSafeInteger(product)) return product;
  throw rangeError(action, name, "be at most 9007199254740991", `${left} × ${right}`);
}
