/**
 * The form of the tables of error codes.
 *
 * @module
 */

/** One code: its constant's name, what it means, and what to do about it. */
export type ErrorCodeRow = readonly [name: string, meaning: string, advice: string];

/** Rows by code. */
export type ErrorCodeTable = Readonly<Record<number, ErrorCodeRow>>;
