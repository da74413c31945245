/**
 * What is thrown when a trace cannot be read or written.
 *
 * @module
 */

import { printableText } from "../../../ffi/printable_text.ts";

/**
 * A trace is not what it must be.
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
  /** The class's name, for what prints errors. */
  override readonly name = "TraceError";
  /** Where in a file, counted from 1; `undefined` where what is wrong has no line. */
  readonly line: number | undefined;

  /**
   * Makes the error for one place.
   *
   * @internal
   * @param action What was being done, as in "Cannot <action>".
   * @param line The line, where there is one.
   * @param offence What is wrong there: the field, what was allowed and what came.
   */
  constructor(action: string, line: number | undefined, offence: string) {
    const place = line === undefined ? "" : `line ${line}: `;
    // Columns have the names that the file gives them.
    super(printableText(`Cannot ${action} as ${place}${offence}`));
    this.line = line;
  }
}
