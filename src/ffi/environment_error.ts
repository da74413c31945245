/**
 * The error of a malformed environment variable.
 *
 * @module
 */

/** An environment variable has a value that is not allowed. */
export class EnvironmentError extends Error {
  /** The class's name. */
  override readonly name = "EnvironmentError";
  /** The variable, such as `"GRIDSTRIDE_FAKE"`. */
  readonly variable: string;
  /** Its value. */
  readonly value: string;
  /** The allowed values, in words or as a grammar. */
  readonly allowed: string;

  /**
   * Makes the error for one value.
   *
   * @param variable The variable.
   * @param value Its value.
   * @param allowed The allowed values.
   * @param offence The wrong part of the value and the reason, unless the whole value is wrong.
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
