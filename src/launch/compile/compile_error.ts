/**
 * Sources that do not compile.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

/** How bad what a compiler found is. */
export type DiagnosticSeverity = "error" | "warning" | "note";

/** What a compiler found. */
export interface Diagnostic {
  /** How bad it is. */
  readonly severity: DiagnosticSeverity;
  /** What is wrong, in the compiler's words. */
  readonly message: string;
  /** In which file, as the source or its headers are named; absent where it is nowhere. */
  readonly file?: string;
  /** In which line, from 1. */
  readonly line?: number;
  /** At which character of the line, from 1, where the compiler says that. */
  readonly column?: number;
  /** The line. */
  readonly text?: string;
}

/**
 * A kernel source does not compile. The message shows the first errors, each with its line marked;
 * it is the same for all compilers.
 */
export class CompileError extends Error {
  /** The class, for stack traces. */
  override readonly name: string = "CompileError";
  /** What diagnostics call the source. */
  readonly source: string;
  /** The compiler. */
  readonly compiler: string;
  /** What it found, errors first in the order in which it found them. */
  readonly diagnostics: readonly Diagnostic[];
  /** All that it printed. */
  readonly log: string;

  /**
   * An error that shows what was found.
   *
   * @internal
   */
  constructor(source: string, compiler: string, diagnostics: readonly Diagnostic[], log: string) {
    super(compileErrorText(source, compiler, diagnostics, log));
    this.source = source;
    this.compiler = compiler;
    this.diagnostics = diagnostics;
    this.log = log;
  }
}

/** Most errors that a message shows. */
const SHOWN = 5;

function compileErrorText(
  source: string,
  compiler: string,
  diagnostics: readonly Diagnostic[],
  log: string,
): string {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const head = `Cannot compile ${source} with ${compiler}`;
  if (errors.length === 0) return `${head}: it says nothing that could be read.\n${log.trim()}`;
  const shown = errors.slice(0, SHOWN).map((error) => diagnosticText(error));
  const more = errors.length - shown.length;
  const rest = more > 0 ? [`… and ${more} more ${more === 1 ? "error" : "errors"}`] : [];
  return [`${head}:`, ...shown, ...rest].join("\n");
}

/**
 * A diagnostic as text, its line below it with a mark under the character.
 *
 * @throws {TypeError} If it is none.
 *
 * @example
 * ```ts
 * import { diagnosticText } from "./compile_error.ts";
 *
 * console.log(diagnosticText({
 *   severity: "error",
 *   message: "identifier \"yy\" is undefined",
 *   file: "saxpy.cu",
 *   line: 3,
 *   column: 5,
 *   text: "    yy[i] += a * x[i];",
 * }));
 * ```
 */
export function diagnosticText(diagnostic: Diagnostic): string {
  requireDiagnostic(diagnostic);
  const { severity, message, file, line, column, text } = diagnostic;
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  const head = place === "" ? `${severity}: ${message}` : `${place}: ${severity}: ${message}`;
  if (text === undefined) return head;
  const margin = `${line ?? ""}`.padStart(5);
  const [shown, marked] = excerpt(text, column);
  // Tabs stay tabs, so that the mark is where the terminal shows the character.
  const mark = marked === undefined
    ? ""
    : `\n      | ${shown.slice(0, marked).replaceAll(/[^\t]/g, " ")}^`;
  return `${head}\n${margin} | ${shown}${mark}`;
}

/** Most characters of a line that are shown: sources that programs write may have one line. */
const SHOWN_OF_LINE = 240;

/** The part of a line around a column, and where in it that is. */
function excerpt(text: string, column: number | undefined): [string, number | undefined] {
  const at = column === undefined ? undefined : column - 1;
  if (text.length <= SHOWN_OF_LINE) return [text, at];
  const middle = Math.min(at ?? 0, text.length) - SHOWN_OF_LINE / 2;
  const first = Math.max(0, Math.min(middle, text.length - SHOWN_OF_LINE));
  const end = first + SHOWN_OF_LINE;
  const before = first > 0 ? "…" : "";
  const shown = before + text.slice(first, end) + (end < text.length ? "…" : "");
  return [shown, at === undefined ? undefined : at - first + before.length];
}

/** The members of a diagnostic that may be absent, and their types. */
const OPTIONAL_MEMBERS = { file: "string", line: "number", column: "number", text: "string" };

function requireDiagnostic(diagnostic: Diagnostic): void {
  requireObject(diagnostic, "diagnostic", "show a diagnostic");
  const members = { severity: "string", message: "string", ...OPTIONAL_MEMBERS };
  for (const [name, type] of Object.entries(members)) {
    const value: unknown = diagnostic[name as keyof Diagnostic];
    if (typeof value === type || (value === undefined && name in OPTIONAL_MEMBERS)) continue;
    throw new TypeError(
      `Cannot show a diagnostic as its ${name} must be a ${type}: it is ${describeValue(value)}`,
    );
  }
}
