/**
 * The sources of a build, in the checkout or fetched, and their digests.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { requireNet } from "../granted_environment.ts";
import type { LibraryKind } from "../library.ts";
import { installText } from "./atomic_install.ts";
import { BuildError } from "./build_error.ts";

/**
 * Runs `task` for each item, at most `limit` at a time and in order. After a failure no further item
 * begins; the running ones are awaited.
 *
 * @returns The errors of the tasks that failed.
 */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  limit: number,
  task: (item: Item) => Promise<void>,
): Promise<unknown[]> {
  const waiting = items.values();
  const failures: unknown[] = [];
  const worker = async () => {
    for (const item of waiting) {
      try {
        await task(item);
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return failures;
}

export interface SourceTree {
  /** The folder that holds `csrc/`. */
  readonly directory: string;
  /** The files, each relative to that folder and with slashes. */
  readonly files: readonly string[];
}

/** The files of the manifest for a library, headers included: the CUDA library has no host device. */
export function libraryFiles(files: readonly string[], kind: LibraryKind): string[] {
  return files.filter((file) => kind === "host" || !file.startsWith("csrc/host/"));
}

/** Whether a file is compiled by itself, and not included by others. */
export function isCompiled(file: string): boolean {
  return file.endsWith(".cu") || file.endsWith(".cpp");
}

/** A digest of texts, which differs if the same characters are split differently. */
export function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest("hex");
}

export async function digestTree(tree: SourceTree): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  const failures = await forEachConcurrently(tree.files, 8, async (file) => {
    digests.set(file, digest(await readSource(join(tree.directory, file))));
  });
  if (failures.length > 0) throw failures[0];
  return digests;
}

async function readSource(path: string): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new BuildError(
      `Cannot read ${path}, which the manifest of the native sources lists: there is no such file`,
      1,
      { cause: error },
    );
  }
}

/**
 * The sources below a package's root: in place if that is a folder of this machine, else fetched.
 *
 * @param cache Creates and returns the directory to fetch into.
 */
export async function openSourceTree(
  root: URL,
  files: readonly string[],
  cache: () => string,
): Promise<SourceTree> {
  if (root.protocol === "file:") return { directory: fileURLToPath(root), files };
  const directory = join(cache(), "source");
  const failures = await forEachConcurrently(files, 8, (file) => {
    return fetchSource(new URL(file, root), join(directory, file));
  });
  if (failures.length > 0) throw failures[0];
  return { directory, files };
}

/** The messages of an error and its causes: that of `fetch()` is "fetch failed" in every case. */
function reasons(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${reasons(error.cause)}`;
}

async function fetchSource(url: URL, path: string): Promise<void> {
  let text: string;
  requireNet(url, "open the native sources");
  try {
    const response = await fetch(url);
    text = await response.text();
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    // A registry never changes a published version, so an earlier fetch is as good.
    const isFetched = await Deno.lstat(path).then(() => true, () => false);
    if (url.hostname === "jsr.io" && isFetched) return;
    throw new BuildError(`Cannot fetch ${url.href}: ${reasons(error)}`, 1, { cause: error });
  }
  await Deno.mkdir(dirname(path), { recursive: true });
  await installText(path, text);
}
