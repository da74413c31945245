/**
 * The error of invalid snapshots.
 *
 * @module
 */

import { printableText } from "../../../ffi/arguments.ts";

/**
 * Thrown when a field of a snapshot is invalid.
 *
 * @example
 * ```ts
 * import { SnapshotError, readSnapshot } from "@gridstride/cuda/memory";
 *
 * try {
 *   readSnapshot('{ "format": "something else" }');
 * } catch (error) {
 *   if (error instanceof SnapshotError) console.log(error.path); // format
 * }
 * ```
 */
export class SnapshotError extends Error {
  /** The name of the class, for printed errors. */
  override readonly name = "SnapshotError";
  /** The field, such as `segments[3].blocks[0].bytes`; empty for an error of the whole file. */
  readonly path: string;

  /**
   * Creates an error for one field.
   *
   * @param path The field, or "" for the whole file.
   * @param offence The allowed values and the value found.
   * @param options The cause of the error.
   */
  constructor(path: string, offence: string, options?: ErrorOptions) {
    // The path may quote field names from the file.
    const field = path === "" ? "the file" : path;
    super(printableText(`Cannot read the snapshot as ${field} ${offence}`), options);
    this.path = path;
  }
}
