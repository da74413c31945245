/**
 * The user cache with the results of `build.ts` for an imported package: its place, and the check
 * of its owner. A library is code that runs with the rights of the process. A cache that other
 * users can write to is therefore never used.
 *
 * @module
 */

import { dirname, isAbsolute, join, resolve } from "node:path";
import type { EnvironmentReader } from "./granted_environment.ts";
import { VERSION } from "./version.ts";

/**
 * Thrown if the place of the user cache is unknown, or if the cache is not trusted.
 * @category Errors
 */
export class CacheDirectoryError extends Error {
  /** The name of the class. */
  override name = "CacheDirectoryError";
}

/**
 * The directory of the caches of all versions: `GRIDSTRIDE_CACHE_DIR`, else `gridstride` in the
 * system's cache directory. Undefined if no variable defines that.
 */
export function cacheRoot(
  environment: EnvironmentReader,
  os: string = Deno.build.os,
): string | undefined {
  const chosen = environment("GRIDSTRIDE_CACHE_DIR");
  if (chosen !== undefined) {
    if (isAbsolute(chosen)) return resolve(chosen);
    throw new CacheDirectoryError(
      `Cannot use GRIDSTRIDE_CACHE_DIR as it must be an absolute path: it is ${
        JSON.stringify(chosen)
      }`,
    );
  }
  // The XDG specification ignores relative paths.
  const shared = environment("XDG_CACHE_HOME");
  if (os !== "darwin" && shared !== undefined && isAbsolute(shared)) {
    return join(shared, "gridstride");
  }
  const home = environment("HOME");
  if (home === undefined || !isAbsolute(home)) return undefined;
  return os === "darwin"
    ? join(home, "Library", "Caches", "gridstride")
    : join(home, ".cache", "gridstride");
}

/** The cache of one version for one processor and system, below the root. */
export function versionedCacheDirectory(
  root: string,
  version: string = VERSION,
  target: string = Deno.build.target,
): string {
  return join(root, version, target);
}

/**
 * The reason not to trust a file or directory of the cache; undefined if it is trusted.
 *
 * @param file The status of the path itself, not of the target of a link.
 * @param uid The user id of this process; null if the system has none.
 */
export function ownershipProblem(
  file: Pick<Deno.FileInfo, "uid" | "mode" | "isSymlink">,
  uid: number | null,
): string | undefined {
  if (file.isSymlink) return "it is a symbolic link";
  if (uid !== null && file.uid !== uid) {
    return `it belongs to user ${file.uid} while this process runs as user ${uid}`;
  }
  if (file.mode !== null && (file.mode & 0o022) !== 0) {
    const bits = (file.mode & 0o777).toString(8).padStart(4, "0");
    return `others may write to it (mode ${bits})`;
  }
  return undefined;
}

/** The paths from `root` down to `path`, both included. */
function chain(root: string, path: string): string[] {
  if (path === root) return [root];
  const start = root.endsWith("/") ? root : `${root}/`;
  if (!path.startsWith(start)) {
    throw new RangeError(`Cannot use ${path} as a cache as it must lie in ${root}`);
  }
  const names = path.slice(start.length).split("/");
  return [root, ...names.map((_, index) => start + names.slice(0, index + 1).join("/"))];
}

/** Checks the owners of paths, and returns the status of the last one. */
function verify(paths: readonly string[]): Deno.FileInfo {
  const uid = Deno.uid();
  let last: Deno.FileInfo | undefined;
  for (const path of paths) {
    last = Deno.lstatSync(path);
    const problem = ownershipProblem(last, uid);
    if (problem !== undefined) throw new CacheDirectoryError(`Cannot trust ${path} as ${problem}`);
  }
  return last!;
}

/**
 * Creates a directory of the cache and the missing ones above it, for this user alone, and checks
 * the owner of each.
 */
export function makeCacheDirectory(root: string, directory: string): void {
  for (const path of chain(root, directory)) {
    try {
      makeDirectory(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
    verify([path]);
  }
}

/** Creates a directory. Creates its parents only if they are missing: permissions may exclude them. */
function makeDirectory(path: string): void {
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.mkdirSync(path, { mode: 0o700 });
  }
}

/**
 * Checks the owner of a file in the cache and of every directory from the root down to it. This is
 * necessary before the file is opened as a library.
 */
export function verifyCachedFile(root: string, file: string): Deno.FileInfo {
  const permissions = [{ name: "read", path: root }, { name: "sys", kind: "uid" }] as const;
  if (
    permissions.some((permission) => Deno.permissions.querySync(permission).state !== "granted")
  ) {
    throw new CacheDirectoryError(
      `Cannot check the owner of ${root} as a permission is not granted: run again with ` +
        `--allow-read=${root} --allow-sys=uid`,
    );
  }
  return verifyPermittedFile(root, file);
}

/** {@linkcode verifyCachedFile} for a caller that has checked the permissions. */
export function verifyPermittedFile(root: string, file: string): Deno.FileInfo {
  return verify(chain(root, file));
}

/** Creates this version's directory in the user cache and returns its path. */
export function openCache(environment: EnvironmentReader): string {
  const root = cacheRoot(environment);
  if (root === undefined) {
    throw new CacheDirectoryError(
      "Cannot find a place for the libraries: HOME is not set. Set GRIDSTRIDE_CACHE_DIR, or give " +
        "--output",
    );
  }
  const path = versionedCacheDirectory(root);
  makeCacheDirectory(root, path);
  return path;
}
