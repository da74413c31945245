/**
 * How a build fails.
 *
 * @module
 */

/** Thrown when a build cannot be done; the message is complete and meant for the user. */
export class BuildError extends Error {
  /** The class, for stack traces. */
  override name = "BuildError";
  /** What a command should exit with: 1 when the build failed, 2 for a bad option or variable. */
  readonly exitCode: 1 | 2;

  /** Makes the error. */
  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
