/**
 * Environment variables: reading without a permission prompt, and the error of a malformed value.
 *
 * @module
 */

/** Returns an environment variable; undefined if it is not set or not permitted. */
export type EnvironmentReader = (name: string) => string | undefined;

/** Whether this process may read the variable. */
export function environmentGranted(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}

/**
 * The value of a variable; undefined if it is not set or `--allow-env` does not cover it. Reading
 * it would prompt then, or throw in a program that runs under `--allow-ffi=<path>` alone.
 */
export function grantedEnvironment(name: string): string | undefined {
  return environmentGranted(name) ? Deno.env.get(name) : undefined;
}

/**
 * {@linkcode grantedEnvironment} for several variables: with the permission for all of them, one
 * query is enough.
 */
export function environmentReader(): EnvironmentReader {
  const { state, partial } = Deno.permissions.querySync({ name: "env" });
  return state === "granted" && !partial ? (name) => Deno.env.get(name) : grantedEnvironment;
}

/**
 * An environment variable has a value that is not allowed.
 * @category Errors
 */
export class EnvironmentError extends Error {
  /** The name of the class. */
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
