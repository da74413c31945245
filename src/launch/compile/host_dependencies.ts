/**
 * Which files the host device's compiler has read that the identity of a request says nothing of.
 *
 * @module
 */

import { join } from "node:path";
import { readDependencies } from "../../ffi/build/dependency_rule.ts";
import type { CompileRequest } from "./compiler.ts";
import { unseenFiles } from "./dependency_file.ts";
import type { CompiledFiles } from "./host_diagnostics.ts";
import { includedPaths, namedFiles } from "./host_options.ts";
import { textOf } from "./readable_files.ts";

/** Where compilers and C++ libraries keep their headers. */
const SYSTEM_FOLDERS: readonly string[] = ["/usr", "/opt", "/Library", "/Applications", "/nix"];

/** Headers found by these are the system's to a compiler, which then does not tell of them. */
const SYSTEM_OPTION = /^-(?:isystem|idirafter)/;

function isTelling({ options }: CompileRequest): boolean {
  return !options.some((option) => SYSTEM_OPTION.test(option));
}

function dependencyFile({ directory }: CompiledFiles): string {
  return join(directory, "dependencies");
}

/** An assembler's way to include a file, which compilers do not see. */
const BINARY = ".incbin";

/** What has a compiler write down the files that it reads: those of the system where it must. */
export function dependencyFlags(files: CompiledFiles, request: CompileRequest): string[] {
  return [isTelling(request) ? "-MMD" : "-MD", "-MF", dependencyFile(files)];
}

/** The files that a compiler has read and nobody knew of before, absolute. */
export async function unseenByHost(
  files: CompiledFiles,
  request: CompileRequest,
): Promise<readonly string[]> {
  const written = await textOf(dependencyFile(files));
  // Something that only passes for a compiler may have read anything.
  if (written === undefined) return [files.directory];
  const read = readDependencies(written);
  const known = {
    directory: files.directory,
    files: new Set<string>(),
    searched: namedFiles(request).directories,
    trusted: [files.language, files.prelude, ...(isTelling(request) ? [] : SYSTEM_FOLDERS)],
  };
  const texts = [request.source, ...request.headers.values()];
  if (texts.some((text) => text.includes(BINARY))) return [BINARY];
  // Mostly there are none, and nothing need be read to tell.
  if (unseenFiles(read, known).length === 0) return [];
  return unseenFiles(read, { ...known, files: new Set(await includedPaths(request)) });
}
