/**
 * What is thrown when a snapshot is not what it must be.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import { printableText } from "../../../ffi/printable_text.ts";

/**
 * A field of a snapshot is wrong.
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
  /** The class's name, for what prints errors. */
  override readonly name = "SnapshotError";
  /** The field, such as `segments[3].blocks[0].bytes`; empty where the whole file is wrong. */
  readonly path: string;

  /**
   * Makes the error for one field.
   *
   * @internal
   * @param path The field, or "" for the whole file.
   * @param offence What is wrong with it.
   * @param options The error behind this one.
   */
  constructor(path: string, offence: string, options?: ErrorOptions) {
    // Fields have the names that the file gives them.
    const field = path === "" ? "the file" : path;
    super(printableText(`Cannot read the snapshot as ${field} ${offence}`), options);
    this.path = path;
  }
}

/** Throws for a field what it must be and what it is. */
export function refuseField(path: string, requirement: string, value: unknown): never {
  throw new SnapshotError(path, `must be ${requirement}: it is ${describeValue(value)}`);
}
