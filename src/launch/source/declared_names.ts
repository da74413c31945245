/**
 * The names that declarations give, and what they are called from outside of their namespaces.
 *
 * @module
 */

import type { ActiveToken } from "./active_tokens.ts";
import { NONE } from "./brackets.ts";
import type { Declaration, DeclarationList } from "./declarations.ts";

/** What a declaration declares; empty where that has no plain name. */
export function declaredName({ tokens }: DeclarationList, declaration: Declaration): string {
  const { kind, head, body, parameters, initialiser, last } = declaration;
  if (parameters !== NONE) return wordAt(tokens[parameters - 1]);
  const isEnumeration = tokens[head]?.text === "enum";
  if (kind === "class" || isEnumeration) {
    return classNameIn(tokens, head, body === NONE ? last : body);
  }
  if (kind === "alias" && tokens[head + 2]?.text === "=") return wordAt(tokens[head + 1]);
  let at = (initialiser === NONE ? last : initialiser) - 1;
  while (tokens[at]?.text === "]" && at > head) {
    while (at > head && tokens[at]!.text !== "[") at--;
    at--;
  }
  return at > head ? wordAt(tokens[at]) : "";
}

function classNameIn(tokens: readonly ActiveToken[], head: number, end: number): string {
  let name = "";
  for (let at = head + 1; at < end; at++) {
    const { kind, text } = tokens[at]!;
    if (text === ":" || text === "<" || text === "final") break;
    if (kind === "word") name = text;
  }
  return name;
}

function wordAt(token: ActiveToken | undefined): string {
  return token?.kind === "word" ? token.text : "";
}

/** The names of a source's namespaces and of what is declared in them. */
export class DeclaredNames {
  readonly #names = new Set<string>();
  /** The same without what they lie in: most words of a source are none of them. */
  readonly #plain = new Set<string>();

  /** Collects the names; those outside of namespaces are the same from everywhere. */
  constructor(list: DeclarationList) {
    for (const declaration of list.declarations) {
      const { namespaces } = declaration;
      if (namespaces.length === 0) continue;
      this.#addNamespaces(namespaces);
      const name = declaredName(list, declaration);
      this.#names.add([...namespaces, name].join("::"));
      this.#plain.add(name);
    }
  }

  /** Adds namespaces, innermost first: where one is known, those around it are. */
  #addNamespaces(namespaces: readonly string[]): void {
    for (let depth = namespaces.length; depth > 0; depth--) {
      const name = namespaces.slice(0, depth).join("::");
      if (this.#names.has(name)) return;
      this.#names.add(name);
      this.#plain.add(namespaces[depth - 1]!);
    }
  }

  /** What a word that stands in namespaces is called outside of them. */
  qualified(word: string, namespaces: readonly string[]): string {
    if (!this.#plain.has(word)) return word;
    for (let depth = namespaces.length; depth > 0; depth--) {
      const candidate = [...namespaces.slice(0, depth), word].join("::");
      if (this.#names.has(candidate)) return candidate;
    }
    return word;
  }
}
