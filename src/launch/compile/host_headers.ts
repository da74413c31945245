/**
 * The headers of the host device on this machine: beside the module, or fetched once into the user
 * cache where the module was imported from elsewhere.
 *
 * @module
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MANIFEST } from "../../ffi/build/manifest.ts";
import { openCache } from "../../ffi/build/output_directory.ts";
import { grantedEnvironment } from "../../ffi/granted_environment.ts";
import { PACKAGE_ROOT } from "../../ffi/locate.ts";
import { listParts, partDigest } from "../cache/digest.ts";

/** Where kernels find their headers, below the package's root. */
const FOLDER = "csrc/host/include";

/** Headers in a directory. */
export interface HostHeaders {
  /** The directory, to be searched for what a source includes. */
  readonly directory: string;
  /** The files, absolute. */
  readonly files: readonly string[];
}

const opened = new Map<string, Promise<HostHeaders>>();

/**
 * The headers of a package, which are looked for once.
 *
 * @param root The folder of its `mod.ts`.
 * @param manifest Its native sources.
 * @throws {BuildError} If a header cannot be fetched.
 */
export function openHostHeaders(
  root: URL = PACKAGE_ROOT,
  manifest: readonly string[] = MANIFEST,
  cache: () => string = () => openCache(grantedEnvironment),
): Promise<HostHeaders> {
  const known = opened.get(root.href);
  if (known !== undefined) return known;
  const headers = open(root, manifest.filter((file) => file.startsWith(`${FOLDER}/`)), cache);
  opened.set(root.href, headers);
  // What could not be fetched now may be there later.
  headers.catch(() => opened.delete(root.href));
  return headers;
}

async function open(
  root: URL,
  files: readonly string[],
  cache: () => string,
): Promise<HostHeaders> {
  const directory = root.protocol === "file:"
    ? fileURLToPath(root)
    : await fetchedHeaders(root, files, cache);
  // Sixty names, and no part of them has anything to normalise.
  const prefix = join(directory, "/");
  return { directory: `${prefix}${FOLDER}`, files: files.map((file) => `${prefix}${file}`) };
}

/** The folder that holds the headers of a package from elsewhere; a note says they are complete. */
async function fetchedHeaders(
  root: URL,
  files: readonly string[],
  cache: () => string,
): Promise<string> {
  const place = cache();
  const directory = join(place, "source");
  const note = join(place, "host_headers.json");
  const names = await partDigest(listParts("file", files));
  const complete = JSON.stringify({ root: root.href, files: names }) + "\n";
  if (await textOf(note) === complete) return directory;
  // What the build is made of takes longer to load than all else about a hit in the cache.
  const [{ installText }, { openSourceTree }] = await Promise.all([
    import("../../ffi/build/atomic_install.ts"),
    import("../../ffi/build/source_tree.ts"),
  ]);
  await openSourceTree(root, files, () => place);
  await installText(note, complete);
  return directory;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
