/**
 * The headers of CUDA toolkits: where they are, and of which version.
 *
 * @module
 */

import { dirname, isAbsolute, join } from "node:path";
import type { EnvironmentReader } from "../../ffi/granted_environment.ts";
import { installedToolkits } from "./nvrtc_search.ts";
import { mayRead, realPath, startOf } from "./readable_files.ts";

/** The version of a toolkit. */
export type ToolkitVersion = readonly [major: number, minor: number];

/** A directory of headers of a toolkit. */
export interface ToolkitDirectory {
  /** The directory, absolute. */
  readonly path: string;
  /** The version of the toolkit. */
  readonly version: ToolkitVersion;
  /** The header that tells the version. */
  readonly versionHeader: string;
}

/** Directories that may hold headers of a toolkit, and what came of it. */
export interface ToolkitSearch {
  /** The version that was looked for. */
  readonly wanted: ToolkitVersion;
  /** Those of the wanted version, in the order in which they are searched. */
  readonly fitting: readonly ToolkitDirectory[];
  /** Those of another version. */
  readonly others: readonly ToolkitDirectory[];
  /** Directories that hold none, and why: they are not there, or may not be read. */
  readonly absent: readonly string[];
}

/** Headers with the version, and the macros that hold it: 1000 times the major, 10 the minor. */
const VERSION_HEADERS = [
  ["cuda_runtime_api.h", "CUDART_VERSION"],
  ["cuda.h", "CUDA_VERSION"],
] as const;

/** How far into these headers the version is looked for: in CUDA 13.0 it comes after 14 KB. */
const VERSION_BYTES = 1 << 16;

/** A version as people write it. */
export function versionText(version: ToolkitVersion): string {
  return version.join(".");
}

/**
 * Looks for headers of a version: beside the library of NVRTC, in packages for Python beside its
 * package, in `CUDA_HOME` and `CUDA_PATH`, where the toolkit installs itself, and in the system's
 * directory.
 *
 * @param library The library of NVRTC, or a name that the system's search knows.
 * @param root The root of the file system.
 */
export function searchToolkitHeaders(
  library: string,
  version: ToolkitVersion,
  environment: EnvironmentReader,
  root = "/",
): ToolkitSearch {
  const fitting: ToolkitDirectory[] = [];
  const others: ToolkitDirectory[] = [];
  const absent: string[] = [];
  const homes = ["CUDA_HOME", "CUDA_PATH"].map((variable) => environment(variable));
  const directories = [
    ...(isAbsolute(library) ? besideLibrary(library) : []),
    ...homes.filter((home) => home !== undefined && isAbsolute(home))
      .map((home) => join(home!, "include")),
    ...installedToolkits(root).map((home) => join(home, "include")),
    join(root, "usr", "include"),
  ];
  const seen = new Set<string>();
  for (const path of directories) {
    const real = realPath(path);
    if (seen.has(real)) continue;
    seen.add(real);
    const found = toolkitIn(path);
    if (typeof found === "string") absent.push(found);
    else if (versionText(found.version) === versionText(version)) fitting.push(found);
    else others.push(found);
  }
  return { wanted: version, fitting, others, absent };
}

/** The directories that `#include <…>` is searched in: CUDA 13 keeps libcu++ and CUB in their own. */
export function toolkitDirectories(toolkits: readonly { readonly path: string }[]): string[] {
  return toolkits.flatMap(({ path }) => [path, join(path, "cccl")]);
}

/** Where headers lie that were installed together with a library. */
function besideLibrary(library: string): string[] {
  const home = dirname(dirname(library));
  return [
    join(home, "include"),
    // Before CUDA 13 each part of the toolkit is a package of its own.
    ...["cuda_runtime", "cuda_cccl"].map((name) => join(dirname(home), name, "include")),
  ];
}

/** The toolkit whose headers a directory holds, or in words why it holds none. */
function toolkitIn(path: string): ToolkitDirectory | string {
  if (!mayRead(path)) {
    return `${path} (not read: run again with --allow-read=${path})`;
  }
  for (const [header, macro] of VERSION_HEADERS) {
    const text = startOf(join(path, header), VERSION_BYTES);
    const number = text === undefined ? undefined : versionIn(text, macro);
    if (number === undefined) continue;
    const version = [Math.floor(number / 1000), Math.floor(number % 1000 / 10)] as const;
    return { path, version, versionHeader: join(path, header) };
  }
  return `${path} (no CUDA headers)`;
}

function versionIn(text: string, macro: string): number | undefined {
  const match = new RegExp(`^#define ${macro}[ \\t]+(\\d+)`, "m").exec(text);
  return match === null ? undefined : Number(match[1]);
}
