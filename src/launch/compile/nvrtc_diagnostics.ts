/**
 * Parses the output of NVRTC and of its assembler, ptxas.
 *
 * @module
 */

import { type Diagnostic, errorsFirst, severityOf } from "./compile_error.ts";
import type { CompiledImage } from "./compiler.ts";

/** The texts of a compilation. */
export interface DiagnosedTexts {
  /** The program's texts, by the names that the compiler has for them. */
  readonly originals: ReadonlyMap<string, string>;
  readonly own: ReadonlySet<string>;
  /** The expressions of the request, which the compiler prints with other spaces. */
  readonly expressions?: readonly string[];
  /** Lists the places that were searched for a header; completes `cannot open source file "…": …`. */
  readonly searched?: (header: string) => string | undefined;
}

const WORDS = "catastrophic error|internal error|error|warning|remark|note";
/** `saxpy.cu(3): error: …`, `saxpy.cu(3): warning #177-D: …`. */
const LOCATED = new RegExp(`^(.+?)\\((\\d+)\\): (${WORDS})(?: #[\\w-]+)?\\s*: (.*)$`);
/** `At end of source: error: …`, `nvrtc: error: …`, `Command-line error: …`. */
const UNLOCATED = new RegExp(
  `^(?:At end of source|nvrtc|Command-line)\\s*:?\\s*(?:(${WORDS})(?: #[\\w-]+)?)?\\s*:\\s*(.*)$`,
);
/** `ptxas error   : …`, `ptxas application ptx input, line 23; error   : …`. */
const ASSEMBLER = /^(?:ptxas|nvlink) (?:.*, line \d+; )?(error|fatal|warning)\s*: (.*)$/;
/** A line of the assembler's report about kernels that is indented as parts of messages are. */
const ASSEMBLER_REPORT = /^\s+\d+ bytes stack frame/;
/** The assembler's last line, behind the reasons. */
const ASSEMBLER_SEQUEL = /^Ptx assembly aborted/;
/** The file that NVRTC makes of name expressions. */
const NAME_FILE = "__nv_name_map";
/** The line that follows the reason. */
const NAME_SEQUEL = /^Error in parsing name expression.* Input name expression was: "\s*(.*)"$/;
const ABSENT_HEADER = /^(?:cannot|could not) open source file "([^"]+)"/;
const INSTANTIATION = / at line (\d+)(?: of (?:"([^"]+)"|(\S+)))?$/;

/** The header that a log says cannot be opened. */
export function unopenedHeader(log: string): string | undefined {
  return /: (?:cannot|could not) open source file "([^"]+)"/.exec(log)?.[1];
}

/** A message with the lines that belong to it. */
interface Remark {
  readonly severity: Diagnostic["severity"];
  readonly message: string;
  readonly file?: string | undefined;
  readonly line?: number;
  readonly rest: string[];
}

/**
 * Reads a log: errors first, then warnings and notes, each in the order of the log. Warnings about
 * headers that are not the program's are left out.
 */
export function readNvrtcDiagnostics(log: string, texts: DiagnosedTexts): Diagnostic[] {
  const diagnostics = withExpressions(readRemarks(log), texts.expressions ?? [])
    .filter(({ message }) => !ASSEMBLER_SEQUEL.test(message))
    .flatMap((remark) => toDiagnostic(remark, texts));
  return errorsFirst(diagnostics);
}

function readRemarks(log: string): Remark[] {
  const remarks: Remark[] = [];
  // NVRTC puts a NUL between the assembler's report and its errors.
  for (const line of log.split(/\r?\n|\0/)) {
    const remark = remarkIn(line);
    const last = remarks.at(-1);
    if (remark === undefined) {
      if (/^\s/.test(line) && !ASSEMBLER_REPORT.test(line)) last?.rest.push(line);
    } else if (remark.severity !== "note" || !/^to match this /.test(remark.message)) {
      remarks.push(remark);
    } else if (
      last !== undefined && last.file === undefined && /^expected an? /.test(last.message)
    ) {
      // An error at the end of the source is shown at the bracket that its note names.
      const message = `${last.message} ${remark.message}`;
      remarks.splice(-1, 1, { ...remark, severity: last.severity, message });
    } else {
      remarks.push(remark);
    }
  }
  return remarks;
}

/** Adds the name expression to the messages about it, which NVRTC prints behind them. */
function withExpressions(remarks: readonly Remark[], expressions: readonly string[]): Remark[] {
  const words = (text: string) => text.replaceAll(/\s/g, "");
  let expression = "of a name";
  return remarks.toReversed().flatMap((remark) => {
    if (remark.file !== NAME_FILE) return [remark];
    const printed = NAME_SEQUEL.exec(remark.message)?.[1];
    if (printed !== undefined) {
      expression = expressions.find((given) => words(given) === words(printed)) ?? printed;
      return [];
    }
    const message = `in the expression ${expression}: ${remark.message}`;
    const { severity, rest } = remark;
    return [{ severity, message, rest }];
  }).toReversed();
}

function remarkIn(line: string): Remark | undefined {
  const [, file, number, located, text] = LOCATED.exec(line) ?? [];
  if (text !== undefined) {
    const severity = severityOf(located!);
    return { severity, message: text, file, line: Number(number), rest: [] };
  }
  const [, kind, reason] = ASSEMBLER.exec(line) ?? [];
  if (reason !== undefined) {
    // It counts bytes in hexadecimal.
    const message = reason.replaceAll(/\b0x[\da-f]+\b(?= (?:bytes|max))/g, (n) => `${Number(n)}`);
    return { severity: severityOf(kind!), message, rest: [] };
  }
  const [, word = /warning/.test(line) ? "warning" : "error", message] = UNLOCATED.exec(line) ?? [];
  return message === undefined ? undefined : { severity: severityOf(word), message, rest: [] };
}

function toDiagnostic(remark: Remark, texts: DiagnosedTexts): Diagnostic[] {
  const { severity, file, line, rest } = remark;
  const { details, context, mark } = readRest(rest);
  const message = explain([remark.message, ...details].join(" "), texts);
  if (file === undefined || line === undefined) return [{ severity, message }];
  if (texts.own.has(file)) return [{ severity, message, ...place(texts, file, line, mark) }];
  // Warnings about the language's own headers are of no use to the program; an error in them is
  // shown at the place in the program that leads to it.
  if (severity !== "error") return [];
  const origin = context.find((candidate) => texts.own.has(candidate.file ?? file));
  const shown = origin === undefined
    ? place(texts, file, line, mark)
    : place(texts, origin.file ?? file, origin.line, undefined);
  return [{ severity, message, ...shown }];
}

/** A line as the compiler saw it, and the column of the mark below it. */
type Mark = { readonly shown: string; readonly column: number } | undefined;

/** The lines behind a message. */
function readRest(rest: readonly string[]): {
  readonly details: string[];
  /** The instantiations that led to it, nearest first; without a file, in that of the message. */
  readonly context: { readonly file: string | undefined; readonly line: number }[];
  readonly mark: Mark;
} {
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
  mark: Mark,
): Omit<Diagnostic, "severity" | "message"> {
  const text = originals.get(file)?.split(/\r?\n/)[line - 1];
  if (text === undefined) return { file, line };
  // The compiler sees changed #include lines.
  const isMarked = mark !== undefined && mark.shown.trimEnd() === text.trimEnd();
  return isMarked ? { file, line, column: mark.column, text } : { file, line, text };
}

const REPORT = /^ptxas (?:info {4}:|\s+\.)/;
const REPORT_KERNEL = /^ptxas info {4}: Compiling entry function '([^']*)'/;
const REPORT_STACK = /^ptxas\s+\.\s+(\d+) bytes stack frame/;
const REPORT_USED = /^ptxas info {4}: Used (\d+) registers(.*)/;

/**
 * The resources of each kernel, by its name in the machine code, from the output of
 * `--ptxas-options=-v`. A device function that is not inlined has a stack frame but no such line.
 */
export function ptxasResources(log: string): CompiledImage["resources"] {
  const resources = new Map<
    string,
    { registers: number; sharedMemory: number; localMemory: number }
  >();
  let kernel: string | undefined;
  let inside: string | undefined;
  let localMemory = 0;
  for (const line of log.split("\n")) {
    const name = REPORT_KERNEL.exec(line)?.[1];
    if (name !== undefined) [kernel, localMemory] = [name, 0];
    inside = /Function properties for (\S+)/.exec(line)?.[1] ?? inside;
    const stack = REPORT_STACK.exec(line)?.[1];
    if (stack !== undefined && inside === kernel) localMemory = Number(stack);
    const used = REPORT_USED.exec(line);
    if (used === null || kernel === undefined) continue;
    const sharedMemory = Number(/(\d+) bytes smem/.exec(used[2]!)?.[1] ?? 0);
    resources.set(kernel, { registers: Number(used[1]), sharedMemory, localMemory });
    kernel = undefined;
  }
  return resources;
}

/** A log without these reports. */
export function withoutReports(log: string): string {
  return log.split("\n").filter((line) => !REPORT.test(line)).join("\n");
}
