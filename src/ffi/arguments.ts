/**
 * Checks of what a caller passed that TypeScript promises and JavaScript does not keep.
 *
 * @module
 */

import { describeValue } from "./describe_value.ts";

/** A class, whether or not everybody may call its constructor. */
interface ClassOf<T> {
  readonly prototype: T;
  readonly name: string;
}

/**
 * Refuses anything but an object.
 *
 * @param value What was passed.
 * @param name What it is, as the error message says it.
 * @param action What the caller is about to do, as the error message says it.
 * @throws {TypeError} If it is none.
 */
export function requireObject(
  value: unknown,
  name: string,
  action: string,
): asserts value is object {
  if (typeof value === "object" && value !== null) return;
  throw new TypeError(
    `Cannot ${action} as ${name} must be an object: it is ${describeValue(value)}`,
  );
}

/**
 * Refuses anything but an instance of a class.
 *
 * @throws {TypeError} If it is none.
 */
export function requireInstance<T>(
  value: unknown,
  Class: ClassOf<T>,
  name: string,
  action: string,
): asserts value is T {
  if (value instanceof (Class as unknown as abstract new () => T)) return;
  const article = /^[AEIOU]/.test(Class.name) ? "an" : "a";
  throw new TypeError(
    `Cannot ${action} as ${name} must be ${article} ${Class.name}: it is ${describeValue(value)}`,
  );
}

/**
 * Refuses an option.
 *
 * @param Kind `TypeError` for what is of another kind, `RangeError` for what is out of its range.
 * @param action What the caller is about to do, as the error message says it.
 * @param name The option.
 * @param allowed What it must be, as the error message says it.
 * @param value What was passed.
 */
export function refuseOption(
  Kind: typeof TypeError | typeof RangeError,
  action: string,
  name: string,
  allowed: string,
  value: unknown,
): never {
  throw new Kind(
    `Cannot ${action} as options.${name} must be ${allowed}: it is ${describeValue(value)}`,
  );
}

/**
 * Refuses anything but an integer of a range.
 *
 * @param name The argument, as the error message names it.
 * @param action The caller's action, as the error message names it.
 * @throws {TypeError} If it is no number.
 * @throws {RangeError} If it is another number.
 */
export function requireInteger(
  value: unknown,
  name: string,
  action: string,
  min = 0,
  max: number = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return;
  const ErrorClass = typeof value === "number" ? RangeError : TypeError;
  throw new ErrorClass(
    `Cannot ${action} as ${name} must be an integer in ${min}..${max}: it is ${
      describeValue(value)
    }`,
  );
}
