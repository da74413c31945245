/**
 * A kernel source as devices need it: its kernels and variables, and the text without host code.
 *
 * @module
 */

import { CompileError, type Diagnostic } from "../compile/compile_error.ts";
import type { IncludeDirective } from "./active_tokens.ts";
import { blank, type BlankRange } from "./blanking.ts";
import { findHostCode, type HostCode, type SourceProblem, type Unannotated } from "./host_code.ts";
import { isHostHeader } from "./host_names.ts";
import { type KernelDeclaration, kernelsOf } from "./kernels.ts";
import {
  readSource,
  type SourceContext,
  type SourceSurroundings,
  withMacrosExpanded,
} from "./source_context.ts";
import { type VariableDeclaration, variablesOf } from "./variables.ts";

/** What is known of a source besides its text. */
export interface SourceOptions extends SourceSurroundings {
  /** What messages call it. */
  readonly name: string;
  /** For whom functions without `__device__` or `__global__` are; for hosts unless said. */
  readonly unannotated?: Unannotated;
}

/** A source for devices. */
export interface DeviceSource {
  /**
   * The kernels that it defines or instantiates, in order: those that the compiler may not see,
   * templates, and those that share a name among them, and marked.
   */
  readonly kernels: readonly KernelDeclaration[];
  /** The `__device__`, `__constant__` and `__managed__` variables that it certainly defines. */
  readonly variables: readonly VariableDeclaration[];
  /** What was left out. */
  readonly hostCode: readonly HostCode[];
  /** The source, host code replaced by spaces: every line and column is where it was. */
  readonly text: string;
}

/**
 * Reads a source.
 *
 * @throws {CompileError} If it holds host code that can neither be left out nor be compiled.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { readDeviceSource } from "./device_source.ts";
 *
 * const { kernels, text } = readDeviceSource(
 *   `__global__ void fill(float* x, float value) { x[threadIdx.x] = value; }
 *    int main() { fill<<<1, 32>>>(nullptr, 0); }`,
 *   { name: "fill.cu" },
 * );
 * assertEquals(kernels[0]!.signature, "fill(float* x, float value)");
 * assertEquals(text.includes("main"), false);
 * ```
 */
export function readDeviceSource(source: string, options: SourceOptions): DeviceSource {
  const { name, headers = new Map(), unannotated = "host" } = options;
  const context = readSource(source, options);
  const { skipped, problems } = findHostCode(context, unannotated);
  if (problems.length > 0) throw problemError(name, context, problems);
  const { tokens, includes } = context.active;
  const ranges: BlankRange[] = skipped.map(({ first, last }) => ({
    start: tokens[first]!.start,
    end: tokens[last]!.end,
  }));
  ranges.push(...hostIncludes(includes, headers));
  const expanded = withMacrosExpanded(context);
  return {
    kernels: kernelsOf(expanded),
    variables: variablesOf(expanded),
    hostCode: skipped,
    text: blank(source, context.allTokens, ranges),
  };
}

/** The lines that include what only hosts have. */
function hostIncludes(
  includes: readonly IncludeDirective[],
  headers: ReadonlyMap<string, string>,
): BlankRange[] {
  return includes
    .filter(({ header }) => isHostHeader(header) && !headers.has(header))
    .map(({ token: { start, end } }) => ({ start, end, directive: true }));
}

function problemError(
  name: string,
  { list, lines }: SourceContext,
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
 * An error of a compiler in which messages that name what was left out as host code say so.
 *
 * @param hostCode What {@linkcode readDeviceSource} left out.
 */
export function explainHostCode(error: CompileError, hostCode: readonly HostCode[]): CompileError {
  let isExplained = false;
  const byName = new Map(hostCode.map((skipped) => [skipped.name, skipped]));
  const diagnostics = error.diagnostics.map((diagnostic): Diagnostic => {
    if (diagnostic.severity !== "error") return diagnostic;
    const names = [...diagnostic.message.matchAll(/['"‘“]([\w$]+)['"’”]/g)].map(([, name]) =>
      name!
    );
    const skipped = names.map((name) => byName.get(name)).find((found) => found !== undefined);
    if (skipped === undefined) return diagnostic;
    isExplained = true;
    const message = `${diagnostic.message} (${skipped.name}, line ${skipped.line}, is host code, ` +
      "which is left out: a function for devices is __device__)";
    return { ...diagnostic, message };
  });
  if (!isExplained) return error;
  return new CompileError(error.source, error.compiler, diagnostics, error.log);
}
