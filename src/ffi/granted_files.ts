/**
 * Permissions for files, queried so that Deno never prompts.
 *
 * @module
 */

import { isAbsolute, resolve } from "node:path";

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
