/**
 * What is said of a declaration before its name: for whom it is, and how it is stored.
 *
 * @module
 */

import { closingAngle, NONE } from "./brackets.ts";
import type { Declaration, DeclarationList } from "./declarations.ts";
import type { MacroTable } from "./macros.ts";

/** What the words before a declaration's name say. */
export interface Annotations {
  /** These words, macros replaced by what they stand for. */
  readonly words: ReadonlySet<string>;
  /** Whether one of them may be a macro whose definition cannot be seen. */
  readonly doubtful: boolean;
}

/** Reserved words that are no macros of anybody's, beside those of CUDA. */
const KNOWN = /^__(?:attribute|extension|inline|restrict|volatile|const|signed|asm|typeof|int128)/;
/** CUDA's own words, and its type names. */
const CUDA = new RegExp(
  "^__(?:global|device|host|constant|managed|shared|forceinline|noinline|inline_hint|" +
    "launch_bounds|align|maxnreg|cluster_dims|block_size|grid_constant|restrict|builtin_align)__$|" +
    "^__(?:half|nv_|launch_bounds)",
);
/** How macros are spelt. */
const MACRO_NAME = /^(?:[A-Z][A-Z0-9_]*|__\w+)$/;

/** Whether a declaration is for devices. */
export function isForDevice({ words }: Annotations): boolean {
  return ["__global__", "__device__", "__constant__", "__managed__", "__shared__"]
    .some((word) => words.has(word));
}

/** Reads the words before a declaration's name, template heads and what is in brackets left out. */
export function annotationsOf(
  list: DeclarationList,
  declaration: Declaration,
  macros: MacroTable,
): Annotations {
  const words = new Set<string>();
  let doubtful = false;
  // An angle that is not closed is no bracket, nor are those behind it.
  let angles = true;
  const end = headEnd(list, declaration);
  for (let at = declaration.head; at < end; at++) {
    const { kind, text } = list.tokens[at]!;
    const skipped = text === "<" && !angles ? NONE : closingBracket(list, at, end);
    if (skipped !== NONE) at = skipped;
    else if (text === "<") angles = false;
    else if (kind === "word") {
      const expanded = macros.expand(text);
      for (const word of expanded.split(" ")) words.add(word);
      doubtful ||= expanded === text && at < end - 1 && mayBeMacro(text, macros);
    }
  }
  return { words, doubtful };
}

/** Where the words of interest end: at the parameters, the body, the initialiser or the end. */
function headEnd({ tokens }: DeclarationList, declaration: Declaration): number {
  const { parameters, body, initialiser, last } = declaration;
  const ends = [parameters, body, initialiser].filter((position) => position !== NONE);
  if (ends.length > 0) return Math.min(...ends);
  return tokens[last]?.text === ";" ? last : last + 1;
}

function closingBracket({ tokens, partners }: DeclarationList, at: number, end: number): number {
  const { text } = tokens[at]!;
  if (text === "<") return closingAngle(tokens, partners, at, end);
  if (text !== "(" && text !== "[" && text !== "{") return NONE;
  return partners[at]!;
}

function mayBeMacro(word: string, macros: MacroTable): boolean {
  const { state } = macros.look(word);
  if (state !== "unknown") return state === "function";
  return MACRO_NAME.test(word) && !KNOWN.test(word) && !CUDA.test(word);
}
