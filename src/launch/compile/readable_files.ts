/**
 * Looking for files without ever asking for a permission: what may not be read is not there.
 *
 * @module
 */

/** Whether this process may read a path without a prompt. */
export function mayRead(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted";
}

/** Whether an error says that there is no such file or directory, or none that may be read. */
function isAbsence(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.IsADirectory || error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.FilesystemLoop;
}

/** What `look` finds at a path; undefined where there is nothing that may be read. */
function unlessAbsent<Found>(path: string, look: (path: string) => Found): Found | undefined {
  if (!mayRead(path)) return undefined;
  try {
    return look(path);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Whether there is a file or directory. */
export function isThere(path: string): boolean {
  return unlessAbsent(path, Deno.statSync) !== undefined;
}

/** Whether there is something of this name, also a link that leads nowhere. */
export function hasName(path: string): boolean {
  return unlessAbsent(path, Deno.lstatSync) !== undefined;
}

/** The path without links; as it is where that cannot be told. */
export function realPath(path: string): string {
  return unlessAbsent(path, (given) => Deno.realPathSync(given)) ?? path;
}

/** The names in a directory, in order; undefined where there is none. */
export function namesIn(directory: string): string[] | undefined {
  const list = (path: string) => [...Deno.readDirSync(path)].map(({ name }) => name).sort();
  return unlessAbsent(directory, list);
}

/** The first bytes of a file as text; undefined where there is none. */
export function startOf(path: string, bytes: number): string | undefined {
  return unlessAbsent(path, (given) => {
    using file = Deno.openSync(given);
    const start = new Uint8Array(bytes);
    return new TextDecoder().decode(start.subarray(0, file.readSync(start) ?? 0));
  });
}

/**
 * Whether there is something that can be read like a file and is none: a device, a pipe. Reading it
 * may have no end, as with `/dev/zero`.
 */
export function isSpecial(path: string): boolean {
  const found = unlessAbsent(path, Deno.statSync);
  return found !== undefined && !found.isFile && !found.isDirectory;
}

/** A file as text; undefined where there is none, or something else. */
export async function textOf(path: string): Promise<string | undefined> {
  if (!mayRead(path)) return undefined;
  try {
    return (await Deno.stat(path)).isFile ? await Deno.readTextFile(path) : undefined;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}
