/**
 * The files that g++ or clang++ reads for a compilation.
 *
 * @module
 */

import { isAbsolute, join, resolve } from "node:path";
import { mayRead } from "../../ffi/granted_environment.ts";
import { readDependencies } from "../../ffi/build/programs.ts";
import { CompilerUnavailableError } from "./compile_error.ts";
import type { CompileInputs, CompileRequest } from "./compiler.ts";
import { type CompilerOptions, readOptions } from "./compiler_options.ts";
import { textOf } from "./files.ts";
import { type CompiledFiles, SYSTEM_FOLDERS } from "./host_diagnostics.ts";
import { filesOnDisk } from "./includes.ts";

/** The program's options for g++ and clang++, checked. */
export function hostOptions(request: CompileInputs): CompilerOptions {
  return readOptions(request, "the C++ compiler of the host device", "host");
}

/**
 * An `#include` of an absolute path, which needs no option, or of a macro, which may be one; also in
 * other spellings, and as a question.
 */
const OPEN =
  /(?:^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)|\b__has_include(?:_next)?[ \t]*\()[ \t]*(?:["<]\/|\w|\/\*|\\)/m;

/** The program's own files that a request includes. The machine code depends on them. */
export function includedFiles(request: CompileInputs): ReturnType<typeof filesOnDisk> {
  const { directories, first: named } = hostOptions(request);
  // The compiler searches the current directory first, and then as for #include "…".
  const first = named.flatMap((name) => mayRead(".") ? [resolve(name), name] : [name]);
  const isOpen = [request.source, ...request.headers.values()].some((text) => OPEN.test(text));
  if (directories.length + first.length === 0 && !isOpen) return [];
  const closed = directories.find((directory) => !mayRead(directory));
  if (closed !== undefined) {
    throw new CompilerUnavailableError(
      `Cannot compile ${request.name} as looking for headers in ${closed} is not permitted: run ` +
        `again with --allow-read=${closed}`,
    );
  }
  const unread = named.find((name) => isAbsolute(name) && !mayRead(name));
  if (unread !== undefined) {
    throw new CompilerUnavailableError(
      `Cannot compile ${request.name} as reading ${unread} is not permitted: run again with ` +
        `--allow-read=${unread}`,
    );
  }
  return filesOnDisk(request, { directories, first, toolkit: [] });
}

/** With these options a compiler regards headers as the system's, and leaves them out of `-MMD`. */
const SYSTEM_OPTION = /^-(?:isystem|idirafter)/;

const hasSystemOption = (request: CompileInputs) =>
  hostOptions(request).flags.some((it) => SYSTEM_OPTION.test(it));

/** The options that make a compiler list the files that it reads. */
export function dependencyFlags({ directory }: CompiledFiles, request: CompileRequest): string[] {
  const flag = hasSystemOption(request) ? "-MD" : "-MMD";
  return [flag, "-MF", join(directory, "dependencies")];
}

/**
 * The files, absolute, that a compiler has read and the identity of the request does not cover: an
 * `#include` of a macro, or one that leads out of all directories.
 */
export function untrackedFiles(
  { directory, language, prelude }: CompiledFiles,
  request: CompileRequest,
): string[] {
  const list = textOf(join(directory, "dependencies"));
  // A program that only poses as a compiler may have read any file.
  if (list === undefined) return [directory];
  // The assembler's directive to include a file, which compilers do not report.
  const binary = ".incbin";
  if ([request.source, ...request.headers.values()].some((text) => text.includes(binary))) {
    return [binary];
  }
  const { directories } = hostOptions(request);
  const trusted = [language, prelude, ...(hasSystemOption(request) ? SYSTEM_FOLDERS : [])];
  const foreign = readDependencies(list).map((name) => resolve(directory, name)).filter((path) =>
    !isWithin(path, directory) &&
    (directories.some((folder) => isWithin(path, folder)) ||
      !trusted.some((folder) => isWithin(path, folder)))
  );
  if (foreign.length === 0) return [];
  const known = new Set(includedFiles(request).map(({ place }) => place));
  return [...new Set(foreign)].filter((path) => !known.has(path));
}

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
