/**
 * Finds the headers of CUDA toolkits, and their versions.
 *
 * @module
 */

import { dirname, isAbsolute, join } from "node:path";
import type { EnvironmentReader } from "../../ffi/granted_environment.ts";
import { mayRead, realPath, statOf, textOf } from "./files.ts";
import { installedToolkits, type NvrtcInstallation } from "./nvrtc_search.ts";

/** The result of a search for the headers of one version. */
export interface ToolkitSearch {
  /** The version, such as `13.0`. */
  readonly wanted: string;
  /** The directories of that version, in the order in which headers are searched. */
  readonly fitting: readonly string[];
  readonly others: readonly { readonly path: string; readonly version: string }[];
  /** Directories without headers, each with the reason. */
  readonly absent: readonly string[];
}

/**
 * Searches for the headers of NVRTC's version: beside its library, in Python packages beside its own,
 * in `CUDA_HOME` and `CUDA_PATH`, and in the default directories of the toolkit and the system.
 *
 * @param root The root of the file system.
 */
export function searchToolkitHeaders(
  { library, version }: Pick<NvrtcInstallation, "library" | "version">,
  environment: EnvironmentReader,
  root = "/",
): ToolkitSearch {
  const wanted = version.join(".");
  const homes = ["CUDA_HOME", "CUDA_PATH"].map((variable) => environment(variable) ?? "");
  const parent = dirname(dirname(library));
  const directories = [
    // Before CUDA 13 each part of the toolkit is a Python package of its own.
    ...(isAbsolute(library)
      ? [parent, join(dirname(parent), "cuda_runtime"), join(dirname(parent), "cuda_cccl")]
      : []),
    ...homes.filter((home) => isAbsolute(home)),
    ...installedToolkits(root),
    join(root, "usr"),
  ].map((home) => join(home, "include"));
  const unique = new Map(directories.toReversed().map((path) => [realPath(path), path]));
  const found = directories.filter((path) => unique.get(realPath(path)) === path)
    .map((path) => ({ path, version: versionIn(path) }));
  return {
    wanted,
    // CUDA 13 keeps libcu++ and CUB in a directory of their own.
    fitting: found.filter(({ version }) => version === wanted)
      .flatMap(({ path }) => [path, join(path, "cccl")]),
    others: found.flatMap(({ path, version = wanted }) =>
      version === wanted ? [] : [{ path, version }]
    ),
    absent: found.filter(({ version }) => version === undefined).map(({ path }) =>
      mayRead(path)
        ? `${path} (no CUDA headers)`
        : `${path} (not read: run again with --allow-read=${path})`
    ),
  };
}

/** The version of the toolkit headers in a directory. */
function versionIn(path: string): string | undefined {
  const text = textOf(join(path, "cuda_runtime_api.h")) ?? "";
  // 1000 times the major version, 10 times the minor.
  const number = Number(/^#define CUDART_VERSION[ \t]+(\d+)/m.exec(text)?.[1]);
  if (!(number > 0)) return undefined;
  return `${Math.floor(number / 1000)}.${Math.floor(number % 1000 / 10)}`;
}

/** Whether one of some directories has a header. */
export function holdsHeader(directories: readonly string[], header: string): boolean {
  return directories.some((directory) => statOf(join(directory, header)) !== undefined);
}

/** The places that were searched for a header; completes `cannot open source file "cuda_fp16.h": …`. */
export function absentHeader(
  header: string,
  { wanted, fitting, others, absent }: ToolkitSearch,
  directories: readonly string[],
): string {
  const elsewhere = others.find(({ path }) => holdsHeader([path, join(path, "cccl")], header));
  if (elsewhere !== undefined) {
    return `it must be of CUDA ${wanted}, as the compiler is, and that in ${elsewhere.path} is of ` +
      `CUDA ${elsewhere.version}`;
  }
  const own = ["the headers of the request", ...directories, "the standard headers of Gridstride"];
  const places = `it is not in ${[...own, ...fitting].join(", ")}`;
  if (fitting.length > 0) return places;
  const tried = absent.length === 0 ? "" : `: not in ${absent.join(", ")}`;
  return `${places}, and there are no headers of CUDA ${wanted} on this machine${tried}`;
}
