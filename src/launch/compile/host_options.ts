/**
 * The options of g++ and clang++ that a program may pass, and the files that a compilation reads.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { readDependencies } from "../../ffi/build/programs.ts";
import { CompilerUnavailableError } from "./compile_error.ts";
import { type CompileInputs, type CompileRequest, UNCOVERED_FILES } from "./compiler.ts";
import { mayRead, textOf } from "./files.ts";
import { type CompiledFiles, SYSTEM_FOLDERS } from "./host_diagnostics.ts";
import { filesOnDisk } from "./includes.ts";

/** Options that take a directory of headers, joined or in the next text. */
const DIRECTORIES: readonly string[] = ["-isystem", "-iquote", "-idirafter", "-I"];

/** Options that take a header. */
const FIRST: readonly string[] = ["-include", "-imacros"];

/** Options that choose the product and its place. */
const PRODUCTS = /^-(?:o.*|c|S|E|x.*|shared|r|save-temps.*|M.*|###|fsyntax-only)$/;
/** Options that read or write files beyond the cache key. */
const UNTRACKED_FILES = new RegExp(
  "^(?:@|-(?:include-pch|fplugin|specs|Wp,|Xpreprocessor|Xclang|fprofile|fmodules|isysroot|B)|" +
    "--(?:include|imacros|sysroot|specs|config|output|compile|assemble|preprocess|save-temps)|" +
    // Options of the assembler and the linker, and of other programs in their places.
    "-(?:W[al],|Xassembler|Xlinker|T|L|l|fuse-ld|wrapper)|--ld-path|" +
    // Reports beside the output.
    "-(?:dump|fdump|aux-info|fstack-usage|fcallgraph-info|ftest-coverage|fopt-info|fauto-profile)|" +
    "-(?:fsave-optimization-record|ftime-trace|gsplit-dwarf)|--coverage)",
);
/** Options that may take the next text as value. */
const VALUED = /^-(?:[DU]|-param|target|Xarch_\w+|mllvm)$/;

/** The directories and headers that options name. */
export function namedFiles({ options, name }: CompileInputs): {
  readonly directories: readonly string[];
  readonly first: readonly string[];
} {
  const directories: string[] = [];
  const first: string[] = [];
  const refuse = (option: string, problem: string): never => {
    throw new TypeError(`Cannot compile ${name} as the option ${option} ${problem}`);
  };
  for (let index = 0; index < options.length; index++) {
    const option = options[index]!;
    if (PRODUCTS.test(option)) {
      refuse(option, "is not allowed: the program does not choose the product or its place");
    }
    const word = [...DIRECTORIES, ...FIRST].find((start) => option.startsWith(start));
    // Without a hyphen it is another file to compile.
    if (UNTRACKED_FILES.test(option) || (word === undefined && !option.startsWith("-"))) {
      refuse(option, `is not allowed: ${UNCOVERED_FILES}`);
    }
    if (word === undefined) {
      if (VALUED.test(option)) index++;
      continue;
    }
    const value = option.slice(word.length) || options[++index];
    if (value === undefined) refuse(option, "needs a value: it has none");
    else if (DIRECTORIES.includes(word)) directories.push(resolve(value));
    // The compiler searches the current directory first, and then as for #include "…".
    else first.push(resolve(value), value);
  }
  return { directories, first };
}

/** An `#include` of an absolute path, which needs no option. */
const ABSOLUTE = /^[ \t]*#[ \t]*include[ \t]*["<]\//m;

/** The program's own files that a request includes. The machine code depends on them. */
export function includedFiles(request: CompileInputs): ReturnType<typeof filesOnDisk> {
  const { directories, first } = namedFiles(request);
  const isOpen = [request.source, ...request.headers.values()].some((text) => ABSOLUTE.test(text));
  if (directories.length + first.length === 0 && !isOpen) return [];
  const closed = directories.find((directory) => !mayRead(directory));
  if (closed !== undefined) {
    throw new CompilerUnavailableError(
      `Cannot compile ${request.name} as looking for headers in ${closed} is not permitted: run ` +
        `again with --allow-read=${closed}`,
    );
  }
  return filesOnDisk(request, { directories, first, toolkit: [] });
}

/** With these options a compiler regards headers as the system's, and leaves them out of `-MMD`. */
const SYSTEM_OPTION = /^-(?:isystem|idirafter)/;

const hasSystemOption = ({ options }: CompileInputs) =>
  options.some((it) => SYSTEM_OPTION.test(it));

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
  const { directories } = namedFiles(request);
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
