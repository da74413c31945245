/**
 * Arguments that have to be integers, or objects.
 *
 * @module
 */

import { describeInput } from "./index_error.ts";

/**
 * Checks that an argument is an integer of a range.
 *
 * @param action What cannot be done otherwise: `pad an extent`.
 * @param name The argument.
 * @param value What came.
 * @param least The least that is allowed.
 * @param most The most that is allowed; 2^53 − 1 by default.
 * @throws {RangeError} If it is another number.
 * @throws {TypeError} If it is none.
 */
export function requireInteger(
  action: string,
  name: string,
  value: unknown,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  if (typeof value !== "number") {
    throw new TypeError(
      `Cannot ${action} as ${name} must be a number: it is ${describeInput(value)}`,
    );
  }
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new RangeError(
      `Cannot ${action} as ${name} must be an integer in ${least}..${most}: it is ${
        describeInput(value)
      }`,
    );
  }
}

/** The same for one of a few numbers. */
export function requireOneOf(
  action: string,
  name: string,
  value: unknown,
  allowed: readonly number[],
): asserts value is number {
  if (typeof value === "number" && allowed.includes(value)) return;
  const Problem = typeof value === "number" ? RangeError : TypeError;
  throw new Problem(
    `Cannot ${action} as ${name} must be one of ${allowed.join(", ")}: it is ${
      describeInput(value)
    }`,
  );
}

/**
 * Checks that an argument is an object.
 *
 * @throws {TypeError} If it is none.
 */
export function requireObject(action: string, name: string, value: unknown): void {
  if (typeof value === "object" && value !== null) return;
  throw new TypeError(
    `Cannot ${action} as ${name} must be an object: it is ${describeInput(value)}`,
  );
}

/**
 * The product of two sizes.
 *
 * @throws {RangeError} If it is more than 2^53 − 1.
 */
export function checkedProduct(action: string, name: string, left: number, right: number): number {
  const product = left * right;
  if (Number.isSafeInteger(product)) return product;
  throw new RangeError(
    `Cannot ${action} as ${name} must be at most 9007199254740991: it is ${left} × ${right}`,
  );
}
