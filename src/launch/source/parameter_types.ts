/**
 * The types of a function's parameters, as they are written where the function is called from.
 *
 * @module
 */

import { C_TYPE_WORDS, ELABORATED_WORDS, RESTRICT_QUALIFIERS } from "../signature/c_types.ts";
import { matchAngles, NONE } from "./brackets.ts";
import type { Declaration, DeclarationList } from "./declarations.ts";
import type { DeclaredNames } from "./declared_names.ts";
import type { MacroTable } from "./macros.ts";

/** Words that name no type, though they stand where one is named. */
const QUALIFIERS: ReadonlySet<string> = new Set([
  ...["const", "volatile", "enum"],
  ...ELABORATED_WORDS,
  ...RESTRICT_QUALIFIERS,
]);

/** Words of a parameter's own that are no part of a function's type. */
const DROPPED: ReadonlySet<string> = new Set(["__grid_constant__", ...RESTRICT_QUALIFIERS]);

/** Where a parameter stands: its first token and the one behind its last, default left out. */
interface ParameterRange {
  readonly first: number;
  readonly end: number;
}

/**
 * The types of a function's parameters, without names and default arguments: what a pointer to the
 * function is declared with outside of the function's namespaces.
 *
 * @param names What the source declares, and so what a name is called outside.
 */
export function parameterTypes(
  list: DeclarationList,
  declaration: Declaration,
  names: DeclaredNames,
  macros: MacroTable,
): string {
  const angles = anglesIn(list, declaration);
  return parametersOf(list, declaration, angles)
    .map((range) =>
      typeText(list, range, angles, (word) => {
        return macros.expand(word).split(" ")
          .map((part) => names.qualified(part, declaration.namespaces)).join(" ");
      })
    )
    .filter((type) => type !== "void" && type !== "")
    .join(", ");
}

/** Angles that are brackets, from each that opens to the one that closes it. */
type Angles = ReadonlyMap<number, number>;

/** The bracket that closes a function's parameters. */
function closeOf({ partners }: DeclarationList, { parameters }: Declaration): number {
  return partners[parameters] === NONE ? parameters : partners[parameters]!;
}

function anglesIn(list: DeclarationList, declaration: Declaration): Angles {
  const { tokens, partners } = list;
  return matchAngles(tokens, partners, declaration.parameters + 1, closeOf(list, declaration));
}

function parametersOf(
  list: DeclarationList,
  declaration: Declaration,
  angles: Angles,
): ParameterRange[] {
  const { tokens, partners } = list;
  const { parameters } = declaration;
  const close = closeOf(list, declaration);
  const found: ParameterRange[] = [];
  let first = parameters + 1;
  let assigned = NONE;
  for (let at = first; at <= close; at++) {
    const { text } = tokens[at]!;
    if (at === close || text === ",") {
      if (at > first) found.push({ first, end: assigned === NONE ? at : assigned });
      [first, assigned] = [at + 1, NONE];
    } else if (text === "=" && assigned === NONE) assigned = at;
    else at = behindBrackets(partners, angles, at);
  }
  return found;
}

/** The bracket that closes the one at a token; the token itself where it opens none. */
function behindBrackets(partners: Int32Array, angles: Angles, at: number): number {
  return Math.max(at, angles.get(at) ?? partners[at]!);
}

function typeText(
  list: DeclarationList,
  { first, end }: ParameterRange,
  angles: Angles,
  outside: (word: string) => string,
): string {
  const name = namePosition(list, first, end, angles);
  let text = "";
  for (let at = first; at < end; at++) {
    const { kind, text: word } = list.tokens[at]!;
    if (at === name || DROPPED.has(word)) continue;
    const isMember = /^(?:::|\.|->)$/.test(list.tokens[at - 1]?.text ?? "");
    const written = kind === "word" && !isMember ? outside(word) : word;
    text += /\w$/.test(text) && /^\w/.test(written) ? ` ${written}` : written;
  }
  return text;
}

/** The last word of a parameter where that follows a type; `NONE` where there is but the type. */
function namePosition(
  { tokens, partners }: DeclarationList,
  first: number,
  end: number,
  angles: Angles,
): number {
  let last = NONE;
  let hasType = false;
  for (let at = first; at < end; at = behindBrackets(partners, angles, at) + 1) {
    const { kind, text } = tokens[at]!;
    // What follows an array's bracket is no name.
    if (text === "[") break;
    if (kind !== "word" || QUALIFIERS.has(text) || DROPPED.has(text)) continue;
    if (last !== NONE) hasType = true;
    last = at;
  }
  if (last === NONE || !hasType || C_TYPE_WORDS.has(tokens[last]!.text)) return NONE;
  const isPartOfType = tokens[last - 1]?.text === "::" || /^(?:::|<)$/.test(tokens[last + 1]!.text);
  return isPartOfType ? NONE : last;
}
