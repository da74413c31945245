/**
 * The types of `@std/assert` over the same functions from npm, which ships them without types.
 * In particular `assert` and `assertExists` narrow here, as in the original.
 *
 * @module
 */

import * as untyped from "deno-std/assert/mod.js";

// A class of errors, as `assertThrows` and `assertRejects` take it.
// deno-lint-ignore no-explicit-any
type ErrorClass<E extends Error = Error> = abstract new (...args: any[]) => E;

/** The error of a failed assertion. */
export const AssertionError: new (message: string, options?: ErrorOptions) => Error =
  untyped.AssertionError;

/** Asserts that `value` is truthy, and narrows it. */
export function assert(value: unknown, message?: string): asserts value {
  untyped.assert(value, message);
}

/** Asserts that `value` is falsy. */
export function assertFalse(value: unknown, message?: string): void {
  untyped.assertFalse(value, message);
}

/** Asserts deep equality; prints a difference. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  untyped.assertEquals(actual, expected, message);
}

/** Asserts that two values are not deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, message?: string): void {
  untyped.assertNotEquals(actual, expected, message);
}

/** Asserts identity by `Object.is`: NaN equals NaN, and 0 differs from -0. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is T {
  untyped.assertStrictEquals(actual, expected, message);
}

/** Asserts that two values are not identical by `Object.is`. */
export function assertNotStrictEquals<T>(actual: T, expected: T, message?: string): void {
  untyped.assertNotStrictEquals(actual, expected, message);
}

/** Asserts `|actual - expected| <= tolerance`; the default tolerance is 1e-7 of `expected`. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  message?: string,
): void {
  untyped.assertAlmostEquals(actual, expected, tolerance, message);
}

/** Asserts `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, message?: string): void {
  untyped.assertLess(actual, expected, message);
}

/** Asserts `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, message?: string): void {
  untyped.assertLessOrEqual(actual, expected, message);
}

/** Asserts that a text matches a pattern. */
export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  untyped.assertMatch(actual, expected, message);
}

/** Asserts that a text does not match a pattern. */
export function assertNotMatch(actual: string, expected: RegExp, message?: string): void {
  untyped.assertNotMatch(actual, expected, message);
}

/** Asserts that a text contains another. */
export function assertStringIncludes(actual: string, expected: string, message?: string): void {
  untyped.assertStringIncludes(actual, expected, message);
}

/** Asserts that `run` throws; returns the thrown value. */
export function assertThrows(run: () => unknown, message?: string): unknown;
/** Asserts that `run` throws this class of error, with the text in its message; returns it. */
export function assertThrows<E extends Error = Error>(
  run: () => unknown,
  errorClass: ErrorClass<E>,
  messageIncludes?: string,
  message?: string,
): E;
export function assertThrows(run: () => unknown, ...rest: unknown[]): unknown {
  return untyped.assertThrows(run, ...rest);
}

/** Asserts that the promise of `run` rejects; resolves to the reason. */
export function assertRejects(
  run: () => PromiseLike<unknown>,
  message?: string,
): Promise<unknown>;
/** Asserts that the promise `run` returns rejects with this class of error; resolves to it. */
export function assertRejects<E extends Error = Error>(
  run: () => PromiseLike<unknown>,
  errorClass: ErrorClass<E>,
  messageIncludes?: string,
  message?: string,
): Promise<E>;
export function assertRejects(
  run: () => PromiseLike<unknown>,
  ...rest: unknown[]
): Promise<unknown> {
  return untyped.assertRejects(run, ...rest);
}
