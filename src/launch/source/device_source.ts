/**
 * A kernel source as devices need it: its kernels and variables, and the text without host code.
 *
 * @module
 */

import { CompileError, type Diagnostic } from "../compile/compile_error.ts";
import { type ActiveSource, activeTokens } from "./active_tokens.ts";
import { blank, type BlankRange } from "./blanking.ts";
import { readDeclarations } from "./declarations.ts";
import { findHostCode, type HostCode, type SourceProblem, type Unannotated } from "./host_code.ts";
import { isHostHeader } from "./host_names.ts";
import { type KernelContext, type KernelDeclaration, kernelsOf } from "./kernels.ts";
import { MacroTable } from "./macros.ts";
import { SourceLines } from "./source_lines.ts";
import { tokenize } from "./tokens.ts";
import { TypeAliases } from "./type_aliases.ts";
import { type VariableDeclaration, variablesOf } from "./variables.ts";

/** What is known of a source besides its text. */
export interface SourceOptions {
  /** What messages call it. */
  readonly name: string;
  /** Macros and their values, those of the compiler that matter included. */
  readonly defines: ReadonlyMap<string, string>;
  /** Macros that no compiler of this target defines. */
  readonly undefines?: Iterable<string>;
  /** The texts of what it may include, by name. */
  readonly headers: ReadonlyMap<string, string>;
  /** For whom functions without `__device__` or `__global__` are; for hosts unless said. */
  readonly unannotated?: Unannotated;
}

/** A source for devices. */
export interface DeviceSource {
  /** The kernels that it defines or instantiates, and templates of kernels. */
  readonly kernels: readonly KernelDeclaration[];
  /** Its `__device__`, `__constant__` and `__managed__` variables. */
  readonly variables: readonly VariableDeclaration[];
  /** What was left out. */
  readonly hostCode: readonly HostCode[];
  /** The source, host code replaced by spaces: every line and column is where it was. */
  readonly text: string;
}

/** Headers that belong to the language, and define no macros that conditions ask for. */
const LANGUAGE_HEADER =
  /^(?:cuda|cuda_\w+|cooperative_groups(?:\/\w+)?|device_\w+|vector_\w+)\.h$|^(?:math_constants|driver_types|crt\/\w+|mma|sm_\w+)\.h$|^(?:std)?(?:int|io|bool|def|float|limits|math|assert|string)\.h$|^c(?:std(?:int|io|def)|math|assert|float|limits|string)$|^(?:type_traits|limits|utility|tuple|array|initializer_list|new|ratio|version|bit)$/;

/**
 * Reads a source.
 *
 * @throws {CompileError} If it holds host code that can neither be left out nor be compiled.
 *
 * @example
 * ```ts
 * import { readDeviceSource } from "./device_source.ts";
 *
 * const { kernels } = readDeviceSource(
 *   `__global__ void fill(float* x, float value) { x[threadIdx.x] = value; }
 *    int main() { fill<<<1, 32>>>(nullptr, 0); }`,
 *   { name: "fill.cu", defines: new Map(), headers: new Map() },
 * );
 * console.log(kernels[0]!.signature); // fill(float* x, float value)
 * ```
 */
export function readDeviceSource(source: string, options: SourceOptions): DeviceSource {
  const { name, headers, unannotated = "host" } = options;
  const tokens = tokenize(source);
  const macros = new MacroTable(options.defines, options.undefines);
  const seen = headerReader(headers, macros);
  const active = activeTokens(tokens, macros, seen);
  const list = readDeclarations(active.tokens);
  const lines = new SourceLines(source);
  const context: KernelContext = { list, macros, aliases: new TypeAliases(list), lines };
  const { skipped, problems } = findHostCode(context, unannotated);
  if (problems.length > 0) throw problemError(name, context, problems);
  const ranges: BlankRange[] = skipped.map(({ first, last }) => ({
    start: active.tokens[first]!.start,
    end: active.tokens[last]!.end,
  }));
  ranges.push(...hostIncludes(active, headers));
  return {
    kernels: kernelsOf(context),
    variables: variablesOf(context),
    hostCode: skipped,
    text: blank(source, tokens, ranges),
  };
}

/** Takes the macros of headers whose text is known, and says of each whether it is. */
function headerReader(
  headers: ReadonlyMap<string, string>,
  macros: MacroTable,
): (header: string) => boolean {
  const read = new Map<string, boolean>();
  const see = (header: string): boolean => {
    const known = read.get(header);
    if (known !== undefined) return known;
    const text = headers.get(header);
    const isSeen = text !== undefined || LANGUAGE_HEADER.test(header) || isHostHeader(header);
    read.set(header, isSeen);
    if (text !== undefined) activeTokens(tokenize(text), macros, see);
    return isSeen;
  };
  return see;
}

/** The lines that include what only hosts have. */
function hostIncludes(
  { includes }: ActiveSource,
  headers: ReadonlyMap<string, string>,
): BlankRange[] {
  return includes
    .filter(({ header }) => isHostHeader(header) && !headers.has(header))
    .map(({ token: { start, end } }) => ({ start, end, directive: true }));
}

function problemError(
  name: string,
  { list, lines }: KernelContext,
  problems: readonly SourceProblem[],
): CompileError {
  const diagnostics = problems.map(({ message, token }): Diagnostic => {
    const { start } = list.tokens[token]!;
    const line = lines.lineOf(start);
    const text = lines.textOf(line);
    return {
      severity: "error",
      message,
      file: name,
      line,
      column: lines.columnOf(start),
      ...(text === undefined ? {} : { text }),
    };
  });
  return new CompileError(name, "Gridstride", diagnostics, "");
}

/**
 * The same error where it names what was left out as host code: its messages say so.
 */
export function explainHostCode(error: CompileError, hostCode: readonly HostCode[]): CompileError {
  const byName = new Map(hostCode.map((skipped) => [skipped.name, skipped]));
  const diagnostics = error.diagnostics.map((diagnostic): Diagnostic => {
    if (diagnostic.severity !== "error") return diagnostic;
    const names = [...diagnostic.message.matchAll(/['"‘“]([\w$]+)['"’”]/g)].map(([, name]) =>
      name!
    );
    const skipped = names.map((name) => byName.get(name)).find((found) => found !== undefined);
    if (skipped === undefined) return diagnostic;
    const message = `${diagnostic.message} (${skipped.name}, line ${skipped.line}, is host code, ` +
      "which is left out: a function for devices is __device__)";
    return { ...diagnostic, message };
  });
  return new CompileError(error.source, error.compiler, diagnostics, error.log);
}
