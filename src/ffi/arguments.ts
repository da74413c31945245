/**
 * Checks of arguments that TypeScript's types promise and JavaScript callers may violate.
 *
 * @module
 */

import { describeValue } from "./describe_value.ts";

interface ClassOf<T> {
  readonly prototype: T;
  readonly name: string;
}

/** The beginning of an error's message: the action is the name of a function, or words. */
export function cannot(action: string): string {
  return /^[a-z]\w*$/.test(action) ? `Cannot call ${action}()` : `Cannot ${action}`;
}

/** Refuses anything but an object. */
export function requireObject(
  value: unknown,
  name: string,
  action: string,
): asserts value is object {
  if (typeof value === "object" && value !== null) return;
  throw new TypeError(
    `${cannot(action)} as ${name} must be an object: it is ${describeValue(value)}`,
  );
}

/**
 * Refuses options that are no object, and options by other names, which a caller may have misspelt.
 *
 * @param names The names of all options.
 * @param place The parameter's name in messages.
 */
export function requireOptions<Options extends object>(
  options: Options,
  names: readonly string[],
  action: string,
  place = "options",
): Options {
  requireObject(options, place, action);
  for (const name in options) {
    if (names.includes(name)) continue;
    const allowed = names.length === 0 ? "empty" : names.join(", ");
    throw new TypeError(
      `${cannot(action)} as ${place} must be ${allowed}: there is ${describeValue(name)}`,
    );
  }
  return options;
}

/** Refuses anything but an instance of a class. */
export function requireInstance<T>(
  value: unknown,
  Class: ClassOf<T>,
  name: string,
  action: string,
): asserts value is T {
  if (value instanceof (Class as unknown as abstract new () => T)) return;
  const article = /^[AEIOU]/.test(Class.name) ? "an" : "a";
  throw new TypeError(
    `${cannot(action)} as ${name} must be ${article} ${Class.name}: it is ${describeValue(value)}`,
  );
}

/**
 * Refuses an option.
 *
 * @param Kind `TypeError` for a wrong type, `RangeError` for a value out of range.
 */
export function refuseOption(
  Kind: typeof TypeError | typeof RangeError,
  action: string,
  name: string,
  allowed: string,
  value: unknown,
): never {
  throw new Kind(
    `${cannot(action)} as options.${name} must be ${allowed}: it is ${describeValue(value)}`,
  );
}

/** Refuses anything but an integer of a range. */
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
    `${cannot(action)} as ${name} must be an integer in ${min}..${max}: it is ${
      describeValue(value)
    }`,
  );
}

/** Returns the value if it is an integer in `minimum..maximum`. */
export function checkInteger(
  value: number,
  name: string,
  action: string,
  minimum: number,
  maximum: number,
): number {
  // Adding 0 turns -0 into 0: the FFI layer refuses -0 as an integer.
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return value + 0;
  throw new RangeError(
    `${cannot(action)} as ${name} must be an integer in ${minimum}..${maximum}: it is ${
      describeValue(value)
    }`,
  );
}

/** Returns the value if it is a count or size: an integer in 0..2^53-1. */
export function checkSize(value: number, name: string, action: string): number {
  return checkInteger(value, name, action, 0, Number.MAX_SAFE_INTEGER);
}

/** Returns the value if it fits an `int32_t`. */
export function checkInt32(value: number, name: string, action: string): number {
  return checkInteger(value, name, action, -2147483648, 2147483647);
}

/** A getter of typed arrays or buffers as it is now: no array and no later write overrides it. */
function getterOf<T>(prototype: object, name: PropertyKey): (object: unknown) => T {
  return Function.prototype.call.bind(Object.getOwnPropertyDescriptor(prototype, name)!.get!);
}

const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype);
const kindOf = getterOf<string | undefined>(TYPED_ARRAY, Symbol.toStringTag);
const bufferOf = getterOf<ArrayBufferLike>(TYPED_ARRAY, "buffer");
const byteOffsetOf = getterOf<number>(TYPED_ARRAY, "byteOffset");
const lengthOf = getterOf<number>(TYPED_ARRAY, "length");
const Bytes = Uint8Array;

/** Keeps a program from replacing the getters of a class that native copies rely on. */
export function lockProperties(prototype: object, ...names: readonly string[]): void {
  for (const name of names) Object.defineProperty(prototype, name, { configurable: false });
}

/** The true length in bytes of a typed array. */
export const byteLengthOf: (array: ArrayBufferView) => number = getterOf(TYPED_ARRAY, "byteLength");

/**
 * The true class name, length and memory of a typed array, whatever its own properties or those of a
 * subclass say; `undefined` for any other value.
 */
export function trueArray(value: unknown): {
  readonly kind: string;
  readonly length: number;
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  /** All bytes, as a new view; `undefined` if the memory was transferred, such as to a worker. */
  readonly bytes: Uint8Array<ArrayBufferLike> | undefined;
} | undefined {
  const kind = kindOf(value);
  if (kind === undefined) return undefined;
  const array = value as ArrayBufferView;
  const [buffer, byteOffset, length] = [bufferOf(array), byteOffsetOf(array), lengthOf(array)];
  let bytes: Uint8Array<ArrayBufferLike> | undefined;
  try {
    bytes = new Bytes(buffer, byteOffset, byteLengthOf(array));
  } catch {
    // Views of detached memory cannot be made.
  }
  return { kind, length, buffer, byteOffset, bytes };
}

/** Characters of a text from a file that a message shows. */
const MAX_TEXT = 1000;

/**
 * Prepares a text from a file for a terminal: control characters and marks that change the text
 * direction become escapes, and a very long text is cut off.
 */
export function printableText(text: string): string {
  const short = text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
  return short.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}
