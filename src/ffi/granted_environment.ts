/**
 * Reads environment variables without a permission prompt.
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
