/**
 * Parses the output of g++, clang++ and linkers, in terms of the request.
 *
 * @module
 */

import { normalize } from "node:path";
import { type SourceContext, SourceLines } from "../source/source_context.ts";
import type { Diagnostic } from "./compile_error.ts";
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
  readonly textOf: (line: number) => string | undefined;
}

/** A place that a compiler names. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number | undefined;
}

/** A message of a compiler. */
interface Remark {
  readonly severity: Diagnostic["severity"];
  readonly message: string;
  readonly place: Place | undefined;
  /** Instantiations and macros that lead to it, nearest first. */
  readonly origins: Place[];
}

const SEVERITIES: ReadonlyMap<string, Diagnostic["severity"]> = new Map([
  ["fatal error", "error"],
  ["internal compiler error", "error"],
  ["sorry, unimplemented", "error"],
  ["error", "error"],
  ["warning", "warning"],
  ["note", "note"],
  ["remark", "note"],
]);

const WORDS = [...SEVERITIES.keys()].join("|");
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
const UNDEFINED = /undefined (?:reference to|symbol:) [`'‘]?(.*?)['’]?$/;
/** `  "helper(float)", referenced from:`, of Apple's linker. */
const UNDEFINED_APPLE = /^ {2}"(.*)", referenced from:$/;
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
  placeOf: (name: string) => Diagnostic | undefined = () => undefined,
): Diagnostic[] {
  const diagnostics = readRemarks(log).flatMap((remark) => toDiagnostic(remark, fileOf));
  const undefinedNames = log.split(/\r?\n/).flatMap((line) => {
    const name = (UNDEFINED.exec(line) ?? UNDEFINED_APPLE.exec(line))?.[1];
    return name === undefined ? [] : [name];
  });
  for (const name of new Set(undefinedNames)) {
    const message = `undefined reference to '${name}'`;
    diagnostics.push({ ...placeOf(name), severity: "error", message });
  }
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const reasons = errors.filter(({ message }) => !OF_DRIVER.test(message));
  const others = diagnostics.filter(({ severity }) => severity !== "error");
  return [...(reasons.length > 0 ? reasons : errors), ...others];
}

function readRemarks(log: string): Remark[] {
  const remarks: Remark[] = [];
  let origins: Place[] = [];
  for (const line of log.split(/\r?\n/)) {
    const origin = ORIGIN.exec(line);
    if (origin !== null) {
      origins.push(placeIn(origin));
      continue;
    }
    const remark = readRemark(line, origins);
    if (remark === undefined) continue;
    origins = [];
    // A note gives an origin of the remark before it.
    const subject = remarks.findLast(({ severity }) => severity !== "note");
    if (remark.severity === "note" && remark.place !== undefined) {
      subject?.origins.push(remark.place);
    }
    remarks.push(remark);
  }
  return remarks;
}

function readRemark(line: string, origins: Place[]): Remark | undefined {
  if (UNDEFINED.test(line)) return undefined;
  const located = LOCATED.exec(line);
  if (located !== null) {
    const severity = SEVERITIES.get(located[4]!)!;
    // g++ escapes characters beyond ASCII where the locale is C.
    const message = located[5]!.replaceAll(/\\U([0-9a-f]{8})/g, (escape, digits: string) => {
      const code = Number.parseInt(digits, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : escape;
    });
    return { severity, message, place: placeIn(located), origins };
  }
  const [, ofLinker, ofAssembler] = UNRANKED.exec(line) ?? [];
  const [, word = "error", message = ofLinker ?? ofAssembler] = OF_PROGRAM.exec(line) ?? [];
  if (message === undefined) return undefined;
  return { severity: SEVERITIES.get(word)!, message, place: undefined, origins };
}

function placeIn([, file, line, column]: RegExpExecArray): Place {
  return {
    file: file!,
    line: Number(line),
    column: column === undefined ? undefined : Number(column),
  };
}

function toDiagnostic(
  { severity, message, place, origins }: Remark,
  fileOf: (file: string) => DiagnosticFile | undefined,
): Diagnostic[] {
  if (place === undefined) return [{ severity, message }];
  const origin = fileOf(place.file)?.isProgram === true
    ? undefined
    : origins.find((candidate) => fileOf(candidate.file)?.isProgram === true);
  const shown = origin ?? place;
  const file = fileOf(shown.file);
  // Notes and warnings about the language itself are of no use to the program.
  if (severity !== "error" && file?.isProgram !== true) return [];
  if (file === undefined) return [{ severity, message }];
  const text = file.textOf(shown.line);
  const { line, column } = shown;
  return [{
    severity,
    message,
    file: file.name,
    line,
    ...(column === undefined || column < 1 ? {} : { column: characterAt(text, column) }),
    ...(text === undefined ? {} : { text }),
  }];
}

/** The character at a column: compilers count bytes of UTF-8. */
function characterAt(text: string | undefined, column: number): number {
  if (text === undefined) return column;
  const bytes = new TextEncoder().encode(text);
  return new TextDecoder().decode(bytes.subarray(0, column - 1)).length + 1;
}

/** Reads the output of the host device's compiler for a request. */
export function readHostDiagnostics(
  log: string,
  request: CompileRequest,
  context: SourceContext,
  files: CompiledFiles,
): Diagnostic[] {
  const programFile = (name: string, lines: SourceLines): DiagnosticFile => ({
    name,
    isProgram: true,
    textOf: (line) => lines.textOf(line),
  });
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
      return programFile(header, new SourceLines(text));
    }
    if (nameIn(files.directory, file) !== undefined) return undefined;
    const own = nameIn(files.language, file);
    const isSystem = SYSTEM_FOLDERS.some((folder) => file.startsWith(`${folder}/`));
    return {
      name: own ?? file,
      isProgram: own === undefined && !isSystem,
      textOf: () => undefined,
    };
  };
  const diagnostics = readDiagnostics(log, fileOf, (name) => firstUse(name, request, context))
    .map((diagnostic) => {
      const { severity, message } = diagnostic;
      return isBeyond(diagnostic, request, context)
        ? { severity, message, file: END_FILE }
        : diagnostic;
    });
  return withoutConsequences(diagnostics, request.expressions.length)
    .map((diagnostic) => translate(diagnostic, request, context));
}

function nameIn(directory: string, file: string): string | undefined {
  return file.startsWith(`${directory}/`) ? file.slice(directory.length + 1) : undefined;
}

/** g++ reports a macro call that is still open at the end of all text: in the wrapper. */
const OPEN_CALL = /^unterminated argument list\b/;

/**
 * Whether a message is about text behind the source: the search for the end of a macro call ignores
 * the `#line` directives of the wrapper.
 */
function isBeyond(
  { file, line, message }: Diagnostic,
  { name }: CompileRequest,
  { lines }: SourceContext,
): boolean {
  if (file === TABLE_FILE) return OPEN_CALL.test(message);
  return file === name && line !== undefined && line > lines.count;
}

/**
 * Leaves out errors that follow from others: of each expression all but the first, and all errors of
 * expressions where the source itself is wrong.
 */
function withoutConsequences(
  diagnostics: readonly Diagnostic[],
  expressions: number,
): Diagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const isSourceWrong = errors.some(({ file }) => file !== TABLE_FILE);
  const isOpenEnded = errors[0]?.file === END_FILE;
  const reported = new Set<number | undefined>();
  return diagnostics.filter((diagnostic) => {
    const { severity, file, line } = diagnostic;
    if (file !== TABLE_FILE && file !== END_FILE) return true;
    if (severity !== "error") return false;
    if (file === END_FILE) return isOpenEnded && diagnostic === errors[0];
    const isOfTable = line !== undefined && line > expressions;
    if (isSourceWrong || reported.has(line) || (isOfTable && reported.size > 0)) return false;
    reported.add(line);
    return true;
  });
}

/** The wrapper's assertion about kernels. */
const ASSERTED = /a __global__ function must have a void return type/;

/** Puts a message about the wrapper into terms of the request. */
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

/** The place where the source first names a function that the linker did not find. */
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
