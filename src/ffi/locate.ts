/**
 * Where a native library may be: the candidates in their order, and the error that lists them.
 * Nothing here touches the file system.
 *
 * What is said explicitly is never passed over in silence: a path given to `load()` or in
 * `GRIDSTRIDE_LIBRARY` is the only candidate for the library it names, so that a wrong path is an
 * error and not another library.
 *
 * @module
 */

import { basename, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LibraryKind } from "./build_record.ts";
import { cacheRoot, versionedCacheDirectory } from "./cache_directory.ts";
import { environmentGranted, type EnvironmentReader } from "./granted_environment.ts";
import { grantedEnvironment } from "./granted_environment.ts";
import { libraryFileName, libraryKindOfName } from "./platform.ts";

/** Who named a candidate. */
export type CandidateOrigin =
  | "load({ path })"
  | "GRIDSTRIDE_LIBRARY"
  | "build directory"
  | "user cache";

/** A file that may be the library looked for. */
export interface LibraryCandidate {
  /** The file, absolute. */
  readonly path: string;
  /** Who named it. */
  readonly origin: CandidateOrigin;
  /** The cache's root when it lies in the cache: its owner is to be checked before it is opened. */
  readonly cacheRoot?: string;
}

/** What the search depends on; every field has the running process as its default. */
export interface LocateOptions {
  /** A library file, or a directory holding it, chosen by the program. */
  readonly path?: string | URL;
  /** The folder of `mod.ts`, ending with a slash. */
  readonly packageRoot?: URL;
  /** The operating system, as `Deno.build.os`. */
  readonly os?: string;
  /** The processor and system, as `Deno.build.target`. */
  readonly target?: string;
  /** Reads an environment variable. */
  readonly environment?: EnvironmentReader;
  /** The directory that relative paths start from. */
  readonly workingDirectory?: () => string;
}

/** The folder of `mod.ts`, wherever this package was imported from. */
export const PACKAGE_ROOT: URL = new URL("../../", import.meta.url);

/**
 * The files that may be the library, in the order in which they are to be tried.
 *
 * @param kind Which library is looked for.
 * @throws {UnsupportedPlatformError} On anything but Linux and macOS.
 * @throws {CacheDirectoryError} If `GRIDSTRIDE_CACHE_DIR` is no absolute path.
 */
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
  const variable = environment("GRIDSTRIDE_LIBRARY");
  const explicit: [CandidateOrigin, string | URL | undefined][] = [
    ["load({ path })", path],
    ["GRIDSTRIDE_LIBRARY", variable],
  ];
  for (const [origin, place] of explicit) {
    if (place === undefined) continue;
    const file = fileOfPlace(place, origin, kind, name, workingDirectory);
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
 * The library file that an explicit place stands for, or undefined when the place is a file of the
 * other kind. A place is a file when its name ends like a library's, and a directory otherwise.
 */
function fileOfPlace(
  place: string | URL,
  origin: CandidateOrigin,
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

function pathOfUrl(url: URL, origin: CandidateOrigin): string {
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

/** Variables the search would have read, had `--allow-env` covered them. */
export function unreadableVariables(): string[] {
  return ["GRIDSTRIDE_LIBRARY", "GRIDSTRIDE_CACHE_DIR", "HOME"]
    .filter((name) => !environmentGranted(name));
}

/**
 * The command that builds the native libraries for the package that is running, with the version
 * that is running: another version would build into another cache.
 */
export function buildCommand(packageRoot: URL = PACKAGE_ROOT): string {
  if (packageRoot.protocol === "file:") {
    return `\`deno task build\` in ${fileURLToPath(packageRoot)}`;
  }
  const registry = /^https:\/\/jsr\.io\/(@[^/]+\/[^/]+)\/([^/]+)\/$/.exec(packageRoot.href);
  const module = registry === null
    ? new URL("build.ts", packageRoot).href
    : `jsr:${registry[1]}@${registry[2]}/build`;
  return `\`deno run -A ${module}\``;
}

/** A candidate that could not be used, and why. */
export interface LibraryAttempt extends LibraryCandidate {
  /** Why it could not be used, such as "no such file". */
  readonly reason: string;
}

/** Thrown when no candidate could be opened. */
export class LibraryNotFoundError extends Error {
  /** The class, for stack traces. */
  override name = "LibraryNotFoundError";
  /** The library that was looked for. */
  readonly kind: LibraryKind;
  /** Every file that was tried, in order. */
  readonly attempts: readonly LibraryAttempt[];
  /** What builds the library. */
  readonly command: string;

  /**
   * Makes the error from what was tried.
   *
   * @internal
   */
  constructor(
    kind: LibraryKind,
    attempts: readonly LibraryAttempt[],
    command: string = buildCommand(),
    unread: readonly string[] = unreadableVariables(),
  ) {
    super(missingLibraryMessage(kind, attempts, command, unread));
    this.kind = kind;
    this.attempts = attempts;
    this.command = command;
  }
}

function missingLibraryMessage(
  kind: LibraryKind,
  attempts: readonly LibraryAttempt[],
  command: string,
  unread: readonly string[],
): string {
  const lines = attempts.length === 0
    ? [`Cannot open the ${kind} library as there is no place to look for it`]
    : [
      `Cannot open the ${kind} library as none of these files can be used:`,
      ...attempts.map(({ path, origin, reason }) => `  ${path} (${origin}): ${reason}`),
    ];
  if (unread.length > 0) {
    lines.push(`Not read, as --allow-env does not cover it: ${unread.join(", ")}.`);
  }
  lines.push(`Build it with ${command}, or name a built one in GRIDSTRIDE_LIBRARY.`);
  return lines.join("\n");
}
