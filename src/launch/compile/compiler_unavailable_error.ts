/**
 * Compilers that cannot be used.
 *
 * @module
 */

/**
 * There is no compiler for kernel sources, or it may not be started; the message says what was
 * looked for and what to do.
 */
export class CompilerUnavailableError extends Error {
  /** The class, for stack traces. */
  override readonly name: string = "CompilerUnavailableError";
}
