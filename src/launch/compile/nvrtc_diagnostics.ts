/**
 * What NVRTC prints, and nvcc, which shares its front end and its assembler, as diagnostics.
 *
 * @module
 */

import type { Diagnostic, DiagnosticSeverity } from "./compile_error.ts";

/** What the compiler was given, to tell the files that it names. */
export interface DiagnosedTexts {
  /** Texts as the program has them, by the names that the compiler knows them by. */
  readonly originals: ReadonlyMap<string, string>;
  /** The names of those that are the program's own. */
  readonly own: ReadonlySet<string>;
  /** The expressions whose names were asked for; the compiler spaces their words in its own way. */
  readonly expressions?: readonly string[];
  /** Where a header that was not found was looked for; completes "it was looked for in …". */
  readonly searched?: (header: string) => string | undefined;
}

const SEVERITIES: ReadonlyMap<string, DiagnosticSeverity> = new Map([
  ["catastrophic error", "error"],
  ["internal error", "error"],
  ["error", "error"],
  ["warning", "warning"],
  ["remark", "note"],
  ["note", "note"],
]);

const WORDS = [...SEVERITIES.keys()].join("|");
/** `saxpy.cu(3): error: …`, `saxpy.cu(3): warning #177-D: …`. */
const LOCATED = new RegExp(`^(.+?)\\((\\d+)\\): (${WORDS})(?: #[\\w-]+)?\\s*: (.*)$`);
/** `At end of source: error: …`, `nvrtc: error: …`, `Command-line error: …`. */
const UNLOCATED = new RegExp(
  `^(?:At end of source|nvrtc|nvcc (?:fatal|warning|error)|Command-line)\\s*:?\\s*` +
    `(?:(${WORDS})(?: #[\\w-]+)?)?\\s*:\\s*(.*)$`,
);
/** `ptxas error   : …`, `ptxas application ptx input, line 23; error   : …`. */
const ASSEMBLER = /^(?:ptxas|nvlink) (?:.*, line \d+; )?(error|fatal|warning)\s*: (.*)$/;
/** What it reports of kernels; all its lines begin at the margin, but for some of these. */
const ASSEMBLER_REPORT = /^\s+\d+ bytes stack frame/;
/** The file that NVRTC makes of name expressions. */
const NAME_FILE = "__nv_name_map";
/** What it says after the reason. */
const NAME_SEQUEL = /^Error in parsing name expression.* Input name expression was: "\s*(.*)"$/;
/** What the assembler says at the end, after the reasons. */
const ASSEMBLER_SEQUEL = /^Ptx assembly aborted/;
const ABSENT_HEADER = /^(?:cannot|could not) open source file "([^"]+)"/;
const INSTANTIATION = / at line (\d+)(?: of (?:"([^"]+)"|(\S+)))?$/;

/** The header that a log says cannot be opened. */
export function unopenedHeader(log: string): string | undefined {
  return /: (?:cannot|could not) open source file "([^"]+)"/.exec(log)?.[1];
}

/** What the compiler says, with the lines that belong to it. */
interface Remark {
  readonly severity: DiagnosticSeverity;
  readonly message: string;
  readonly file: string | undefined;
  readonly line: number | undefined;
  readonly rest: string[];
}

/**
 * Reads a log: errors first, then warnings and notes, each in the order of the log. Warnings about
 * headers that are not the program's are left out.
 */
export function readNvrtcDiagnostics(log: string, texts: DiagnosedTexts): Diagnostic[] {
  const remarks = withExpressions(readRemarks(log), texts.expressions ?? [])
    .filter(({ message }) => !ASSEMBLER_SEQUEL.test(message));
  const diagnostics = remarks.flatMap((remark) => toDiagnostic(remark, texts));
  const ofSeverity = (severity: DiagnosticSeverity) =>
    diagnostics.filter((diagnostic) => diagnostic.severity === severity);
  return [...ofSeverity("error"), ...ofSeverity("warning"), ...ofSeverity("note")];
}

function readRemarks(log: string): Remark[] {
  const remarks: Remark[] = [];
  // NVRTC puts a NUL between what its assembler reports and what it refuses.
  for (const line of log.split(/\r?\n|\0/)) {
    const remark = remarkIn(line);
    if (remark !== undefined) remarks.push(remark);
    else if (/^\s/.test(line) && !ASSEMBLER_REPORT.test(line)) remarks.at(-1)?.rest.push(line);
  }
  return remarks.flatMap((remark, index) => {
    if (isOpening(remark)) return isAtEnd(remarks[index - 1]) ? [] : [remark];
    const opening = remarks[index + 1];
    return isAtEnd(remark) && isOpening(opening) ? [unclosed(remark, opening)] : [remark];
  });
}

function isAtEnd(remark: Remark | undefined): boolean {
  return remark?.severity === "error" && remark.file === undefined &&
    /^expected an? /.test(remark.message);
}

function isOpening(remark: Remark | undefined): remark is Remark {
  return remark?.severity === "note" && /^to match this /.test(remark.message);
}

/** What is missing at the end of a source, where it begins. */
function unclosed({ severity, message }: Remark, opening: Remark): Remark {
  return { ...opening, severity, message: `${message} ${opening.message}` };
}

/** Puts the name expression that a remark is about into it; NVRTC tells it behind them. */
function withExpressions(remarks: readonly Remark[], expressions: readonly string[]): Remark[] {
  const words = (text: string) => text.replaceAll(/\s/g, "");
  let expression: string | undefined;
  return remarks.toReversed().flatMap((remark) => {
    if (remark.file !== NAME_FILE) return [remark];
    const sequel = NAME_SEQUEL.exec(remark.message);
    if (sequel !== null) {
      const said = sequel[1]!;
      expression = expressions.find((asked) => words(asked) === words(said)) ?? said;
      return [];
    }
    const message = `in the expression ${expression ?? "of a name"}: ${remark.message}`;
    return [{ ...remark, message, file: undefined, line: undefined }];
  }).toReversed();
}

function remarkIn(line: string): Remark | undefined {
  const located = LOCATED.exec(line);
  if (located !== null) {
    const [, file, number, word, message] = located;
    const severity = SEVERITIES.get(word!)!;
    return { severity, message: message!, file, line: Number(number), rest: [] };
  }
  const [, kind, reason] = ASSEMBLER.exec(line) ?? [];
  if (kind !== undefined) {
    const severity = kind === "warning" ? "warning" : "error";
    // It counts bytes in hexadecimal.
    const message = reason!.replaceAll(/\b0x[\da-f]+\b(?= (?:bytes|max))/g, (n) => `${Number(n)}`);
    return { severity, message, file: undefined, line: undefined, rest: [] };
  }
  const [, word, message] = UNLOCATED.exec(line) ?? [];
  if (message === undefined) return undefined;
  const severity = SEVERITIES.get(word ?? (/warning/.test(line) ? "warning" : "error"))!;
  return { severity, message, file: undefined, line: undefined, rest: [] };
}

function toDiagnostic(remark: Remark, texts: DiagnosedTexts): Diagnostic[] {
  const { severity, file, line, rest } = remark;
  const { details, context, mark } = readRest(rest);
  const message = explain([remark.message, ...details].join(" "), texts);
  if (file === undefined || line === undefined) return [{ severity, message }];
  if (texts.own.has(file)) return [{ severity, message, ...place(texts, file, line, mark) }];
  // What the language's own headers are warned of concerns nobody; an error in them is shown where
  // the program brought it about, if that is said.
  if (severity !== "error") return [];
  const origin = context.find((candidate) => texts.own.has(candidate.file ?? file));
  if (origin === undefined) return [{ severity, message, ...place(texts, file, line, mark) }];
  return [{ severity, message, ...place(texts, origin.file ?? file, origin.line, undefined) }];
}

/** Where an instantiation took place; without a file, in that of the remark. */
interface Origin {
  readonly file: string | undefined;
  readonly line: number;
}

interface Rest {
  /** More of the message. */
  readonly details: string[];
  /** What led to a template's error, nearest first. */
  readonly context: Origin[];
  /** What is marked. */
  readonly mark: Mark | undefined;
}

/** A mark below a line. */
interface Mark {
  /** The line as the compiler saw it. */
  readonly shown: string;
  /** Its character that is marked, from 1. */
  readonly column: number;
}

/** Reads what follows a remark: more of it, the line and the mark below it, and the context. */
function readRest(rest: readonly string[]): Rest {
  const at = rest.findIndex((line) => /^\s*\^\s*$/.test(line));
  const details = (at < 0 ? rest : rest.slice(0, Math.max(0, at - 1)))
    .map((line) => line.trim()).filter((line) => line !== "" && !/^detected during/.test(line));
  const context = rest.slice(at + 1).flatMap((line) => {
    const match = INSTANTIATION.exec(line);
    return match === null ? [] : [{ file: match[2] ?? match[3], line: Number(match[1]) }];
  });
  // The line is shown with two spaces before it.
  const mark = at < 1
    ? undefined
    : { shown: rest[at - 1]!.slice(2), column: rest[at]!.indexOf("^") - 1 };
  return { details: at < 0 && context.length > 0 ? [] : details, context, mark };
}

function explain(message: string, { searched }: DiagnosedTexts): string {
  const header = ABSENT_HEADER.exec(message)?.[1];
  const places = header === undefined ? undefined : searched?.(header);
  return places === undefined ? message : `cannot open source file "${header}": ${places}`;
}

function place(
  { originals }: DiagnosedTexts,
  file: string,
  line: number,
  mark: Mark | undefined,
): Omit<Diagnostic, "severity" | "message"> {
  const text = originals.get(file)?.split(/\r?\n/)[line - 1];
  const column = mark === undefined ? undefined : columnIn(text ?? "", mark);
  return {
    file,
    line,
    ...(column === undefined ? {} : { column }),
    ...(text === undefined ? {} : { text }),
  };
}

/**
 * Which character of a line is marked. The compiler may have seen another line: nvcc shows what its
 * preprocessor has made of it, and an #include of ours may stand for one.
 */
function columnIn(text: string, { shown, column }: Mark): number | undefined {
  const [ours, theirs] = [text.trimEnd(), shown.trimEnd()];
  const from = theirs.slice(column - 1);
  if (ours.length === theirs.length || from === "") return withinLine(text, column);
  if (ours.endsWith(from)) return ours.length - from.length + 1;
  return ours.startsWith(theirs.slice(0, column - 1)) ? withinLine(text, column) : undefined;
}

function withinLine(text: string, column: number): number | undefined {
  return column >= 1 && column <= text.length + 1 ? column : undefined;
}
