/**
 * Calls of the C ABI as random values.
 *
 * @module
 */

import fc from "fast-check";

/** One call: its slots of the command block and its arguments. */
export interface AbiCall {
  /** Slots of the command block and their values. */
  readonly slots: readonly (readonly [slot: number, value: unknown])[];
  /** The parameters. */
  readonly parameters: readonly unknown[];
}

/** Values of one parameter. */
export type Values = fc.Arbitrary<unknown>;

/** A call that passes its values. */
export function passes(...parameters: readonly Values[]): fc.Arbitrary<AbiCall> {
  return fc.tuple(...parameters).map((values) => ({ slots: [], parameters: values }));
}

/** A call that passes its values, of which the last come as a list. */
export function passesList(
  first: readonly Values[],
  rest: fc.Arbitrary<readonly unknown[]>,
  last: readonly Values[] = [],
): fc.Arbitrary<AbiCall> {
  return fc.tuple(fc.tuple(...first), rest, fc.tuple(...last)).map(([head, middle, tail]) => ({
    slots: [],
    parameters: [...head, ...middle, ...tail],
  }));
}
