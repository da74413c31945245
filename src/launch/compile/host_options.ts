/**
 * The options of g++ and clang++ that a program may give, and the files that they have them read.
 *
 * @module
 */

import { resolve } from "node:path";
import type { CompileInputs } from "./compiler.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { type HeaderPlaces, programIncludes, programPaths } from "./nvrtc_headers.ts";
import { mayRead } from "./readable_files.ts";

/** Files of the program's own that are read besides the request. */
export interface NamedFiles {
  /** Directories to search for headers, absolute, in order. */
  readonly directories: readonly string[];
  /** Headers to include before the first line. */
  readonly first: readonly string[];
}

/** Options whose value, joined to them or the next text, is a directory of headers. */
const DIRECTORIES: readonly string[] = ["-isystem", "-iquote", "-idirafter", "-I"];

/** Options whose value is a header. */
const FIRST: readonly string[] = ["-include", "-imacros"];

/** What is made, and where it goes, is not for the program to say. */
const PRODUCTS = /^-(?:o.*|c|S|E|x.*|shared|r|save-temps.*|M.*|###|fsyntax-only)$/;
/** These read or write files that the compile cache would not know of. */
const UNSEEN_FILES = new RegExp(
  "^(?:@|-(?:include-pch|fplugin|specs|Wp,|Xpreprocessor|Xclang|fprofile|fmodules|isysroot|B)|" +
    "--(?:include|imacros|sysroot|specs|config|output|compile|assemble|preprocess|save-temps)|" +
    // Of the assembler and the linker, and programs to use in their places.
    "-(?:W[al],|Xassembler|Xlinker|T|L|l|fuse-ld|wrapper)|--ld-path|" +
    // What is found on the way goes to files beside the output.
    "-(?:dump|fdump|aux-info|fstack-usage|fcallgraph-info|ftest-coverage|fopt-info|fauto-profile)|" +
    "-(?:fsave-optimization-record|ftime-trace|gsplit-dwarf)|--coverage)",
);
/** Options whose value may be the next text. */
const VALUED = /^-(?:[DU]|-param|target|Xarch_\w+|mllvm)$/;

const A_PRODUCT = "what is made, and where it goes, is not for the program to say";
const AN_UNSEEN_FILE =
  "it may have the compiler read or write files that the compile cache does not know of";

/**
 * The files that options name.
 *
 * @throws {TypeError} If an option is not allowed, or lacks its value.
 */
export function namedFiles({ options, name }: CompileInputs): NamedFiles {
  const directories: string[] = [];
  const first: string[] = [];
  const refuse = (option: string, problem: string): never => {
    throw new TypeError(`Cannot compile ${name} as the option ${option} ${problem}`);
  };
  for (let index = 0; index < options.length; index++) {
    const option = options[index]!;
    if (PRODUCTS.test(option)) refuse(option, `is not allowed: ${A_PRODUCT}`);
    if (UNSEEN_FILES.test(option)) refuse(option, `is not allowed: ${AN_UNSEEN_FILE}`);
    const word = [...DIRECTORIES, ...FIRST].find((start) => option.startsWith(start));
    if (word === undefined) {
      // A file to compile along.
      if (!option.startsWith("-")) refuse(option, `is not allowed: ${AN_UNSEEN_FILE}`);
      if (VALUED.test(option)) index++;
      continue;
    }
    const value = option.slice(word.length) || options[++index];
    if (value === undefined) refuse(option, "needs a value: it has none");
    else if (DIRECTORIES.includes(word)) directories.push(resolve(value));
    // Looked for where the process runs, and then as by #include "…".
    else first.push(resolve(value), value);
  }
  return { directories, first };
}

/** An `#include` of an absolute path, which needs no option. */
const ABSOLUTE = /^[ \t]*#[ \t]*include[ \t]*["<]\//m;

function includesAbsolute(text: string): boolean {
  // Sources are long, and hardly any has one of these.
  return (text.includes('"/') || text.includes("</")) && ABSOLUTE.test(text);
}

/**
 * Names and texts of all files of the program's own that a request includes: the machine code
 * depends on them.
 *
 * @throws {TypeError} If an option is not allowed, or lacks its value.
 * @throws {CompilerUnavailableError} If a directory may not be read: the compiler, which this
 * process's permissions do not hold, would read it all the same, and the cache not know.
 */
export async function includedFiles(request: CompileInputs): Promise<readonly string[]> {
  const places = includePlaces(request);
  return places === undefined ? [] : await programIncludes(request, places);
}

/** Where the files of {@linkcode includedFiles} are. */
export async function includedPaths(request: CompileInputs): Promise<readonly string[]> {
  const places = includePlaces(request);
  return places === undefined ? [] : await programPaths(request, places);
}

/** Where files of the program's own may be that a request includes; undefined where nowhere. */
function includePlaces(request: CompileInputs): HeaderPlaces | undefined {
  const { options, source, headers } = request;
  const isOpen = includesAbsolute(source) || headers.values().some(includesAbsolute);
  if (options.length === 0 && !isOpen) return undefined;
  const { directories, first } = namedFiles(request);
  if (directories.length + first.length === 0 && !isOpen) return undefined;
  const closed = directories.find((directory) => !mayRead(directory));
  if (closed !== undefined) {
    throw new CompilerUnavailableError(
      `Cannot compile ${request.name} as looking for headers in ${closed} is not permitted: run ` +
        `again with --allow-read=${closed}`,
    );
  }
  return { directories, first, toolkit: [] };
}
