/**
 * The errors of compilation: sources that do not compile, and missing compilers.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

/**
 * A message of a compiler.
 * @category Launching kernels
 */
export interface Diagnostic {
  /** The severity. */
  readonly severity: "error" | "warning" | "note";
  /** The message, in the compiler's words. */
  readonly message: string;
  /** The file, by the name of the source or header; absent where the message has no place. */
  readonly file?: string;
  /** The line, from 1. */
  readonly line?: number;
  /** The character of the line, from 1, where the compiler gives it. */
  readonly column?: number;
  /** The text of the line. */
  readonly text?: string;
}

/** The severity of a compiler's word for it, such as `fatal error` or `remark`. */
export function severityOf(word: string): Diagnostic["severity"] {
  if (word === "warning") return word;
  return word === "note" || word === "remark" ? "note" : "error";
}

/** Errors, then warnings and notes, each in their order. */
export function errorsFirst(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const isError = ({ severity }: Diagnostic) => severity === "error";
  return [...diagnostics.filter(isError), ...diagnostics.filter((one) => !isError(one))];
}

/**
 * Thrown when there is no compiler for kernel sources, or it may not be started. The message lists
 * the places that were searched, and the remedy.
 * @category Launching kernels
 */
export class CompilerUnavailableError extends Error {
  /** The class, for stack traces. */
  override readonly name: string = "CompilerUnavailableError";
}

/**
 * Thrown when a kernel source does not compile. The message shows the first errors, each with its
 * line marked, in the same form for all compilers.
 * @category Launching kernels
 */
export class CompileError extends Error {
  /** The class, for stack traces. */
  override readonly name: string = "CompileError";

  /** Creates an error that shows the first diagnostics. */
  constructor(
    /** The name of the source in diagnostics. */
    readonly source: string,
    /** The compiler. */
    readonly compiler: string,
    /** Its messages, errors first, in the order of its output. */
    readonly diagnostics: readonly Diagnostic[],
    /** All its output. */
    readonly log: string,
    /** A sentence at the end of the message; empty without one. */
    readonly remark: string = "",
  ) {
    super(compileErrorText(source, compiler, diagnostics, log, remark));
  }
}

/** The number of errors in a message. */
const SHOWN = 5;

function compileErrorText(
  source: string,
  compiler: string,
  diagnostics: readonly Diagnostic[],
  log: string,
  remark: string,
): string {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const head = `Cannot compile ${source} with ${compiler}`;
  if (errors.length === 0) {
    return `${head}: its output has no error that can be read.\n${log.trim()}`;
  }
  const shown = errors.slice(0, SHOWN).map((error) => diagnosticText(error));
  const more = errors.length - shown.length;
  if (more > 0) shown.push(`… and ${more} more ${more === 1 ? "error" : "errors"}`);
  return [`${head}:`, ...shown, ...(remark === "" ? [] : [remark])].join("\n");
}

/**
 * Formats a diagnostic, with its line below it and a mark under the character.
 *
 * @param diagnostic One of `error.diagnostics`.
 * @throws {TypeError} If a member of the diagnostic is missing or of the wrong type.
 *
 * @example
 * ```ts
 * import { diagnosticText } from "@gridstride/cuda";
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
 * @category Launching kernels
 */
export function diagnosticText(diagnostic: Diagnostic): string {
  requireDiagnostic(diagnostic);
  const { severity, message, file, line, column, text } = diagnostic;
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  const head = place === "" ? `${severity}: ${message}` : `${place}: ${severity}: ${message}`;
  if (text === undefined) return head;
  const shown = `${head}\n${`${line ?? ""}`.padStart(5)} | ${text}`;
  if (column === undefined) return shown;
  // Tabs stay tabs: the terminal then shows the mark below the character.
  return `${shown}\n      | ${text.slice(0, column - 1).replaceAll(/[^\t]/g, " ")}^`;
}

/** The warnings among diagnostics, as text. */
export function warningText(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.filter(({ severity }) => severity === "warning").map(diagnosticText).join(
    "\n",
  );
}

function requireDiagnostic(diagnostic: Diagnostic): void {
  requireObject(diagnostic, "diagnostic", "show a diagnostic");
  const { severity, message, file = "", line = 0, column = 0, text = "" } = diagnostic;
  for (const [name, value] of Object.entries({ severity, message, file, line, column, text })) {
    const isNumber = name === "line" || name === "column";
    if (isNumber ? typeof value === "number" : typeof value === "string") continue;
    throw new TypeError(
      `Cannot show a diagnostic as its ${name} must be a ${isNumber ? "number" : "string"}: it is ${
        describeValue(value)
      }`,
    );
  }
}
