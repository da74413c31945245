/**
 * Values as texts that are equal exactly where the values are: keys and configurations by content.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";

/**
 * What keys and configurations are made of: what JSON can say, and bigints. The order of an object's
 * properties means nothing, and one that is `undefined` is as one that is absent.
 */
export type TuningValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly TuningValue[]
  | { readonly [name: string]: TuningValue | undefined };

/** Deeper than anybody describes a problem, and far from where recursion ends. */
const MOST_DEPTH = 64;

/** More values than anybody describes a problem with; an object that comes twice counts twice. */
const MOST_VALUES = 100_000;

const ALLOWED = "plain data: numbers, bigints, texts, booleans, null, arrays and objects of them";

/** Where a value is, for messages. */
interface Place {
  /** What the caller is about to do, as the error message says it. */
  readonly action: string;
  /** What was passed: `options.key.rows`. */
  readonly path: string;
  /** The objects that it lies in. */
  readonly within: readonly object[];
  /** How many values there were so far, in all. */
  readonly values: { count: number };
}

function refuse({ action, path }: Place, what: string): never {
  throw new TypeError(`Cannot ${action} as ${path} must be ${ALLOWED}: ${what}`);
}

/**
 * The text of a value.
 *
 * @param action What the caller is about to do, as the error message says it.
 * @param path What the value is, as the error message says it.
 * @throws {TypeError} If a part of it has no such text: a function, a symbol, an object of a class,
 * a number that is not finite, a cycle.
 */
export function canonicalText(value: unknown, action: string, path: string): string {
  return textOf(value, { action, path, within: [], values: { count: 0 } });
}

function textOf(value: unknown, place: Place): string {
  if (++place.values.count > MOST_VALUES) refuse(place, `it has more than ${MOST_VALUES} values`);
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "boolean":
      return String(value);
    case "bigint":
      return `${value}n`;
    case "number":
      // -0 is 0, as everywhere where sizes are compared.
      return Number.isFinite(value)
        ? String(value + 0)
        : refuse(place, `it is ${value}, which equals nothing or is no size`);
    case "object":
      return value === null ? "null" : objectText(value, place);
    default:
      return refuse(place, `it is ${describeValue(value)}`);
  }
}

function objectText(value: object, place: Place): string {
  if (place.within.includes(value)) refuse(place, "it contains itself");
  if (place.within.length >= MOST_DEPTH) refuse(place, `it is more than ${MOST_DEPTH} deep`);
  const inside = (path: string): Place => ({
    action: place.action,
    path,
    within: [...place.within, value],
    values: place.values,
  });
  if (Array.isArray(value)) {
    // Not map, which leaves out holes.
    const elements = Array.from(
      value,
      (element, index) => textOf(element, inside(`${place.path}[${index}]`)),
    );
    return `[${elements.join(",")}]`;
  }
  requirePlain(value, place);
  const members = Object.keys(value).sort().flatMap((name) => {
    const member: unknown = (value as Record<string, unknown>)[name];
    if (member === undefined) return [];
    return [`${JSON.stringify(name)}:${textOf(member, inside(`${place.path}.${name}`))}`];
  });
  return `{${members.join(",")}}`;
}

/** Refuses objects that are more than their properties say. */
function requirePlain(value: object, place: Place): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    refuse(place, `it is ${describeValue(value)}`);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) refuse(place, "it has a symbol for a name");
}
