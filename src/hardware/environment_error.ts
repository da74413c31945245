/**
 * What is thrown for an environment variable that cannot be understood.
 *
 * @module
 */

/** An environment variable holds something other than what it may hold. */
export class EnvironmentError extends Error {
  /** The class's name, for what prints errors. */
  override readonly name = "EnvironmentError";
  /** The variable, such as `"GRIDSTRIDE_FAKE"`. */
  readonly variable: string;
  /** What it holds. */
  readonly value: string;
  /** What it may hold, in words or as a grammar. */
  readonly allowed: string;

  /**
   * Makes the error for one value.
   *
   * @internal
   * @param variable The variable.
   * @param value What it holds.
   * @param allowed What it may hold.
   * @param offence The part of the value that is wrong and why, where that is not the whole value.
   */
  constructor(variable: string, value: string, allowed: string, offence?: string) {
    super(
      `Cannot use ${variable}=${JSON.stringify(value)}${
        offence === undefined ? "" : ` as ${offence}`
      }: allowed is ${allowed}`,
    );
    this.variable = variable;
    this.value = value;
    this.allowed = allowed;
  }
}
