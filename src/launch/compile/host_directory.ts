/**
 * A private directory for one compilation, and the run of the compiler in it.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { NO_SEARCH_PATHS } from "../../ffi/build/prelude.ts";
import {
  cacheRoot,
  makeCacheDirectory,
  versionedCacheDirectory,
} from "../../ffi/cache_directory.ts";
import { withheldText } from "../../ffi/build/child_process.ts";
import type { EnvironmentReader } from "../../ffi/granted_environment.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { spawnTied } from "../../ffi/native_process.ts";
import { logger } from "../../ffi/logging.ts";
import { CompileError, CompilerUnavailableError } from "./compile_error.ts";
import { isFileProblem, statOf } from "./files.ts";
import { type HostProgram, requireRun } from "./host_program.ts";

/** The age at which a directory without a lock is removed, in milliseconds. */
const STALE_AFTER = 60 * 60 * 1000;

const PREFIX = "compile-";

/** The file of a directory that its process keeps locked. */
const LOCK = ".lock";

/** The directory of one compilation. */
interface CompileDirectory {
  readonly path: string;
  /** Held while the directory is in use: the system drops it when the process ends. */
  readonly lock?: Deno.FsFile;
}

/**
 * Calls `use` with a new directory, and removes the directory with its contents afterwards.
 *
 * The directory lies in the user cache, or among the temporary files where there is no cache, or it
 * cannot be written to. Where the disk of the cache is full, `use` is called a second time.
 */
export async function withCompileDirectory<Result>(
  environment: EnvironmentReader,
  use: (directory: string) => Promise<Result>,
): Promise<Result> {
  const cached = await cachedDirectory(environment);
  if (cached !== undefined) {
    try {
      return await within(cached, use);
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      warnOfFullDisk(dirname(cached.path));
    }
  }
  requirePermissions(undefined);
  return await within({ path: await Deno.makeTempDir({ prefix: "gridstride-" }) }, use);
}

async function within<Result>(
  { path, lock }: CompileDirectory,
  use: (directory: string) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(path);
  } finally {
    lock?.close();
    await removeDirectory(path);
  }
}

/** Removes a directory, which another process may remove once it has no lock. */
async function removeDirectory(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Whether an error, or the output of a compiler in it, says that a disk is full. */
function isFullDisk(error: unknown): boolean {
  if (error instanceof CompileError) {
    return /No space left on device|Disk quota exceeded/.test(`${error.log}${error.message}`);
  }
  return error instanceof Error && "code" in error &&
    (error.code === "ENOSPC" || error.code === "EDQUOT");
}

let isWarned = false;

function warnOfFullDisk(directory: string): void {
  if (isWarned) return;
  isWarned = true;
  logger("launch").warn(
    "the disk of {directory} is full: kernels are compiled among the temporary files",
    { directory },
  );
}

async function cachedDirectory(
  environment: EnvironmentReader,
): Promise<CompileDirectory | undefined> {
  const root = cacheRoot(environment);
  requirePermissions(root);
  if (root === undefined) return undefined;
  try {
    const parent = join(versionedCacheDirectory(root), "compile");
    makeCacheDirectory(root, parent);
    await sweep(parent);
    return await lockedDirectory(parent);
  } catch (error) {
    // Without a usable cache temporary files will do.
    if (isFileProblem(error)) return undefined;
    throw error;
  }
}

/** Makes a directory that no other process removes while this one runs. */
async function lockedDirectory(parent: string): Promise<CompileDirectory> {
  for (;;) {
    const path = await Deno.makeTempDir({ dir: parent, prefix: PREFIX });
    const file = join(path, LOCK);
    const lock = await Deno.open(file, { create: true, write: true });
    // Between the two another process may have found the file without a lock.
    if (await lock.tryLock(true) && statOf(file)?.isFile === true) return { path, lock };
    lock.close();
  }
}

/** Requires the permissions to make the directory, without a prompt. */
function requirePermissions(root: string | undefined): void {
  const at = root === undefined ? "" : `=${root}`;
  const path = root === undefined ? {} : { path: root };
  const needed: [Deno.PermissionDescriptor, string][] = [
    [{ name: "read", ...path }, `--allow-read${at}`],
    [{ name: "write", ...path }, `--allow-write${at}`],
  ];
  if (root !== undefined) needed.push([{ name: "sys", kind: "uid" }, "--allow-sys=uid"]);
  const missing = needed
    .filter(([descriptor]) => Deno.permissions.querySync(descriptor).state !== "granted")
    .map(([, flag]) => flag);
  if (missing.length === 0) return;
  throw new CompilerUnavailableError(
    "Cannot compile kernels for the host device as making a directory for that is not permitted: " +
      `run again with ${missing.join(" ")}`,
  );
}

const swept = new Set<string>();

/** Removes the directories of killed processes, once per process. */
async function sweep(parent: string): Promise<void> {
  if (swept.has(parent)) return;
  swept.add(parent);
  for await (const { name, isDirectory } of Deno.readDir(parent)) {
    if (!isDirectory || !name.startsWith(PREFIX)) continue;
    const path = join(parent, name);
    try {
      await removeIfAbandoned(path);
    } catch (error) {
      // Another process sweeps too.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/** Removes a directory whose process has ended. */
async function removeIfAbandoned(path: string): Promise<void> {
  try {
    // Held until the directory is gone: its process would notice that.
    using lock = await Deno.open(join(path, LOCK), { write: true });
    if (await lock.tryLock(true)) await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const { mtime } = await Deno.lstat(path);
    const isStale = mtime !== null && Date.now() - mtime.getTime() > STALE_AFTER;
    if (isStale) await Deno.remove(path, { recursive: true });
  }
}

interface HostRun {
  readonly success: boolean;
  readonly signal: Deno.Signal | null;
  /** Its output, errors first. */
  readonly output: string;
}

/**
 * Runs a compiler to its end. The compiler and the programs that it starts end when the signal is
 * aborted, and when this process ends.
 *
 * @param directory The directory of the compilation.
 */
export async function runHostProgram(
  library: NativeLibrary,
  { command: [program, ...first] }: HostProgram,
  args: readonly string[],
  directory: string,
  ending?: AbortSignal,
): Promise<HostRun> {
  requireRun(program);
  ending?.throwIfAborted();
  const child = spawnTied(library, program, {
    args: [...first, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // Messages in one language; the compiler's temporary files go with the directory.
    env: { LC_ALL: "C", TMPDIR: directory, ...NO_SEARCH_PATHS },
  });
  ending?.addEventListener("abort", child.end);
  const { success, signal, stdout, stderr } = await child.output.finally(() => {
    ending?.removeEventListener("abort", child.end);
    child.end();
  });
  ending?.throwIfAborted();
  const decoder = new TextDecoder();
  const output = decoder.decode(stderr) + decoder.decode(stdout);
  return { success, signal, output: output + withheldText(child.withheld, output) };
}
