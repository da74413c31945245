/**
 * Arguments that are made at the moment of a call: fast-check generates, prints and shrinks a
 * description, and each run makes the value anew from it.
 *
 * @module
 */

import fc from "fast-check";
import type { Stage, StageKind } from "./stage.ts";

/** A value that is made when it is needed. */
export class Deferred {
  /** How a counterexample shows it. */
  readonly label: string;
  readonly #make: (stage: Stage) => unknown;

  /** Describes a value. */
  constructor(label: string, make: (stage: Stage) => unknown) {
    this.label = label;
    this.#make = make;
  }

  /** Makes the value. */
  make(stage: Stage): unknown {
    return this.#make(stage);
  }

  /** What fast-check prints. */
  [fc.toStringMethod](): string {
    return this.label;
  }
}

/** One of the live or disposed objects of a kind. */
export function reference(kind: StageKind): fc.Arbitrary<Deferred> {
  return fc.nat(255).map((index) =>
    new Deferred(`<${kind} ${index}>`, (stage) => stage.pick(kind, index))
  );
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}

/** A value with everything deferred in it made, in arrays and plain objects too. */
export function settled(value: unknown, stage: Stage): unknown {
  if (value instanceof Deferred) return value.make(stage);
  if (Array.isArray(value)) return value.map((element) => settled(element, stage));
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, settled(member, stage)]),
  );
}
