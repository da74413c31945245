/**
 * Rules for the fields of a snapshot, and how they are applied to JSON.
 *
 * @module
 */

import { refuseField, SnapshotError } from "./snapshot_error.ts";

/** What a value must be. */
export interface Rule {
  /** In words, after "must be". */
  readonly requirement: string;
  /** Whether a value is. */
  holds(value: unknown): boolean;
}

/** A rule for each field of an object. */
export type Fields = Readonly<Record<string, Rule>>;

/** A rule of a text and a test. */
export function rule(requirement: string, holds: (value: unknown) => boolean): Rule {
  return { requirement, holds };
}

/** An integer of a range. */
export function integer(minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): Rule {
  return rule(
    `an integer in ${minimum}..${maximum}`,
    (value) => Number.isInteger(value) && value as number >= minimum && value as number <= maximum,
  );
}

/** One of a few values. */
export function oneOf(...values: readonly unknown[]): Rule {
  return rule(
    values.map((value) => JSON.stringify(value)).join(" or "),
    (value) => values.includes(value),
  );
}

/** What another rule allows, or null. */
export function orNull(other: Rule): Rule {
  return rule(`${other.requirement} or null`, (value) => value === null || other.holds(value));
}

/** A text. */
export const TEXT: Rule = rule("a text", (value) => typeof value === "string");

/** True or false. */
export const BOOLEAN: Rule = rule("true or false", (value) => typeof value === "boolean");

/** A number; JSON has no infinite ones, but an object in memory may. */
export const FINITE: Rule = rule("a finite number", Number.isFinite);

/** A duration or a time. */
export const NOT_NEGATIVE: Rule = rule(
  "a finite number of at least 0",
  (value) => Number.isFinite(value) && value as number >= 0,
);

/** A list, whatever is in it. */
export const LIST: Rule = rule("a list", Array.isArray);

/** An object, whatever is in it. */
export const OBJECT: Rule = rule("an object", isRecord);

/** Whether a value is an object of fields. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Applies a rule to a field. */
export function checkField(value: unknown, path: string, { requirement, holds }: Rule): void {
  if (!holds(value)) refuseField(path, requirement, value);
}

/**
 * Applies a rule to every element of a list. The path is put together only for what is wrong, since
 * a timeline has many elements.
 */
export function checkElements(list: unknown, path: string, each: Rule): unknown[] {
  checkField(list, path, LIST);
  const values = list as unknown[];
  for (let index = 0; index < values.length; index++) {
    if (!each.holds(values[index])) {
      refuseField(`${path}[${index}]`, each.requirement, values[index]);
    }
  }
  return values;
}

/** Applies rules to the fields of an object, which has exactly these. */
export function checkRecord(
  value: unknown,
  path: string,
  fields: Fields,
): Record<string, unknown> {
  checkField(value, path, OBJECT);
  const record = value as Record<string, unknown>;
  const prefix = path === "" ? "" : `${path}.`;
  for (const name of Object.keys(record)) {
    if (!Object.hasOwn(fields, name)) {
      throw new SnapshotError(
        `${prefix}${name}`,
        `is no field of it: allowed are ${Object.keys(fields).join(", ")}`,
      );
    }
  }
  for (const [name, each] of Object.entries(fields)) {
    if (!Object.hasOwn(record, name)) {
      throw new SnapshotError(`${prefix}${name}`, `must be ${each.requirement}: it is missing`);
    }
    checkField(record[name], `${prefix}${name}`, each);
  }
  return record;
}

/** Applies a rule to every value of an object whose names are free. */
export function checkDictionary(value: unknown, path: string, each: Rule): void {
  checkField(value, path, OBJECT);
  for (const [name, element] of Object.entries(value as Record<string, unknown>)) {
    checkField(element, `${path}.${name}`, each);
  }
}
