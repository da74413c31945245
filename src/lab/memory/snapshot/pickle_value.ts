/**
 * What a pickle of plain values holds, and how much of it is read.
 *
 * @module
 */

/** A value of a pickle; see `readPickle()` for what Python's types become. */
export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly PickleValue[]
  | ReadonlyMap<PickleValue, PickleValue>;

/**
 * How much of a pickle is read. A few bytes of a file make a few hundred of memory, and what does
 * not fit the heap ends the process instead of throwing.
 */
export interface PickleLimits {
  /** Most bytes of the file; 2^29 by default. */
  readonly maximumBytes?: number;
  /** Most lists, tuples and dictionaries inside each other; 100 by default. */
  readonly maximumDepth?: number;
  /** Most lists, tuples and dictionaries; 2^22 by default. */
  readonly maximumContainers?: number;
  /** Most keys and values in all of them together; 2^26 by default. */
  readonly maximumValues?: number;
  /** Most values in one of them, on the stack and in the memo; 2^23 by default. */
  readonly maximumLength?: number;
}
