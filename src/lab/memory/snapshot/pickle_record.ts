/**
 * The fields of a dictionary of a pickle, checked one by one.
 *
 * @module
 */

import type { PickleValue } from "./pickle_value.ts";
import { refuseField, SnapshotError } from "./snapshot_error.ts";

/** A dictionary and where it is in the file, for messages. */
export class PickleRecord {
  readonly #fields: ReadonlyMap<PickleValue, PickleValue>;
  /** Where it is, such as `segments[3]`. */
  readonly path: string;

  /**
   * Checks that a value is a dictionary.
   *
   * @throws {SnapshotError} If it is not.
   */
  constructor(value: PickleValue | undefined, path: string) {
    if (!(value instanceof Map)) refuseField(path, "a dictionary", value);
    this.#fields = value;
    this.path = path;
  }

  /** A field as it is; `undefined` where there is none. */
  value(name: string): PickleValue | undefined {
    return this.#fields.get(name);
  }

  /** Where a field is. */
  pathOf(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  /** Names and values of all fields whose names are texts. */
  *entries(): Generator<[string, PickleValue]> {
    for (const [name, value] of this.#fields) {
      if (typeof name === "string") yield [name, value];
    }
  }

  /** A field that is a size, an address or a handle. */
  size(name: string): number {
    const value = this.#fields.get(name);
    if (Number.isSafeInteger(value) && value as number >= 0) return value as number;
    refuseField(this.pathOf(name), `an integer in 0..${Number.MAX_SAFE_INTEGER}`, value);
  }

  /** Such a field, or a default where it is not there. */
  sizeOr(name: string, absent: number): number {
    return this.#fields.has(name) ? this.size(name) : absent;
  }

  /** A field that is one of a few texts. */
  choice(name: string, choices: readonly string[]): string {
    const value = this.#fields.get(name);
    if (typeof value === "string" && choices.includes(value)) return value;
    refuseField(this.pathOf(name), choices.join(", "), value);
  }

  /** A field that is a list; an empty one where it is not there and need not be. */
  list(name: string, { optional = false } = {}): readonly PickleValue[] {
    const value = this.#fields.get(name);
    if (Array.isArray(value)) return value;
    if (value === undefined && optional) return [];
    refuseField(this.pathOf(name), "a list", value);
  }

  /** A field that is a boolean, false where it is not there. */
  flag(name: string): boolean {
    const value = this.#fields.get(name) ?? false;
    if (typeof value === "boolean") return value;
    refuseField(this.pathOf(name), "True or False", value);
  }

  /** Refuses the whole record. */
  refuse(offence: string): never {
    throw new SnapshotError(this.path, offence);
  }
}
