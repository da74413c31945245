/**
 * Opens the native libraries by kind.
 *
 * @module
 */

import { logger } from "./logging.ts";
import { requireOptions } from "./arguments.ts";
import { CacheDirectoryError, verifyCachedFile } from "./cache_directory.ts";
import { describeValue } from "./describe_value.ts";
import {
  type LibraryKind,
  LibraryOpenError,
  type NativeLibrary,
  openNativeLibrary,
} from "./library.ts";
import { type LibraryCandidate, libraryCandidates, LibraryNotFoundError } from "./locate.ts";

const opened = new Map<LibraryKind, NativeLibrary>();
let explicitPath: string | URL | undefined;

/**
 * Sets the place of the native libraries, before one is opened. By default they are searched for
 * in `GRIDSTRIDE_LIBRARY`, in `build/` beside the module, and in the user cache.
 *
 * @param options `path`: the directory that contains the libraries, or one library.
 * @throws {TypeError} If a library is already open.
 *
 * @example
 * ```ts ignore
 * import { load, openDevice } from "@gridstride/cuda";
 *
 * load({ path: "/opt/gridstride" });
 * using device = openDevice();
 * ```
 * @category The native library
 */
export function load(options: {
  /** A library file, or a directory with both libraries. */
  readonly path: string | URL;
}): void {
  requireOptions(options, ["path"], "choose the native library");
  const { path } = options;
  if (!(path instanceof URL) && (typeof path !== "string" || path === "")) {
    throw new TypeError(
      `Cannot choose the native library as path must be a URL or a text that is not empty: it is ${
        describeValue(path)
      }`,
    );
  }
  if (opened.size > 0) {
    const paths = [...opened.values()].map((library) => library.path);
    throw new TypeError(
      `Cannot choose the native library as one is already open: ${paths.join(", ")}`,
    );
  }
  explicitPath = path;
}

/** The candidates for a library, in the order of the search. */
export function candidatesOf(kind: LibraryKind): LibraryCandidate[] {
  return libraryCandidates(kind, explicitPath === undefined ? {} : { path: explicitPath });
}

/** Opens the library of a kind, once per isolate. */
export function openLibrary(kind: LibraryKind): NativeLibrary {
  const known = opened.get(kind);
  if (known !== undefined) return known;
  const attempts: (LibraryCandidate & { readonly reason: string })[] = [];
  for (const candidate of candidatesOf(kind)) {
    const result = tryCandidate(kind, candidate);
    if (typeof result !== "string") {
      opened.set(kind, result);
      logger("ffi").info("opened {path}: {compiler}, {architectures}", {
        path: result.path,
        compiler: result.build.compiler,
        architectures: result.build.architectures,
      });
      return result;
    }
    attempts.push({ ...candidate, reason: result });
  }
  throw new LibraryNotFoundError(kind, attempts);
}

/** The library, or the reason why the candidate cannot be used. */
function tryCandidate(kind: LibraryKind, candidate: LibraryCandidate): NativeLibrary | string {
  try {
    if (candidate.cacheRoot !== undefined) verifyCachedFile(candidate.cacheRoot, candidate.path);
    const library = openNativeLibrary(candidate.path);
    return library.kind === kind ? library : `it is the ${library.kind} library`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "no such file";
    if (error instanceof LibraryOpenError && error.reason === "missing") return "no such file";
    if (error instanceof LibraryOpenError || error instanceof CacheDirectoryError) {
      return error.message;
    }
    throw error;
  }
}
