/**
 * The error of invalid traces.
 *
 * @module
 */

import { printableText } from "../../../ffi/arguments.ts";

/**
 * Thrown when a trace cannot be read, written or replayed.
 *
 * @example
 * ```ts
 * import { TraceError, parseTrace } from "@gridstride/cuda/memory";
 *
 * try {
 *   parseTrace("gridstride memory trace 1\nf 0\n", "mine");
 * } catch (error) {
 *   if (error instanceof TraceError) console.log(error.line); // 2
 * }
 * ```
 */
export class TraceError extends Error {
  /** The name of the class, for printed errors. */
  override readonly name = "TraceError";
  /** The line in the file, counted from 1; `undefined` if the error has no line. */
  readonly line: number | undefined;

  /**
   * Creates an error for one place.
   *
   * @param action The failed action, as in "Cannot <action>".
   * @param line The line, if there is one.
   * @param offence The field, the allowed values and the value found.
   */
  constructor(action: string, line: number | undefined, offence: string) {
    const place = line === undefined ? "" : `line ${line}: `;
    // The offence may quote column names from the file.
    super(printableText(`Cannot ${action} as ${place}${offence}`));
    this.line = line;
  }
}
