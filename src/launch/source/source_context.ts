/**
 * A source, cut up: its tokens, declarations, macros and lines.
 *
 * @module
 */

import type { Token } from "../signature/tokens.ts";
import { type DeclarationList, openScopes, readDeclarations, typeAliases } from "./declarations.ts";
import { type IncludeDirective, MacroTable, Preprocessor, type ReadText } from "./preprocessor.ts";

/** The surroundings of a source that decide its meaning. */
export interface SourceSurroundings {
  /** Macros and their values, those of the compiler included. */
  readonly defines?: ReadonlyMap<string, string>;
  /** Names of the compiler's kind that it does not define. */
  readonly undefines?: Iterable<string>;
  readonly headers?: ReadonlyMap<string, string>;
}

/** A source or header. The macros and aliases are those of all texts. */
export interface SourceContext {
  /** The header's name; empty for the source. */
  readonly name: string;
  readonly text: string;
  /** Of a source, the headers of the program that it includes between declarations, in order. */
  readonly headers: readonly SourceContext[];
  readonly allTokens: readonly Token[];
  readonly includes: readonly IncludeDirective[];
  /** Its declarations, without those that conditions leave out. */
  readonly list: DeclarationList;
  readonly macros: MacroTable;
  /** Types of words alone, by their other names. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly isPacked: boolean;
  readonly lines: SourceLines;
}

/** Cuts a source up, with the headers of the program that it includes. */
export function readSource(
  source: string,
  { defines = new Map(), undefines = [], headers = new Map() }: SourceSurroundings,
): SourceContext {
  const macros = new MacroTable(defines, undefines);
  const preprocessor = new Preprocessor(macros, headers);
  preprocessor.read(source);
  const lists = preprocessor.texts.flatMap((read) => {
    const namespaces = namespacesAround(read);
    return namespaces === undefined
      ? []
      : [{ read, list: readDeclarations(read.tokens, namespaces) }];
  });
  const aliases = typeAliases(lists.map(({ list }) => list));
  const contexts = lists.map(({ read: { name, text, allTokens, includes }, list }) => {
    const isPacked = allTokens.some(({ kind, text }) =>
      kind === "directive" && /^#\s*pragma\s+pack\b/.test(text)
    );
    const lines = new SourceLines(text);
    return { name, text, allTokens, includes, list, macros, aliases, isPacked, lines, headers: [] };
  });
  return { ...contexts.at(-1)!, headers: contexts.slice(0, -1) };
}

/** The namespaces around a text; undefined if its first token does not begin a declaration. */
function namespacesAround({ from, before }: ReadText): readonly string[] | undefined {
  if (from === undefined) return [];
  const outer = namespacesAround(from);
  const inner = /^[;{}]$/.test(before.at(-1)?.text ?? ";") ? openScopes(before) : undefined;
  return outer === undefined || inner === undefined ? undefined : [...outer, ...inner];
}

/** The words that a word stands for: macros replaced, then type aliases, one step each. */
export function resolvedWords({ macros, aliases }: SourceContext, word: string): string[] {
  return macros.expand(word).split(" ").map((part) => aliases.get(part) ?? part);
}

/** The lines of a source, counted from 1. */
export class SourceLines {
  readonly #source: string;
  readonly #starts: readonly number[];

  constructor(source: string) {
    this.#source = source;
    this.#starts = [0, ...source.matchAll(/\n/g).map(({ index }) => index + 1)];
  }

  /** The number of lines; a line break at the end starts an empty one. */
  get count(): number {
    return this.#starts.length;
  }

  lineOf(offset: number): number {
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.#starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  }

  columnOf(offset: number): number {
    return offset - this.#starts[this.lineOf(offset) - 1]! + 1;
  }

  /** The text of a line without its line break; undefined if there is no such line. */
  textOf(line: number): string | undefined {
    const start = this.#starts[line - 1];
    if (start === undefined) return undefined;
    const next = this.#starts[line];
    return this.#source.slice(start, next === undefined ? undefined : next - 1).replace(/\r$/, "");
  }
}
