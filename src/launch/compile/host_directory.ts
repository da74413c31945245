/**
 * A directory for one compilation, that nobody else can look into.
 *
 * @module
 */

import { join } from "node:path";
import {
  cacheRoot,
  makeCacheDirectory,
  versionedCacheDirectory,
} from "../../ffi/cache_directory.ts";
import type { EnvironmentReader } from "../../ffi/granted_environment.ts";
import { isFileProblem } from "../cache/file_problem.ts";
import { CompileError } from "./compile_error.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";

/** What a process that was killed left behind goes when it is older than this, in milliseconds. */
const STALE_AFTER = 60 * 60 * 1000;

const PREFIX = "compile-";

/** A directory for a compilation. */
interface CompileDirectory {
  readonly path: string;
  /** Whether it lies in the user cache. */
  readonly isCached: boolean;
}

/**
 * Calls `use` with a new directory, and removes it with all that is in it when that has ended,
 * however it did.
 *
 * It lies in the user cache, or where temporary files go if there is none, or it cannot be written
 * to. Where it turns out that the cache is full, `use` is called again.
 *
 * @throws {CompilerUnavailableError} If no directory can be made; the message says why.
 */
export async function withCompileDirectory<Result>(
  environment: EnvironmentReader,
  use: (directory: string) => Promise<Result>,
): Promise<Result> {
  const { path, isCached } = await makeDirectory(environment);
  try {
    return await useAndRemove(path, use);
  } catch (error) {
    if (!isCached || !isFull(error)) throw error;
  }
  return await useAndRemove(await temporaryDirectory(), use);
}

async function useAndRemove<Result>(
  directory: string,
  use: (directory: string) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Whether there was no room for a file of ours, or of the compiler. */
function isFull(error: unknown): boolean {
  if (error instanceof CompileError) {
    return /No space left on device|Disk quota exceeded/.test(error.log);
  }
  return error instanceof Error && "code" in error &&
    ["ENOSPC", "EDQUOT"].includes(String(error.code));
}

async function makeDirectory(environment: EnvironmentReader): Promise<CompileDirectory> {
  const root = cacheRoot(environment);
  requirePermissions(root);
  if (root === undefined) return { path: await temporaryDirectory(), isCached: false };
  try {
    const parent = join(versionedCacheDirectory(root), "compile");
    makeCacheDirectory(root, parent);
    await sweep(parent);
    return { path: await Deno.makeTempDir({ dir: parent, prefix: PREFIX }), isCached: true };
  } catch (error) {
    if (!isFileProblem(error)) throw error;
    // A cache that cannot be written to, or that others can write to, costs nothing but the cache.
    return { path: await temporaryDirectory(), isCached: false };
  }
}

async function temporaryDirectory(): Promise<string> {
  try {
    return await Deno.makeTempDir({ prefix: "gridstride-" });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw missingPermission(["--allow-write"]);
    throw error;
  }
}

/** Makes sure that the directory can be made without a prompt. */
function requirePermissions(root: string | undefined): void {
  const needed: [Deno.PermissionDescriptor, string][] = root === undefined
    ? [[{ name: "read" }, "--allow-read"], [{ name: "write" }, "--allow-write"]]
    : [
      [{ name: "read", path: root }, `--allow-read=${root}`],
      [{ name: "write", path: root }, `--allow-write=${root}`],
      [{ name: "sys", kind: "uid" }, "--allow-sys=uid"],
    ];
  const missing = needed
    .filter(([descriptor]) => Deno.permissions.querySync(descriptor).state !== "granted")
    .map(([, flag]) => flag);
  if (missing.length > 0) throw missingPermission(missing);
}

function missingPermission(flags: readonly string[]): CompilerUnavailableError {
  return new CompilerUnavailableError(
    "Cannot compile kernels for the host device as making a directory for that is not permitted: " +
      `run again with ${flags.join(" ")}`,
  );
}

const swept = new Set<string>();

/** Removes what killed processes left, once per process. */
async function sweep(parent: string): Promise<void> {
  if (swept.has(parent)) return;
  swept.add(parent);
  for await (const { name, isDirectory } of Deno.readDir(parent)) {
    if (!isDirectory || !name.startsWith(PREFIX)) continue;
    const path = join(parent, name);
    try {
      const { mtime } = await Deno.lstat(path);
      if (mtime !== null && Date.now() - mtime.getTime() > STALE_AFTER) {
        await Deno.remove(path, { recursive: true });
      }
    } catch (error) {
      // Another process sweeps too.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}
