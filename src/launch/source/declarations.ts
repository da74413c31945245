/**
 * A source as a list of declarations: those of its namespaces and of `extern "C"` blocks, and those
 * in classes. Function bodies and initialisers are not looked into.
 *
 * @module
 */

import type { ActiveToken } from "./active_tokens.ts";
import { closingAngle, matchBrackets, NONE } from "./brackets.ts";
import { readDeclaration } from "./declaration_reader.ts";

/** What a declaration declares. */
export type DeclarationKind =
  | "function"
  | "class"
  | "variable"
  /** `using` and `typedef`. */
  | "alias"
  /** Everything else: `enum`, `static_assert`, what a macro makes. */
  | "other";

/** A declaration. Positions are those of tokens. */
export interface Declaration {
  /** What it declares. */
  readonly kind: DeclarationKind;
  /** Its first token: that of `template` or `extern "C"` where it has them. */
  readonly first: number;
  /** The first token behind template heads. */
  readonly head: number;
  /** Its last token: `;` or `}`. */
  readonly last: number;
  /** The `{` of a function's or class's body; {@linkcode NONE} where it has none. */
  readonly body: number;
  /** The `(` of a function's parameters; {@linkcode NONE} where it is no function. */
  readonly parameters: number;
  /** The `=` or `{` of a variable's initialiser; {@linkcode NONE} where it has none. */
  readonly initialiser: number;
  /** How many template heads it has, `template <>` included. */
  readonly templateHeads: number;
  /** Whether it has a template head with parameters. */
  readonly isTemplate: boolean;
  /** Whether it is `template` without parameters: an instantiation. */
  readonly isInstantiation: boolean;
  /** The named namespaces that it lies in, outermost first. */
  readonly namespaces: readonly string[];
}

/** A source that has been cut into declarations. */
export interface DeclarationList {
  /** Its tokens. */
  readonly tokens: readonly ActiveToken[];
  /** The bracket that belongs to each token. */
  readonly partners: Int32Array;
  /** Its declarations in order. */
  readonly declarations: readonly Declaration[];
}

/** A namespace or `extern "C"` block that is open. */
interface Scope {
  /** The names that it adds. */
  readonly names: readonly string[];
  /** Its `}`, or the end of the source. */
  readonly end: number;
}

/** Namespaces in each other deeper than compilers go are not looked into. */
const DEEPEST_SCOPE = 256;

/** Cuts tokens into declarations. */
export function readDeclarations(tokens: readonly ActiveToken[]): DeclarationList {
  const partners = matchBrackets(tokens);
  return { tokens, partners, declarations: new ScopeReader(tokens, partners).read() };
}

class ScopeReader {
  readonly #tokens: readonly ActiveToken[];
  readonly #partners: Int32Array;
  readonly #scopes: Scope[] = [];
  #namespaces: readonly string[] = [];
  #at = 0;

  constructor(tokens: readonly ActiveToken[], partners: Int32Array) {
    this.#tokens = tokens;
    this.#partners = partners;
  }

  read(): Declaration[] {
    const declarations: Declaration[] = [];
    while (this.#at < this.#tokens.length) {
      if (this.#leaveScope() || this.#text(0) === ";" || this.#text(0) === "}") {
        this.#at++;
        continue;
      }
      if (this.#enterScope()) continue;
      const end = this.#scopes.at(-1)?.end ?? this.#tokens.length;
      const declaration = readDeclaration(
        this.#tokens,
        this.#partners,
        this.#at,
        end,
        this.#namespaces,
      );
      declarations.push(declaration);
      this.#at = declaration.last + 1;
    }
    return declarations;
  }

  #text(offset: number): string {
    return this.#tokens[this.#at + offset]?.text ?? "";
  }

  #leaveScope(): boolean {
    if (this.#scopes.at(-1)?.end !== this.#at) return false;
    this.#scopes.pop();
    this.#namespaces = this.#scopes.flatMap(({ names }) => names);
    return true;
  }

  /** Goes into the `namespace` or `extern "C"` block that begins here. */
  #enterScope(): boolean {
    if (this.#scopes.length === DEEPEST_SCOPE) return false;
    if (this.#text(0) === "extern" && /^"C(?:\+\+)?"$/.test(this.#text(1))) {
      return this.#text(2) === "{" && this.#open(2, []);
    }
    const inline = this.#text(0) === "inline" ? 1 : 0;
    if (this.#text(inline) !== "namespace") return false;
    const names: string[] = [];
    let offset = inline + 1;
    while (this.#text(offset) !== "{") {
      const { kind, text } = this.#tokens[this.#at + offset] ?? { kind: "sign", text: "" };
      const partner = this.#partners[this.#at + offset]!;
      const bracketed = (text === "(" || text === "[") && partner !== NONE;
      // An alias, or no namespace at all.
      if (kind !== "word" && text !== "::" && !bracketed) return false;
      if (kind === "word" && text !== "inline" && !text.startsWith("__")) names.push(text);
      offset = bracketed ? partner - this.#at + 1 : offset + 1;
    }
    return this.#open(offset, names);
  }

  #open(offset: number, names: readonly string[]): true {
    const brace = this.#at + offset;
    const end = this.#partners[brace]!;
    this.#scopes.push({ names, end: end === NONE ? this.#tokens.length : end });
    this.#namespaces = [...this.#namespaces, ...names];
    this.#at = brace + 1;
    return true;
  }
}

/** The declarations in a class's body. */
export function membersOf(list: DeclarationList, owner: Declaration): Declaration[] {
  const { tokens, partners } = list;
  const members: Declaration[] = [];
  if (owner.body === NONE || partners[owner.body] === NONE) return members;
  const end = partners[owner.body]!;
  let at = owner.body + 1;
  while (at < end) {
    const { text } = tokens[at]!;
    if (text === ";" || text === "}") at++;
    else if (/^(?:public|protected|private)$/.test(text) && tokens[at + 1]?.text === ":") at += 2;
    else {
      const member = readDeclaration(tokens, partners, at, end, owner.namespaces);
      members.push(member);
      at = member.last + 1;
    }
  }
  return members;
}

/** Where the template heads that begin at a token end, and what they are. */
export function readTemplateHeads(
  tokens: readonly ActiveToken[],
  partners: Int32Array,
  start: number,
  end: number,
): { head: number; count: number; isTemplate: boolean; isInstantiation: boolean } {
  let [head, count, isTemplate] = [start, 0, false];
  while (tokens[head]?.text === "template" && tokens[head + 1]?.text === "<") {
    const close = closingAngle(tokens, partners, head + 1, end);
    if (close === NONE) break;
    count++;
    isTemplate ||= close > head + 2;
    head = close + 1;
  }
  const extern = tokens[head]?.text === "extern" ? 1 : 0;
  const isInstantiation = tokens[head + extern]?.text === "template" &&
    tokens[head + extern + 1]?.text !== "<";
  return { head, count, isTemplate, isInstantiation };
}
