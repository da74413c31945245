/**
 * Environment variables and files: permissions are queried, so Deno never prompts. The error of a
 * malformed variable.
 *
 * @module
 */

import { isAbsolute, resolve } from "node:path";

/**
 * Returns an environment variable; undefined if it is not set or not permitted.
 * @category Building
 */
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

/** Whether this process may read a path without a prompt. */
export function mayRead(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted";
}

/**
 * Requires the permission to read or write a file.
 *
 * @param action The action of the caller; completes "Cannot …".
 * @throws {Deno.errors.NotCapable} If it is not granted; the message names the flag.
 */
export function requireAccess(name: "read" | "write", path: string, action: string): void {
  if (Deno.permissions.querySync({ name, path }).state === "granted") return;
  throw new Deno.errors.NotCapable(
    `Cannot ${action} as permission to ${name} ${JSON.stringify(path)} is not granted: run again ` +
      `with --allow-${name}=${path}`,
  );
}

/**
 * The absolute form of a path.
 *
 * @param action The action of the caller; completes "Cannot …".
 * @throws {Deno.errors.NotCapable} If the path is relative and the current directory may not be read.
 */
export function absolutePath(path: string, action: string): string {
  if (isAbsolute(path) || mayRead(".")) return resolve(path);
  throw new Deno.errors.NotCapable(
    `Cannot ${action} as ${
      JSON.stringify(path)
    } is relative and reading the current directory is ` +
      "not permitted: give an absolute path, or run again with --allow-read",
  );
}

/** Requires the permission to fetch from a server. */
export function requireNet({ host, href, protocol }: URL, action: string): void {
  if (!protocol.startsWith("http")) return;
  if (Deno.permissions.querySync({ name: "net", host }).state === "granted") return;
  throw new Deno.errors.NotCapable(
    `Cannot ${action} as permission to fetch ${href} is not granted: run again with ` +
      `--allow-net=${host}`,
  );
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
