/**
 * The error of a build.
 *
 * @module
 */

/**
 * Thrown when a build fails; the message is complete and meant for the user.
 * @category Building
 */
export class BuildError extends Error {
  /** The class's name. */
  override name = "BuildError";
  /** The exit status of a command: 1 if the build failed, 2 for a bad option or variable. */
  readonly exitCode: 1 | 2;

  /** Makes the error. */
  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
