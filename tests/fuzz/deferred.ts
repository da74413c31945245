/**
 * Arguments that are made at the moment of a call: fast-check generates, prints and shrinks a
 * description, and each run makes the value anew from it.
 *
 * @module
 */

import fc from "fast-check";
import type { Stage, StageKind } from "./stage.ts";

/**
 * A value that is made when it is needed.
 *
 * @typeParam Place The source of the value.
 */
export class Deferred<Place = Stage> {
  /** How a counterexample shows it. */
  readonly label: string;
  readonly #make: (place: Place) => unknown;

  /** Describes a value. */
  constructor(label: string, make: (place: Place) => unknown) {
    this.label = label;
    this.#make = make;
  }

  /** Makes the value. */
  make(place: Place): unknown {
    return this.#make(place);
  }

  /** What fast-check prints. */
  [fc.toStringMethod](): string {
    return this.label;
  }
}

/**
 * One of the live or disposed objects of a kind: now and then any, else one of the favourites,
 * which go together.
 */
export function reference(kind: StageKind, favourites = [0, 1]): fc.Arbitrary<Deferred> {
  const index = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...favourites) }, fc.nat(255));
  return index.map((index) =>
    new Deferred(`<${kind} ${index}>`, (stage) => stage.pick(kind, index))
  );
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}

/** A value with everything deferred in it made, in arrays and plain objects too. */
export function settled<Place>(value: unknown, place: Place): unknown {
  if (value instanceof Deferred) return value.make(place);
  if (Array.isArray(value)) return value.map((element) => settled(element, place));
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, settled(member, place)]),
  );
}
