/**
 * The output directory of a build.
 *
 * @module
 */

import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheRoot, makeCacheDirectory, versionedCacheDirectory } from "../cache_directory.ts";
import type { EnvironmentReader } from "../granted_environment.ts";
import { BuildError } from "./build_error.ts";

/** The directory of a build. */
export interface OutputDirectory {
  /** Its path. */
  readonly path: string;
  /** Whether the package finds libraries there by itself. */
  readonly found: boolean;
}

/**
 * Creates the directory of a build: the requested one, else `build/` beside a `file:` module if that
 * is writable, else the user cache.
 */
export async function openOutputDirectory(
  root: URL,
  requested: string | undefined,
  environment: EnvironmentReader,
): Promise<OutputDirectory> {
  if (requested !== undefined) {
    const path = isAbsolute(requested) ? requested : resolve(requested);
    await Deno.mkdir(path, { recursive: true });
    return { path, found: false };
  }
  if (root.protocol === "file:") {
    const path = join(fileURLToPath(root), "build");
    if (await isWritable(path)) return { path, found: true };
  }
  return { path: openCache(environment), found: true };
}

/** Creates this version's directory in the user cache and returns its path. */
export function openCache(environment: EnvironmentReader): string {
  const root = cacheRoot(environment);
  if (root === undefined) {
    throw new BuildError(
      "Cannot find a place for the libraries: HOME is not set. Set GRIDSTRIDE_CACHE_DIR, or give " +
        "--output",
      2,
    );
  }
  const path = versionedCacheDirectory(root);
  makeCacheDirectory(root, path);
  return path;
}

/** Creates the directory and tries to write there: access bits alone miss read-only file systems. */
async function isWritable(path: string): Promise<boolean> {
  const probe = join(path, `.probe.${Deno.pid}.${crypto.randomUUID()}`);
  try {
    await Deno.mkdir(path, { recursive: true });
    await Deno.writeTextFile(probe, "");
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied || isReadOnlyFileSystem(error)) return false;
    throw error;
  }
  await Deno.remove(probe);
  return true;
}

function isReadOnlyFileSystem(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EROFS";
}
