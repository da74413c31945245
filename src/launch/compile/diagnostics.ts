/**
 * What g++, clang++ and linkers print, as diagnostics.
 *
 * @module
 */

import type { Diagnostic, DiagnosticSeverity } from "./compile_error.ts";

/** A file that a compiler names. */
export interface DiagnosticFile {
  /** How diagnostics call it. */
  readonly name: string;
  /** Whether it is the program's own, and not part of the language. */
  readonly isProgram: boolean;
  /** The text of a line, from 1; undefined where it is not known. */
  readonly textOf: (line: number) => string | undefined;
}

/** A place that a compiler names. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number | undefined;
}

/** A line of a compiler's output that says something by itself. */
interface Remark {
  readonly severity: DiagnosticSeverity;
  readonly message: string;
  readonly place: Place | undefined;
  /** Other places it comes from, nearest first: instantiations and macros. */
  readonly origins: Place[];
}

// The words of g++, clang++ and NVRTC as they print them.
const SEVERITIES: ReadonlyMap<string, DiagnosticSeverity> = new Map([
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
/** `/usr/bin/ld: final link failed: No space left on device`, and the assembler's like. */
const UNRANKED = /^\S*\bld(?:\.\w+)?: (final link failed: .*)$|^(?:\S+: )?Fatal error: (.*)$/;
const UNDEFINED = /undefined (?:reference to|symbol:) [`'‘]?(.*?)['’]?$/;
/** `  "helper(float)", referenced from:`, of Apple's linker. */
const UNDEFINED_APPLE = /^ {2}"(.*)", referenced from:$/;
/** What drivers add when a program that they started has failed, and said why. */
const OF_DRIVER = /^(?:ld returned \d+ exit status|linker command failed with exit code \d+.*)$/;

/**
 * Reads a compiler's output: errors first, then warnings and notes, each in the order of the output.
 *
 * An error in a file of the language is shown where the program brought it about, if the compiler
 * says where that is. What a file that does not exist for the program is named for is left out.
 *
 * @param log What was printed.
 * @param fileOf What a file that the compiler names is; undefined for what must not be shown.
 * @param placeOf Where the program names a function that no one defines.
 */
export function readDiagnostics(
  log: string,
  fileOf: (file: string) => DiagnosticFile | undefined,
  placeOf: (name: string) => Diagnostic | undefined = () => undefined,
): Diagnostic[] {
  const remarks = readRemarks(log);
  const diagnostics = remarks.flatMap((remark) => toDiagnostic(remark, fileOf));
  for (const name of undefinedNames(log)) {
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
    // A note says where the remark before it comes from.
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
    const [, , , , word, message] = located;
    return {
      severity: SEVERITIES.get(word!)!,
      message: withCharacters(message!),
      place: placeIn(located),
      origins,
    };
  }
  const [, ofLinker, ofAssembler] = UNRANKED.exec(line) ?? [];
  const failure = ofLinker ?? ofAssembler;
  if (failure !== undefined) {
    return { severity: "error", message: failure, place: undefined, origins };
  }
  const [, word, message] = OF_PROGRAM.exec(line) ?? [];
  if (word === undefined) return undefined;
  return { severity: SEVERITIES.get(word)!, message: message!, place: undefined, origins };
}

/** g++ writes characters beyond ASCII as escapes where the locale is C. */
function withCharacters(message: string): string {
  return message.replaceAll(/\\U([0-9a-f]{8})/g, (escape, digits: string) => {
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : escape;
  });
}

function placeIn([, file, line, column]: RegExpExecArray): Place {
  return {
    file: file!,
    line: Number(line),
    column: column === undefined ? undefined : Number(column),
  };
}

function undefinedNames(log: string): Set<string> {
  const names = log.split(/\r?\n/).map((line) =>
    UNDEFINED.exec(line) ?? UNDEFINED_APPLE.exec(line)
  );
  return new Set(names.flatMap((match) => match === null ? [] : [match[1]!]));
}

function toDiagnostic(
  { severity, message, place, origins }: Remark,
  fileOf: (file: string) => DiagnosticFile | undefined,
): Diagnostic[] {
  if (place === undefined) return [{ severity, message }];
  const own = fileOf(place.file);
  const origin = own?.isProgram === true
    ? undefined
    : origins.find((candidate) => fileOf(candidate.file)?.isProgram === true);
  const shown = origin ?? place;
  const file = fileOf(shown.file);
  // Notes and warnings of the language itself concern nobody.
  if (severity !== "error" && file?.isProgram !== true) return [];
  if (file === undefined) return [{ severity, message }];
  const text = file.textOf(shown.line);
  const column = text === undefined ? shown.column : characterAt(text, shown.column);
  return [{
    severity,
    message,
    file: file.name,
    line: shown.line,
    ...(column === undefined ? {} : { column }),
    ...(text === undefined ? {} : { text }),
  }];
}

/** Compilers count bytes of UTF-8. */
function characterAt(text: string, column: number | undefined): number | undefined {
  if (column === undefined || column < 1) return undefined;
  const bytes = new TextEncoder().encode(text);
  return new TextDecoder().decode(bytes.subarray(0, column - 1)).length + 1;
}
