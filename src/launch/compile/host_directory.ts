/**
 * A private directory for one compilation, and the run of the compiler in it.
 *
 * @module
 */

import { join } from "node:path";
import { NO_SEARCH_PATHS } from "../../ffi/build/prelude.ts";
import {
  cacheRoot,
  makeCacheDirectory,
  versionedCacheDirectory,
} from "../../ffi/cache_directory.ts";
import { withheldText } from "../../ffi/child_process.ts";
import type { EnvironmentReader } from "../../ffi/granted_environment.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { spawnTied } from "../../ffi/native_process.ts";
import { CompilerUnavailableError } from "./compile_error.ts";
import { isFileProblem } from "./files.ts";
import { type HostProgram, requireRun } from "./host_program.ts";

/** The age at which the directory of a killed process is removed, in milliseconds. */
const STALE_AFTER = 60 * 60 * 1000;

const PREFIX = "compile-";

/**
 * Calls `use` with a new directory, and removes the directory with its contents afterwards.
 *
 * The directory lies in the user cache, or among the temporary files where there is no cache, or it
 * cannot be written to.
 */
export async function withCompileDirectory<Result>(
  environment: EnvironmentReader,
  use: (directory: string) => Promise<Result>,
): Promise<Result> {
  const directory = await cachedDirectory(environment) ?? await temporaryDirectory();
  try {
    return await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function temporaryDirectory(): Promise<string> {
  requirePermissions(undefined);
  return await Deno.makeTempDir({ prefix: "gridstride-" });
}

async function cachedDirectory(environment: EnvironmentReader): Promise<string | undefined> {
  const root = cacheRoot(environment);
  requirePermissions(root);
  if (root === undefined) return undefined;
  try {
    const parent = join(versionedCacheDirectory(root), "compile");
    makeCacheDirectory(root, parent);
    await sweep(parent);
    return await Deno.makeTempDir({ dir: parent, prefix: PREFIX });
  } catch (error) {
    // Without a usable cache temporary files will do.
    if (isFileProblem(error)) return undefined;
    throw error;
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
