/**
 * A source, cut up: its tokens, declarations, macros and lines.
 *
 * @module
 */

import { type Token, tokenize } from "../signature/tokens.ts";
import { type DeclarationList, readDeclarations, typeAliases } from "./declarations.ts";
import {
  type HeaderDirectives,
  type IncludeDirective,
  MacroTable,
  Preprocessor,
} from "./preprocessor.ts";

/** The surroundings of a source that decide its meaning. */
export interface SourceSurroundings {
  /** Macros and their values, those of the compiler included. */
  readonly defines?: ReadonlyMap<string, string>;
  /** Names of the compiler's kind that it does not define. */
  readonly undefines?: Iterable<string>;
  readonly headers?: ReadonlyMap<string, string>;
}

export interface SourceContext {
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

/** Cuts a source up. `directives` shares those of headers among several texts. */
export function readSource(
  source: string,
  { defines = new Map(), undefines = [], headers = new Map() }: SourceSurroundings,
  directives: HeaderDirectives = new Map(),
): SourceContext {
  const allTokens = tokenize(source);
  const macros = new MacroTable(defines, undefines);
  const preprocessor = new Preprocessor(macros, headers, directives);
  preprocessor.read(allTokens);
  const { tokens, includes } = preprocessor;
  const list = readDeclarations(tokens);
  const aliases = typeAliases(list);
  const isPacked = allTokens.some(({ kind, text }) =>
    kind === "directive" && /^#\s*pragma\s+pack\b/.test(text)
  );
  return { allTokens, includes, list, macros, aliases, isPacked, lines: new SourceLines(source) };
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
