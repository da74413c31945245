/**
 * Reading environment variables from a library: never a permission prompt.
 *
 * @module
 */

/** Looks up an environment variable; undefined when it is not set or not permitted. */
export type EnvironmentReader = (name: string) => string | undefined;

/** Whether this process may read the variable. */
export function environmentGranted(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}

/**
 * The variable's value, or undefined when it is not set or `--allow-env` does not cover it: asking
 * for it would prompt, or throw in a program that runs under `--allow-ffi=<path>` alone.
 */
export function grantedEnvironment(name: string): string | undefined {
  return environmentGranted(name) ? Deno.env.get(name) : undefined;
}

/**
 * {@linkcode grantedEnvironment} for several variables that are read now: it asks once where all may
 * be read, which takes as long as to ask for one.
 */
export function environmentReader(): EnvironmentReader {
  const { state, partial } = Deno.permissions.querySync({ name: "env" });
  return state === "granted" && !partial ? (name) => Deno.env.get(name) : grantedEnvironment;
}
