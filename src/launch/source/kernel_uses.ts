/**
 * The functions that kernels need, by name. Some kernels of a source can then be compiled without
 * the others, and an error names the kernels that it prevents.
 *
 * @module
 */

import { CompileError } from "../compile/compile_error.ts";
import { NONE } from "../signature/tokens.ts";
import { annotationsOf, type Declaration, type DeclarationList } from "./declarations.ts";
import { overloadIn } from "./kernels.ts";
import { readDirective } from "./preprocessor.ts";
import type { SourceContext } from "./source_context.ts";

/** A part of a text, in positions of tokens. */
interface TokenRange {
  readonly first: number;
  readonly last: number;
}

const MAX_SHOWN = 5;

export class KernelUses {
  readonly #contexts: readonly SourceContext[];
  /** The words in the functions and macros of each name. */
  readonly #words = new Map<string, Set<string>>();
  /** The words of all other declarations, which are always compiled. */
  readonly #common = new Set<string>();

  constructor(source: SourceContext) {
    this.#contexts = [...source.headers, source];
    for (const { list, allTokens } of this.#contexts) {
      for (const declaration of list.declarations) {
        const { first, last } = declaration;
        const words = list.tokens.slice(first, last + 1).filter(({ kind }) => kind === "word");
        this.#add(functionName(list, declaration), words.map(({ text }) => text));
      }
      for (const { kind, text } of allTokens) {
        const { name, rest } = readDirective(kind === "directive" ? text : "");
        const [macro, ...words] = rest.match(/[A-Za-z_]\w*/g) ?? [];
        if (name === "define" && macro !== undefined) this.#add(macro, words);
      }
    }
  }

  #add(name: string, words: readonly string[]): void {
    const known = name === "" ? this.#common : this.#words.get(name) ?? new Set();
    if (name !== "") this.#words.set(name, known);
    for (const word of words) known.add(word);
  }

  /** All names that the code of these kernels may use. */
  #needed(expressions: readonly string[]): ReadonlySet<string> {
    const names = expressions.flatMap((text) => text.match(/[A-Za-z_]\w*/g) ?? []);
    const needed = new Set([...this.#common, ...names]);
    // The loop visits added names too.
    for (const name of needed) {
      for (const word of this.#words.get(name) ?? []) needed.add(word);
    }
    return needed;
  }

  /** The functions of a text that none of these kernels needs, and the other kernels. */
  unneeded({ list, macros }: SourceContext, expressions: readonly string[]): TokenRange[] {
    const chosen = new Set(expressions.map(shortName));
    const needed = this.#needed(expressions);
    return list.declarations.filter((declaration) => {
      const name = functionName(list, declaration);
      if (name === "" || declaration.body === NONE && !declaration.isInstantiation) return false;
      const isKernel = annotationsOf(list, declaration, macros).words.has("__global__");
      return isKernel ? !chosen.has(name) : !needed.has(name);
    });
  }

  /** Adds to an error the kernels that it concerns, if others of the source do without that code. */
  explain(error: CompileError, expressions: readonly string[]): CompileError {
    const faulty = error.diagnostics.filter(({ severity }) => severity === "error")
      .map(({ file, line }) => this.#functionAt(file === error.source ? "" : file, line));
    const kernels = expressions.filter((expression) => !expression.startsWith("&"));
    const prevented = kernels.filter((expression) => {
      const needed = this.#needed([expression]);
      return faulty.some((name) => name === undefined || needed.has(name));
    });
    const others = kernels.filter((expression) => !prevented.includes(expression));
    if (prevented.length === 0 || others.length === 0) return error;
    const remark = `Only ${shown(prevented.map(shortName))} need this code: the option kernels ` +
      `compiles others without it, such as ${shown(others.map(shortName))}`;
    const { source, compiler, diagnostics, log } = error;
    return new CompileError(source, compiler, diagnostics, log, remark);
  }

  /** The name of the function at a place; undefined if it is in none. */
  #functionAt(file: string | undefined, line: number | undefined): string | undefined {
    const context = this.#contexts.find(({ name }) => name === file);
    if (context === undefined || line === undefined) return undefined;
    const { list, lines } = context;
    const found = list.declarations.find(({ first, last }) =>
      lines.lineOf(list.tokens[first]!.start) <= line &&
      line <= lines.lineOf(list.tokens[last]!.end)
    );
    return found === undefined ? undefined : functionName(list, found) || undefined;
  }
}

/** The name of a function, also of a template's instance; empty for operators and all else. */
function functionName(
  { tokens, partners }: DeclarationList,
  { kind, parameters }: Declaration,
): string {
  if (kind !== "function") return "";
  const before = tokens[parameters - 1]?.text === ">" ? partners[parameters - 1]! : parameters;
  const name = tokens[before - 1];
  return name?.kind === "word" && tokens[before - 2]?.text !== "operator" ? name.text : "";
}

/** The name of a kernel without its namespaces and arguments. */
function shortName(expression: string): string {
  const name = overloadIn(expression)?.name ?? expression;
  return name.replace(/[<(].*/s, "").split("::").at(-1)!.trim();
}

function shown(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const more = distinct.length - MAX_SHOWN;
  return distinct.slice(0, MAX_SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
