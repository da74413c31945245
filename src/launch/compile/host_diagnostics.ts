/**
 * Parses the output of g++, clang++ and linkers, in terms of the request.
 *
 * @module
 */

import { normalize, relative } from "node:path";
import { type SourceContext, SourceLines } from "../source/source_context.ts";
import { type Diagnostic, errorsFirst, severityOf } from "./compile_error.ts";
import type { CompileRequest } from "./compiler.ts";
import { END_FILE, TABLE_FILE } from "./host_image.ts";

/** The folders in which compilers and C++ libraries keep their headers. */
export const SYSTEM_FOLDERS: readonly string[] = "/usr /opt /Library /Applications /nix".split(" ");

/** The directories of a compilation, which its messages name. */
export interface CompiledFiles {
  readonly directory: string;
  readonly headers: string;
  readonly language: string;
  readonly prelude: string;
}

/** A file that a compiler names. */
export interface DiagnosticFile {
  readonly name: string;
  /** Whether the file belongs to the program, and not to the language. */
  readonly isProgram: boolean;
  readonly lines?: Pick<SourceLines, "textOf">;
}

/** A place that a compiler names. */
interface Place {
  readonly file: string;
  readonly line: number;
  /** In bytes, from 1; 0 where the compiler gives none. */
  readonly column: number;
}

/** A message of a compiler. */
interface Remark {
  readonly severity: Diagnostic["severity"];
  readonly message: string;
  readonly place?: Place;
  /** Instantiations and macros that lead to it, nearest first. */
  readonly origins: Place[];
}

const WORDS = "fatal error|internal compiler error|sorry, unimplemented|error|warning|note|remark";
/** `saxpy.cu:3:5: error: …`, with or without the column. */
const LOCATED = new RegExp(`^(.+?):(\\d+):(?:(\\d+):)? (${WORDS}): (.*)$`);
/** `saxpy.cu:3:5:   required from here`, which g++ prints before the error. */
const ORIGIN = /^(.+?):(\d+):(?:(\d+):)? {2,}(?:recursively )?required (?:from|by)\b/;
/** `g++: error: …`, `ld.lld: error: …`. */
const OF_PROGRAM = new RegExp(
  `^[^\\s:]*(?:\\+\\+|clang|gcc|cc1plus|ld|collect2)[^\\s:]*: (${WORDS}): (.*)$`,
);
/** `/usr/bin/ld: final link failed: No space left on device`, and the same of the assembler. */
const UNRANKED = /^\S*\bld(?:\.\w+)?: (final link failed: .*)$|^(?:\S+: )?Fatal error: (.*)$/;
/** Messages of linkers; Apple's prints `  "helper(float)", referenced from:`. */
const UNDEFINED =
  /undefined (?:reference to|symbol:) [`'‘]?(?<name>.*?)['’]?$|^ {2}"(?<apple>.*)", referenced from:$/;
/** Drivers add this when a program that they started has failed. */
const OF_DRIVER = /^(?:ld returned \d+ exit status|linker command failed with exit code \d+.*)$/;

/**
 * Reads a compiler's output: errors first, then warnings and notes, each in the order of the output.
 *
 * An error in a file of the language is shown at the place in the program that leads to it, if the
 * output names that place.
 *
 * @param fileOf Looks up a file by the compiler's name for it; undefined for a hidden file.
 * @param placeOf Looks up the place where the program names an undefined function.
 */
export function readDiagnostics(
  log: string,
  fileOf: (file: string) => DiagnosticFile | undefined,
  placeOf: (name: string) => Partial<Diagnostic> = () => ({}),
): Diagnostic[] {
  const remarks: Remark[] = [];
  const undefinedNames = new Set<string>();
  let origins: Place[] = [];
  for (const line of log.split(/\r?\n/)) {
    const { name, apple = name } = UNDEFINED.exec(line)?.groups ?? {};
    if (apple !== undefined) undefinedNames.add(apple);
    const origin = ORIGIN.exec(line);
    if (origin !== null) origins.push(placeIn(origin));
    const remark = apple === undefined && origin === null ? readRemark(line, origins) : undefined;
    if (remark === undefined) continue;
    origins = [];
    // A note gives an origin of the remark before it.
    const subject = remarks.findLast(({ severity }) => severity !== "note");
    if (remark.severity === "note" && remark.place !== undefined) {
      subject?.origins.push(remark.place);
    }
    remarks.push(remark);
  }
  const diagnostics = errorsFirst([
    ...remarks.flatMap((remark) => toDiagnostic(remark, fileOf)),
    ...[...undefinedNames].map((name): Diagnostic => (
      { ...placeOf(name), severity: "error", message: `undefined reference to '${name}'` }
    )),
  ]);
  // A driver's complaint gives no reason.
  const isReason = ({ message }: Diagnostic) => !OF_DRIVER.test(message);
  return diagnostics.some((one) => one.severity === "error" && isReason(one))
    ? diagnostics.filter(isReason)
    : diagnostics;
}

function readRemark(line: string, origins: Place[]): Remark | undefined {
  const located = LOCATED.exec(line);
  if (located !== null) {
    // g++ escapes characters beyond ASCII where the locale is C.
    const message = located[5]!.replaceAll(
      /\\U(000[0-9a-f]{5}|0010[0-9a-f]{4})/g,
      (_, digits: string) => String.fromCodePoint(Number.parseInt(digits, 16)),
    );
    return { severity: severityOf(located[4]!), message, place: placeIn(located), origins };
  }
  const [, ofLinker, ofAssembler] = UNRANKED.exec(line) ?? [];
  const [, word = "error", message = ofLinker ?? ofAssembler] = OF_PROGRAM.exec(line) ?? [];
  return message === undefined ? undefined : { severity: severityOf(word), message, origins };
}

function placeIn([, file, line, column = "0"]: RegExpExecArray): Place {
  return { file: file!, line: Number(line), column: Number(column) };
}

function toDiagnostic(
  { severity, message, place, origins }: Remark,
  fileOf: (file: string) => DiagnosticFile | undefined,
): Diagnostic[] {
  if (place === undefined) return [{ severity, message }];
  const places = [place, ...origins];
  const shown = places.find((one) => fileOf(one.file)?.isProgram === true) ?? place;
  const file = fileOf(shown.file);
  // Notes and warnings about the language itself are of no use to the program.
  if (severity !== "error" && file?.isProgram !== true) return [];
  if (file === undefined) return [{ severity, message }];
  const placed = lineIn(file.lines, shown.line);
  const { column } = shown;
  return [{
    severity,
    message,
    file: file.name,
    ...placed,
    ...(column < 1 ? {} : { column: characterAt(placed.text, column) }),
  }];
}

/** A line and its text, if that is known. */
function lineIn(
  lines: Pick<SourceLines, "textOf"> | undefined,
  line: number,
): Pick<Diagnostic, "line" | "text"> {
  const text = lines?.textOf(line);
  return text === undefined ? { line } : { line, text };
}

/** The character at a column: compilers count bytes of UTF-8. */
function characterAt(text: string | undefined, column: number): number {
  if (text === undefined) return column;
  const bytes = new TextEncoder().encode(text);
  return new TextDecoder().decode(bytes.subarray(0, column - 1)).length + 1;
}

/** g++ reports a macro call that is still open at the end of all text: in the wrapper. */
const OPEN_CALL = /^unterminated argument list\b/;
/** The wrapper's assertion about kernels. */
const ASSERTED = /a __global__ function must have a void return type/;

/**
 * Reads the output of the host device's compiler for a request.
 *
 * Messages about the wrapper are put into terms of the request. Of errors that follow from others,
 * only the first is kept: of each expression all but one are left out, and all errors of expressions
 * where the source itself is wrong.
 */
export function readHostDiagnostics(
  log: string,
  request: CompileRequest,
  context: SourceContext,
  files: CompiledFiles,
): Diagnostic[] {
  const { name, expressions } = request;
  const { lines } = context;
  const read = readDiagnostics(
    log,
    (file) => fileNamed(file, request, context, files),
    (name) => firstUse(name, request, context),
  ).map((diagnostic) => {
    const { severity, message, file, line = 0 } = diagnostic;
    // The search for the end of a macro call ignores the wrapper's `#line` directives.
    const isBeyond = file === TABLE_FILE
      ? OPEN_CALL.test(message)
      : file === name && line > lines.count;
    return isBeyond ? { severity, message, file: END_FILE } : diagnostic;
  });
  const [first] = read;
  const isSourceWrong = read.some(({ severity, file }) =>
    severity === "error" && file !== TABLE_FILE
  );
  const reported = new Set<number>();
  return read.flatMap((diagnostic): Diagnostic[] => {
    const { severity, message, file, line = 1 } = diagnostic;
    if (file !== TABLE_FILE && file !== END_FILE) return [diagnostic];
    if (severity !== "error") return [];
    if (file === END_FILE) {
      if (diagnostic !== first) return [];
      let last = lines.count;
      while (last > 1 && lines.textOf(last)?.trim() === "") last--;
      const reason = `the source ends in the middle of a declaration: ${message}`;
      return [{ severity, message: reason, file: name, ...lineIn(lines, last) }];
    }
    const expression = expressions[line - 1];
    const isFollowing = reported.has(line) || (expression === undefined && reported.size > 0);
    if (isSourceWrong || isFollowing) return [];
    reported.add(line);
    if (expression === undefined) return [{ severity, message }];
    const [asserted] = ASSERTED.exec(message) ?? [];
    if (asserted !== undefined) {
      return [{ ...firstUse(expression, request, context), severity, message: asserted }];
    }
    const reason = /\bmodule_(?:kernel|variable)\b/.test(message)
      ? "it must name exactly one kernel or variable"
      : message;
    return [{ severity, message: `in the expression ${expression}: ${reason}` }];
  });
}

/** Looks up a file by the compiler's name for it; undefined for a hidden file. */
function fileNamed(
  named: string,
  request: CompileRequest,
  { lines }: SourceContext,
  { directory, headers, language }: CompiledFiles,
): DiagnosticFile | undefined {
  if (named === request.name) return { name: named, isProgram: true, lines };
  if (named === END_FILE || named === TABLE_FILE) return { name: named, isProgram: true };
  // The language's headers include each other by ../.
  const file = normalize(named);
  const header = relative(headers, file);
  const text = request.headers.get(header);
  if (text !== undefined) return { name: header, isProgram: true, lines: new SourceLines(text) };
  if (nameIn(directory, file) !== undefined) return undefined;
  const own = nameIn(language, file);
  const isSystem = SYSTEM_FOLDERS.some((folder) => file.startsWith(`${folder}/`));
  return { name: own ?? file, isProgram: own === undefined && !isSystem };
}

function nameIn(directory: string, file: string): string | undefined {
  return file.startsWith(`${directory}/`) ? file.slice(directory.length + 1) : undefined;
}

/** The place where the source first names a function or an expression. */
function firstUse(
  name: string,
  { name: file }: CompileRequest,
  { list: { tokens }, lines }: SourceContext,
): Partial<Diagnostic> {
  // n::helper<float>(float*) is found by the word before its arguments.
  const word = /([\p{L}_$][\p{L}\p{N}_$]*)(?:<.*>)?(?:\(.*\))?(?:\s*const)?$/su.exec(name)?.[1];
  const token = tokens.find(({ text }) => text === word);
  if (token === undefined) return {};
  const { start } = token;
  return { file, ...lineIn(lines, lines.lineOf(start)), column: lines.columnOf(start) };
}
