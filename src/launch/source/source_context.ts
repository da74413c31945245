/**
 * A source, cut up: its tokens, declarations, macros and lines.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { type ActiveSource, activeTokens } from "./active_tokens.ts";
import { type DeclarationList, readDeclarations } from "./declarations.ts";
import { isHostHeader } from "./host_names.ts";
import { expandMacros } from "./macro_expansion.ts";
import { MacroTable } from "./macros.ts";
import { SourceLines } from "./source_lines.ts";
import { type Token, tokenize } from "./tokens.ts";
import { TypeAliases } from "./type_aliases.ts";

/** What the meaning of a source depends on besides its text. */
export interface SourceSurroundings {
  /** Macros and their values, those of the compiler that matter included. */
  readonly defines?: ReadonlyMap<string, string>;
  /** Macros that the compiler does not define, though their names are its own. */
  readonly undefines?: Iterable<string>;
  /** The texts of what may be included, by name. */
  readonly headers?: ReadonlyMap<string, string>;
}

/** A source that has been cut up. */
export interface SourceContext {
  /** All its tokens. */
  readonly allTokens: readonly Token[];
  /** What conditions leave of it. */
  readonly active: ActiveSource;
  /** That as declarations. */
  readonly list: DeclarationList;
  /** Macros. */
  readonly macros: MacroTable;
  /** Aliases of types. */
  readonly aliases: TypeAliases;
  /** Its lines. */
  readonly lines: SourceLines;
}

/**
 * A source as it is when its macros stand for what they were defined as. Its tokens are no longer
 * those of the text: those that a macro has made are where its call is.
 */
export function withMacrosExpanded(context: SourceContext): SourceContext {
  const { list: { tokens, partners }, macros } = context;
  const expanded = expandMacros(tokens, partners, macros);
  if (expanded === tokens) return context;
  const list = readDeclarations(expanded);
  return { ...context, list, aliases: new TypeAliases(list) };
}

/** Headers that define no macro a source would ask for: those of the language and of C. */
const LANGUAGE_HEADERS: readonly RegExp[] = [
  /^(?:cuda|cuda_\w+|device_\w+|vector_\w+|sm_\w+|driver_types|math_constants|mma)\.h$/,
  /^(?:cooperative_groups(?:\/\w+)?|crt\/\w+)\.h$/,
  /^(?:stdint|stdio|stdbool|stddef|float|limits|math|assert|string)\.h$/,
  /^c(?:stdint|stdio|stddef|math|assert|float|limits|string)$/,
  /^(?:type_traits|limits|utility|tuple|array|initializer_list|new|ratio|version|bit)$/,
];

/** The lines of the preprocessor in headers that were read before, by the headers' names. */
export type HeaderDirectives = Map<string, readonly Token[]>;

/**
 * Cuts a source up.
 *
 * @param directives Where several texts are read with the same headers: those of the others.
 */
export function readSource(
  source: string,
  { defines = new Map(), undefines = [], headers = new Map() }: SourceSurroundings,
  directives: HeaderDirectives = new Map(),
): SourceContext {
  const allTokens = tokenize(source);
  const macros = new MacroTable(defines, undefines);
  const active = activeTokens(allTokens, macros, headerReader(headers, macros, directives));
  const list = readDeclarations(active.tokens);
  const aliases = new TypeAliases(list);
  return { allTokens, active, list, macros, aliases, lines: new SourceLines(source) };
}

/**
 * Takes the macros of headers whose text is known, and says of each whether it is. A header is looked
 * for beside the one that includes it first.
 */
function headerReader(
  headers: ReadonlyMap<string, string>,
  macros: MacroTable,
  directives: HeaderDirectives,
): (header: string, at: number) => boolean {
  const read = new Map<string, boolean>();
  const seeFrom = (from: string) => (header: string, at: number): boolean => {
    const beside = join(dirname(from), header);
    const name = headers.has(beside) ? beside : header;
    const known = read.get(name);
    if (known !== undefined) return known;
    const text = headers.get(name);
    const isSeen = text !== undefined || isHostHeader(name) ||
      LANGUAGE_HEADERS.some((pattern) => pattern.test(name));
    read.set(name, isSeen);
    if (text !== undefined) {
      const lines = directives.get(name) ??
        tokenize(text).filter(({ kind }) => kind === "directive");
      directives.set(name, lines);
      activeTokens(lines, macros, seeFrom(name), at);
    }
    return isSeen;
  };
  return seeFrom("");
}
