/**
 * What differs between operating systems before a library is opened: its file name.
 *
 * @module
 */

import type { LibraryKind } from "./build_record.ts";

/** Thrown where Gridstride has no native library to offer. */
export class UnsupportedPlatformError extends Error {
  /** The class, for stack traces. */
  override name = "UnsupportedPlatformError";
}

const SUFFIXES: Readonly<Record<string, string>> = { linux: ".so", darwin: ".dylib" };

/**
 * The file name of a native library on this operating system.
 *
 * @param kind Which of the two libraries.
 * @param os As `Deno.build.os` says it.
 * @throws {UnsupportedPlatformError} On anything but Linux and macOS.
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

/**
 * Which library a file is, as its name says it; undefined when the name says nothing, so that only
 * opening the file tells.
 */
export function libraryKindOfName(name: string): LibraryKind | undefined {
  const match = /^libgridstride_(cuda|host)\.(?:so|dylib)(?:\.[0-9.]+)?$/.exec(name);
  return match === null ? undefined : match[1] as LibraryKind;
}
