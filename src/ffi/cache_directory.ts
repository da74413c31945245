/**
 * The user cache that holds what `build.ts` made for an imported package: where it is, and the
 * check of its owner. A library is code that runs with the rights of the process, so a cache that
 * somebody else can write to is never used.
 *
 * @module
 */

import { dirname, isAbsolute, join, resolve } from "node:path";
import type { EnvironmentReader } from "./granted_environment.ts";
import { VERSION } from "./version.ts";

/** Thrown when the user cache cannot be named or must not be trusted. */
export class CacheDirectoryError extends Error {
  /** The class, for stack traces. */
  override name = "CacheDirectoryError";
}

/** What is at a path in the cache, which is no link. */
export interface CachedFile {
  /** Whether it is a file, rather than a directory or a pipe. */
  readonly isFile: boolean;
  /** Its size in bytes. */
  readonly size: number;
}

/** The part of a file's status that decides whether it is trusted. */
export interface OwnedFile {
  /** The owner's user id; null where the system knows none. */
  readonly uid: number | null;
  /** The permission bits; null where the system knows none. */
  readonly mode: number | null;
  /** Whether the path itself is a symbolic link. */
  readonly isSymlink: boolean;
}

/**
 * The directory that holds the caches of all versions: `GRIDSTRIDE_CACHE_DIR`, else `gridstride`
 * in the system's place for caches. Undefined when no variable says where that is.
 *
 * @throws {CacheDirectoryError} If `GRIDSTRIDE_CACHE_DIR` is no absolute path.
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
  // The XDG specification has relative paths ignored.
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

/** The cache of one version and one processor and system, below the root. */
export function versionedCacheDirectory(
  root: string,
  version: string = VERSION,
  target: string = Deno.build.target,
): string {
  return join(root, version, target);
}

/**
 * Why a file or directory of the cache must not be trusted; undefined when it may be.
 *
 * @param file Its status, of the path itself and not of what a link points to.
 * @param uid The user id of this process; null where the system knows none.
 */
export function ownershipProblem(file: OwnedFile, uid: number | null): string | undefined {
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

/** The directories from `root` down to `directory`, both included and neither with `..` in it. */
function chain(root: string, directory: string): string[] {
  if (directory === root) return [root];
  const start = root.endsWith("/") ? root : `${root}/`;
  if (!directory.startsWith(start)) {
    throw new RangeError(`Cannot use ${directory} as a cache as it must lie in ${root}`);
  }
  const directories = [root];
  for (
    let end = directory.indexOf("/", start.length);
    end >= 0;
    end = directory.indexOf("/", end + 1)
  ) directories.push(directory.slice(0, end));
  directories.push(directory);
  return directories;
}

/**
 * Checks the owner of a file in the cache, itself and not the target of a link, after the
 * directories that lead to it.
 *
 * @returns The state of the last.
 */
function verify(paths: readonly string[], uid: number | null): CachedFile {
  let file: CachedFile = { isFile: false, size: 0 };
  for (const path of paths) {
    const state = Deno.lstatSync(path);
    const problem = ownershipProblem(state, uid);
    if (problem !== undefined) throw new CacheDirectoryError(`Cannot trust ${path} as ${problem}`);
    file = state;
  }
  return file;
}

/**
 * Creates a directory of the cache, and what is missing above it down from `root`, for this user
 * alone, and checks the owner of each.
 *
 * @throws {CacheDirectoryError} If one of them exists and must not be trusted.
 */
export function makeCacheDirectory(root: string, directory: string): void {
  for (const path of chain(root, directory)) {
    try {
      makeDirectory(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
    verify([path], Deno.uid());
  }
}

/** Makes a directory; what it is in only where that is missing, as it may be beyond permissions. */
function makeDirectory(path: string): void {
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.mkdirSync(path, { mode: 0o700 });
  }
}

/** Whether this process may check the owner of a file without a prompt. */
function mayVerify(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted" &&
    Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted";
}

/**
 * Checks the owner of a file in the cache and of every directory above it up to the root. To be
 * called before the file is opened as a library.
 *
 * @returns What is there.
 * @throws {CacheDirectoryError} If one of them must not be trusted, or cannot be checked because
 * a permission is missing.
 * @throws {Deno.errors.NotFound} If one of them does not exist.
 */
export function verifyCachedFile(root: string, file: string): CachedFile {
  if (!mayVerify(root)) {
    throw new CacheDirectoryError(
      `Cannot check the owner of ${root} as a permission is not granted: run again with ` +
        `--allow-read=${root} --allow-sys=uid`,
    );
  }
  return verifyPermittedFile(root, file);
}

/** {@linkcode verifyCachedFile} for who has just made sure of the permissions that it takes. */
export function verifyPermittedFile(root: string, file: string): CachedFile {
  return verify(chain(root, file), Deno.uid());
}

/**
 * Creates this version's directory in the user cache and returns its path.
 *
 * @throws {CacheDirectoryError} If no variable names the user cache, or it must not be trusted.
 */
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
