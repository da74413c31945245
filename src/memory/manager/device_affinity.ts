/**
 * Affinity: what belongs together, by name, stays on one device.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";

/** Names and the devices they are bound to. */
export class DeviceAffinity {
  readonly #ordinals = new Map<string, number>();
  readonly #known: readonly number[];

  /** No name is bound yet. The devices are those of these ordinals. */
  constructor(ordinals: readonly number[]) {
    this.#known = ordinals;
  }

  /**
   * Binds a name to a device, until it is bound to another.
   *
   * @throws {TypeError} If the name is no text.
   * @throws {RangeError} If the name is empty, or there is no such device.
   */
  bind(name: string, ordinal: number): void {
    checkName(name);
    if (!this.#known.includes(ordinal)) {
      throw new RangeError(
        `Cannot bind ${describeValue(name)} to a device as ordinal must be one of ${
          this.#known.join(", ")
        }: it is ${describeValue(ordinal)}`,
      );
    }
    this.#ordinals.set(name, ordinal);
  }

  /** Unbinds a name; whether it was bound. */
  unbind(name: string): boolean {
    return this.#ordinals.delete(name);
  }

  /** The device a name is bound to. */
  ordinalOf(name: string): number | undefined {
    checkName(name);
    return this.#ordinals.get(name);
  }

  /** All bound names and their devices, by name. */
  entries(): [name: string, ordinal: number][] {
    return [...this.#ordinals].sort(([a], [b]) => a < b ? -1 : 1);
  }
}

function checkName(name: unknown): asserts name is string {
  const message = `Cannot use an affinity as name must be a text that is not empty: it is ${
    describeValue(name)
  }`;
  if (typeof name !== "string") throw new TypeError(message);
  if (name === "") throw new RangeError(message);
}
