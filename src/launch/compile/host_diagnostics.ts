/**
 * What the host device's compiler says of a request, in terms of the request.
 *
 * @module
 */

import { normalize } from "node:path";
import { type SourceContext, SourceLines } from "../source/source_context.ts";
import type { Diagnostic } from "./compile_error.ts";
import type { CompileRequest } from "./compiler.ts";
import { type DiagnosticFile, readDiagnostics } from "./diagnostics.ts";
import { END_FILE, TABLE_FILE } from "./host_wrapper.ts";

/** Where compilers and C++ libraries keep their headers. */
const SYSTEM_FOLDERS = /^\/(?:usr|opt|Library|Applications|nix)\//;

/** What a compilation used, to tell the files that its messages name. */
export interface CompiledFiles {
  /** The directory of the compilation. */
  readonly directory: string;
  /** That of the request's own headers. */
  readonly headers: string;
  /** That of the language's headers. */
  readonly language: string;
  /** That of the precompiled header, which includes them. */
  readonly prelude: string;
}

/** Reads the compiler's output for a request. */
export function readHostDiagnostics(
  log: string,
  request: CompileRequest,
  context: SourceContext,
  files: CompiledFiles,
): Diagnostic[] {
  const lines = new Map<string, SourceLines>();
  const linesOf = (name: string, text: string): SourceLines => {
    const known = lines.get(name) ?? new SourceLines(text);
    lines.set(name, known);
    return known;
  };
  const fileOf = (named: string): DiagnosticFile | undefined => {
    if (named === request.name) return programFile(named, context.lines);
    if (named === END_FILE || named === TABLE_FILE) {
      return { name: named, isProgram: true, textOf: () => undefined };
    }
    // The language's headers include each other by ../.
    const file = normalize(named);
    const header = nameIn(files.headers, file);
    const text = header === undefined ? undefined : request.headers.get(header);
    if (header !== undefined && text !== undefined) {
      return programFile(header, linesOf(header, text));
    }
    if (nameIn(files.directory, file) !== undefined) return undefined;
    const own = nameIn(files.language, file);
    const isProgram = own === undefined && !SYSTEM_FOLDERS.test(file);
    return { name: own ?? file, isProgram, textOf: () => undefined };
  };
  const diagnostics = readDiagnostics(log, fileOf, (name) => firstUse(name, request, context))
    .map((diagnostic) => isBeyond(diagnostic, request, context) ? atEnd(diagnostic) : diagnostic);
  return withoutConsequences(diagnostics, request.expressions.length)
    .map((diagnostic) => translate(diagnostic, request, context));
}

/** What g++ says of a macro's call that is still open where all text ends: in the wrapper. */
const OPEN_CALL = /^unterminated argument list\b/;

/**
 * Whether a message is of what stands behind the source. The end of a macro's call is looked for
 * there without regard to what the wrapper says of files and lines.
 */
function isBeyond(
  { file, line, message }: Diagnostic,
  { name }: CompileRequest,
  { lines }: SourceContext,
): boolean {
  if (file === TABLE_FILE) return OPEN_CALL.test(message);
  return file === name && line !== undefined && line > lines.count;
}

function atEnd({ severity, message }: Diagnostic): Diagnostic {
  return { severity, message, file: END_FILE };
}

/**
 * Leaves out what only follows from other errors: of each expression all but the first, and all of
 * them where the source itself is wrong.
 */
function withoutConsequences(
  diagnostics: readonly Diagnostic[],
  expressions: number,
): Diagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const isSourceWrong = errors.some(({ file }) => file !== TABLE_FILE);
  const isOpenEnded = errors[0]?.file === END_FILE;
  const told = new Set<number | undefined>();
  return diagnostics.filter((diagnostic) => {
    const { severity, file, line } = diagnostic;
    if (file !== TABLE_FILE && file !== END_FILE) return true;
    if (severity !== "error") return false;
    if (file === END_FILE) return isOpenEnded && diagnostic === errors[0];
    const isOfTable = line !== undefined && line > expressions;
    if (isSourceWrong || told.has(line) || (isOfTable && told.size > 0)) return false;
    told.add(line);
    return true;
  });
}

function programFile(name: string, lines: SourceLines): DiagnosticFile {
  return { name, isProgram: true, textOf: (line) => lines.textOf(line) };
}

function nameIn(directory: string, file: string): string | undefined {
  return file.startsWith(`${directory}/`) ? file.slice(directory.length + 1) : undefined;
}

/** What the wrapper asserts of kernels. */
const ASSERTED = /a __global__ function must have a void return type/;

/** Puts what is said of the wrapper into terms of the request. */
function translate(
  diagnostic: Diagnostic,
  request: CompileRequest,
  context: SourceContext,
): Diagnostic {
  const { expressions, name } = request;
  const { lines } = context;
  const { severity, message, file, line } = diagnostic;
  if (file === TABLE_FILE) {
    const expression = expressions[(line ?? 1) - 1];
    if (expression === undefined) return { severity, message };
    const [asserted] = ASSERTED.exec(message) ?? [];
    if (asserted !== undefined) {
      return { ...firstUse(expression, request, context), severity, message: asserted };
    }
    const reason = /\bmodule_(?:kernel|variable)\b/.test(message)
      ? "it must name exactly one kernel or variable"
      : message;
    return { severity, message: `in the expression ${expression}: ${reason}` };
  }
  if (file !== END_FILE) return diagnostic;
  let last = lines.count;
  while (last > 1 && lines.textOf(last)?.trim() === "") last--;
  const text = lines.textOf(last);
  return {
    severity,
    message: `the source ends in the middle of a declaration: ${message}`,
    file: name,
    line: last,
    ...(text === undefined ? {} : { text }),
  };
}

/** Where the source first names what the linker did not find. */
function firstUse(
  name: string,
  { name: file }: CompileRequest,
  { list: { tokens }, lines }: SourceContext,
): Diagnostic | undefined {
  // n::helper<float>(float*) is found by the word before its arguments.
  const word = /([\p{L}_$][\p{L}\p{N}_$]*)(?:<.*>)?(?:\(.*\))?(?:\s*const)?$/su.exec(name)?.[1];
  const token = tokens.find(({ text }) => text === word);
  if (token === undefined) return undefined;
  const line = lines.lineOf(token.start);
  const text = lines.textOf(line);
  return {
    severity: "error",
    message: "",
    file,
    line,
    column: lines.columnOf(token.start),
    ...(text === undefined ? {} : { text }),
  };
}
