/**
 * The search for a native library: the candidates in their order, and the error that lists them.
 * Nothing here accesses the file system.
 *
 * An explicit place is the only candidate for the library that it names: a path of `load()` or of
 * `GRIDSTRIDE_LIBRARY`. A wrong path is an error then, and never selects another library.
 *
 * @module
 */

import { basename, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheRoot, versionedCacheDirectory } from "./cache_directory.ts";
import {
  environmentGranted,
  type EnvironmentReader,
  grantedEnvironment,
} from "./granted_environment.ts";
import { FFI_DENIED, type LibraryKind } from "./library.ts";

/**
 * Thrown on systems without a native library.
 * @category The native library
 */
export class UnsupportedPlatformError extends Error {
  /** The name of the class. */
  override name = "UnsupportedPlatformError";
}

const SUFFIXES: Readonly<Record<string, string>> = { linux: ".so", darwin: ".dylib" };

/**
 * The file name of a native library.
 *
 * @param os An operating system of `Deno.build.os`.
 */
export function libraryFileName(kind: LibraryKind, os: string = Deno.build.os): string {
  const suffix = SUFFIXES[os];
  if (suffix === undefined) {
    const advice = os === "windows" ? ". On Windows, run it inside WSL2" : "";
    throw new UnsupportedPlatformError(
      `Cannot use Gridstride on this system as it must be linux or darwin: it is ${os}${advice}`,
    );
  }
  return `libgridstride_${kind}${suffix}`;
}

/** The kind of a library with a standard file name; undefined for other names. */
function libraryKindOfName(name: string): LibraryKind | undefined {
  const match = /^libgridstride_(cuda|host)\.(?:so|dylib)(?:\.[0-9.]+)?$/.exec(name);
  return match === null ? undefined : match[1] as LibraryKind;
}

/** A file that may be the library. */
export interface LibraryCandidate {
  readonly path: string;
  readonly origin: "load({ path })" | "GRIDSTRIDE_LIBRARY" | "build directory" | "user cache";
  /** The root of the user cache if the file lies in it: its owner must be checked. */
  readonly cacheRoot?: string;
}

/** The circumstances of a search; the default is those of this process. */
export interface LocateOptions {
  /** A library file, or a directory with it, from the program. */
  readonly path?: string | URL;
  /** The folder of `mod.ts`, with a slash at its end. */
  readonly packageRoot?: URL;
  readonly os?: string;
  readonly target?: string;
  readonly environment?: EnvironmentReader;
  /** The base of relative paths. */
  readonly workingDirectory?: () => string;
}

/** The folder of `mod.ts`. */
export const PACKAGE_ROOT: URL = new URL("../../", import.meta.url);

/** The files that may be the library, in the order of the search. */
export function libraryCandidates(
  kind: LibraryKind,
  options: LocateOptions = {},
): LibraryCandidate[] {
  const {
    path,
    packageRoot = PACKAGE_ROOT,
    os = Deno.build.os,
    target = Deno.build.target,
    environment = grantedEnvironment,
    workingDirectory = grantedWorkingDirectory,
  } = options;
  const name = libraryFileName(kind, os);
  const explicit = [
    ["load({ path })", path],
    ["GRIDSTRIDE_LIBRARY", environment("GRIDSTRIDE_LIBRARY")],
  ] as const;
  for (const [origin, place] of explicit) {
    if (place === undefined) continue;
    const file = explicitFile(place, origin, kind, name, workingDirectory);
    if (file !== undefined) return [{ path: file, origin }];
  }
  const candidates: LibraryCandidate[] = [];
  if (packageRoot.protocol === "file:") {
    const file = join(fileURLToPath(packageRoot), "build", name);
    candidates.push({ path: file, origin: "build directory" });
  }
  const root = cacheRoot(environment, os);
  if (root !== undefined) {
    const file = join(versionedCacheDirectory(root, undefined, target), name);
    candidates.push({ path: file, origin: "user cache", cacheRoot: root });
  }
  return candidates;
}

/**
 * The library file of an explicit place; undefined for a file of the other kind. A place with the
 * suffix of a library is a file, any other is a directory.
 */
function explicitFile(
  place: string | URL,
  origin: string,
  kind: LibraryKind,
  name: string,
  workingDirectory: () => string,
): string | undefined {
  const text = place instanceof URL || place.startsWith("file:")
    ? pathOfUrl(new URL(place), origin)
    : place;
  if (text === "") {
    throw new TypeError(`Cannot use ${origin} as it must name a file or a directory: it is empty`);
  }
  const path = isAbsolute(text) ? text : join(workingDirectory(), text);
  if (!/\.(?:so|dylib)(?:\.[0-9.]+)?$/.test(path)) return join(path, name);
  const named = libraryKindOfName(basename(path));
  return named === undefined || named === kind ? path : undefined;
}

function pathOfUrl(url: URL, origin: string): string {
  if (url.protocol === "file:") return fileURLToPath(url);
  throw new TypeError(
    `Cannot use ${origin} as it must be a path or a file: URL: it is ${url.href}`,
  );
}

function grantedWorkingDirectory(): string {
  if (Deno.permissions.querySync({ name: "read", path: "." }).state === "granted") {
    return Deno.cwd();
  }
  throw new TypeError(
    "Cannot resolve a relative library path as reading the current directory is not permitted: " +
      "give an absolute path, or run again with --allow-read",
  );
}

/** The variables of the search that `--allow-env` does not cover. */
export function unreadableVariables(): string[] {
  return ["GRIDSTRIDE_LIBRARY", "GRIDSTRIDE_CACHE_DIR", "HOME"]
    .filter((name) => !environmentGranted(name));
}

/** The command that builds the native libraries for the running version of the package. */
export function buildCommand(packageRoot: URL = PACKAGE_ROOT): string {
  return packageCommand("deno task build", "build", packageRoot);
}

/** The command that diagnoses the installation. */
export function doctorCommand(packageRoot: URL = PACKAGE_ROOT): string {
  return packageCommand("deno task gridstride doctor", "cli", packageRoot);
}

function packageCommand(task: string, entry: "build" | "cli", packageRoot: URL): string {
  if (packageRoot.protocol === "file:") return `\`${task}\` in ${fileURLToPath(packageRoot)}`;
  const registry = /^https:\/\/jsr\.io\/(@[^/]+\/[^/]+)\/([^/]+)\/$/.exec(packageRoot.href);
  const file = entry === "build" ? "build.ts" : "src/cli/main.ts";
  const module = registry === null
    ? new URL(file, packageRoot).href
    : `jsr:${registry[1]}@${registry[2]}/${entry}`;
  return `\`deno run -A ${module}${entry === "cli" ? " doctor" : ""}\``;
}

/** A file that FFI permission keeps closed; its reason has the flag. */
export function deniedLibrary(
  attempts: LibraryNotFoundError["attempts"],
): { readonly path: string } | undefined {
  return attempts.find(({ reason }) => reason.includes(FFI_DENIED));
}

/**
 * Thrown if no candidate could be opened.
 * @category The native library
 */
export class LibraryNotFoundError extends Error {
  /** The name of the class. */
  override name = "LibraryNotFoundError";
  /** The kind of the library. */
  readonly kind: LibraryKind;
  /** Every file in the order of the search, with its origin and the reason of the failure. */
  readonly attempts: readonly {
    readonly path: string;
    readonly origin: string;
    readonly reason: string;
  }[];
  /** The command that builds the library. */
  readonly command: string;

  /** Creates the error from the failed attempts. */
  constructor(
    kind: LibraryKind,
    attempts: LibraryNotFoundError["attempts"],
    command: string = buildCommand(),
    unread: readonly string[] = unreadableVariables(),
  ) {
    const files = attempts.map(({ path, origin, reason }) => `  ${path} (${origin}): ${reason}`);
    const problem = files.length === 0
      ? "there is no place to search for it"
      : `none of these files can be used:\n${files.join("\n")}`;
    const note = unread.length === 0
      ? ""
      : `\nNot read, as --allow-env does not cover it: ${unread.join(", ")}.`;
    const denied = deniedLibrary(attempts);
    // A file that may not be opened may well be there.
    const remedy = denied === undefined
      ? `Build it with ${command}, or name a built one in GRIDSTRIDE_LIBRARY.`
      : `Run again with --allow-ffi=${denied.path}. If it is not built yet: ${command}.`;
    const cause = denied === undefined ? "" : `${FFI_DENIED}, and `;
    super(`Cannot open the ${kind} library as ${cause}${problem}${note}\n${remedy}`);
    this.kind = kind;
    this.attempts = attempts;
    this.command = command;
  }
}
