/**
 * Tunings that have no result.
 *
 * @module
 */

import type { TuningRow } from "./tuning_options.ts";

/**
 * A tuning found no configuration that runs, or lost the device to one; the message says to which
 * and why.
 */
export class TuningError extends Error {
  /** The class, for stack traces. */
  override readonly name: string = "TuningError";
  /** What is known of the configurations. */
  readonly report: readonly TuningRow[];

  /**
   * Takes what is known.
   *
   * @internal
   */
  constructor(message: string, report: readonly TuningRow[], cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.report = report;
  }
}
