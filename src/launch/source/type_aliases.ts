/**
 * Other names for types, so that a kernel's parameters can be told by those of the language.
 *
 * @module
 */

import type { Declaration, DeclarationList } from "./declarations.ts";

/** Words that begin types which are no plain names. */
const NO_ALIAS: ReadonlySet<string> = new Set(["struct", "class", "union", "enum", "typename"]);
/** More steps than this is an alias of itself. */
const MOST_STEPS = 16;

/** The types that a source names anew: `using real = float;`, `typedef unsigned int word;`. */
export class TypeAliases {
  readonly #types = new Map<string, string>();

  /** Collects the aliases among declarations; a name with two meanings stays as it is. */
  constructor(list: DeclarationList) {
    const ambiguous = new Set<string>();
    for (const declaration of list.declarations) {
      const alias = readAlias(list, declaration);
      if (alias === undefined) continue;
      const known = this.#types.get(alias.name);
      if (known !== undefined && known !== alias.type) ambiguous.add(alias.name);
      this.#types.set(alias.name, alias.type);
    }
    for (const name of ambiguous) this.#types.delete(name);
  }

  /** The type that a word names; the word itself where it is no alias. */
  resolve(word: string): string {
    let type = word;
    for (let step = 0; step < MOST_STEPS; step++) {
      const next = this.#types.get(type);
      if (next === undefined) return type;
      type = next;
    }
    return word;
  }
}

/** An alias of a type that is written in words alone; undefined for all others. */
function readAlias(
  { tokens }: DeclarationList,
  { kind, isTemplate, head, last }: Declaration,
): { readonly name: string; readonly type: string } | undefined {
  if (kind !== "alias" || isTemplate) return undefined;
  const texts = tokens.slice(head + 1, last);
  const isUsing = tokens[head]!.text === "using";
  const assigned = isUsing && texts[1]?.text === "=";
  if (isUsing && !assigned) return undefined;
  const name = assigned ? texts[0] : texts.at(-1);
  const type = assigned ? texts.slice(2) : texts.slice(0, -1);
  if (name?.kind !== "word" || type.length === 0) return undefined;
  const isPlain = type.every((token) => token.kind === "word" && token.text !== name.text);
  if (!isPlain || NO_ALIAS.has(type[0]!.text)) return undefined;
  return { name: name.text, type: type.map(({ text }) => text).join(" ") };
}
