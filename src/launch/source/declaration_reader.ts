/**
 * Where a declaration ends, and where its parts are.
 *
 * @module
 */

import type { ActiveToken } from "./active_tokens.ts";
import { NONE } from "./brackets.ts";
import { type Declaration, type DeclarationKind, readTemplateHeads } from "./declarations.ts";

/** Words before brackets that hold no parameters. */
const ATTRIBUTES: ReadonlySet<string> = new Set([
  "__launch_bounds__",
  "__maxnreg__",
  "__cluster_dims__",
  "__block_size__",
  "__attribute__",
  "__attribute",
  "__declspec",
  "__align__",
  "alignas",
  "decltype",
  "__typeof__",
  "noexcept",
  "throw",
  "explicit",
  "asm",
  "__asm__",
  "requires",
]);

/** Words that may follow a function's parameters. */
const AFTER_PARAMETERS: ReadonlySet<string> = new Set([
  "const",
  "volatile",
  "noexcept",
  "override",
  "final",
  "throw",
  "try",
  "requires",
  "__attribute__",
  "asm",
  "__asm__",
  "__launch_bounds__",
]);

const CLASS_KEYS: ReadonlySet<string> = new Set(["class", "struct", "union"]);

/** Whether a word before brackets is an attribute. */
export function isAttribute(word: string): boolean {
  return ATTRIBUTES.has(word);
}

/**
 * Reads the declaration that begins at a token and ends before `end`, in time linear in its length.
 */
export function readDeclaration(
  tokens: readonly ActiveToken[],
  partners: Int32Array,
  first: number,
  end: number,
  namespaces: readonly string[],
): Declaration {
  return new DeclarationReader(tokens, partners, first, end).read(namespaces);
}

class DeclarationReader {
  readonly #tokens: readonly ActiveToken[];
  readonly #partners: Int32Array;
  readonly #first: number;
  readonly #end: number;
  #at: number;
  #parameters = NONE;
  #initialiser = NONE;
  #body = NONE;
  #classKey = false;
  #enumKey = false;
  /** Whether a class's bases are being read. */
  #baseClause = false;
  /** Whether a constructor's member initialisers are being read. */
  #memberInitialisers = false;

  constructor(
    tokens: readonly ActiveToken[],
    partners: Int32Array,
    first: number,
    end: number,
  ) {
    this.#tokens = tokens;
    this.#partners = partners;
    this.#first = first;
    this.#end = end;
    this.#at = first;
  }

  read(namespaces: readonly string[]): Declaration {
    const heads = readTemplateHeads(this.#tokens, this.#partners, this.#first, this.#end);
    this.#at = heads.head;
    const last = this.#macroCall() ?? this.#findLast();
    return {
      kind: this.#kind(heads.head, last),
      first: this.#first,
      head: heads.head,
      last,
      body: this.#body,
      parameters: this.#parameters,
      initialiser: this.#initialiser,
      templateHeads: heads.count,
      isTemplate: heads.isTemplate,
      isInstantiation: heads.isInstantiation,
      namespaces,
    };
  }

  #text(position: number): string {
    return position < this.#end ? this.#tokens[position]?.text ?? "" : "";
  }

  #isWord(position: number): boolean {
    return position >= 0 && position < this.#end && this.#tokens[position]!.kind === "word";
  }

  /** The end of a macro's call that stands by itself, without a semicolon. */
  #macroCall(): number | undefined {
    const open = this.#at + 1;
    if (!this.#isWord(this.#at) || this.#text(open) !== "(" || isAttribute(this.#text(this.#at))) {
      return undefined;
    }
    const close = this.#partners[open]!;
    const next = this.#text(close + 1);
    const alone = close !== NONE && this.#isWord(close + 1) && !AFTER_PARAMETERS.has(next);
    return alone ? close : undefined;
  }

  #findLast(): number {
    while (this.#at < this.#end) {
      const at = this.#at;
      const text = this.#text(at);
      if (text === ";") return at;
      if (text === "{") {
        const last = this.#brace(at);
        if (last !== undefined) return last;
      } else if (text === "(") this.#round(at);
      else if (text === "[") this.#skip(at);
      else {
        this.#note(at, text);
        this.#at++;
      }
    }
    return this.#end - 1;
  }

  #note(at: number, text: string): void {
    if (CLASS_KEYS.has(text)) this.#classKey = true;
    else if (text === "enum") this.#enumKey = true;
    else if (text === "=" && this.#initialiser === NONE && this.#text(at - 1) !== "operator") {
      this.#initialiser = at;
    } else if (text === ":" && this.#parameters !== NONE) this.#memberInitialisers = true;
    else if (text === ":" && this.#classKey) this.#baseClause = true;
  }

  /** Goes behind the bracket that closes this one. */
  #skip(at: number): void {
    const close = this.#partners[at]!;
    this.#at = close === NONE || close >= this.#end ? at + 1 : close + 1;
  }

  #round(at: number): void {
    this.#skip(at);
    if (this.#parameters !== NONE || this.#initialiser !== NONE || this.#baseClause) return;
    // The first brackets of operator() are its name.
    if (this.#text(at - 1) === "operator") return;
    if (isAttribute(this.#text(at - 1)) || at === this.#first) return;
    const next = this.#at;
    if (this.#isWord(next) && !AFTER_PARAMETERS.has(this.#text(next))) return;
    // (*pointer)(…) and (f)(…): what follows are the parameters.
    if (this.#text(next) === "(") return;
    this.#parameters = at;
  }

  /** Goes behind a pair of braces; the declaration's last token where it ends with them. */
  #brace(at: number): number | undefined {
    const close = this.#partners[at]!;
    const last = close === NONE || close >= this.#end ? this.#end - 1 : close;
    this.#at = last + 1;
    if (this.#initialiser !== NONE) return undefined;
    if (this.#parameters !== NONE) return this.#functionBrace(at, last);
    if (this.#classKey || this.#enumKey) {
      if (this.#body === NONE) this.#body = at;
      return undefined;
    }
    this.#initialiser = at;
    return /^[;,=]$/.test(this.#text(last + 1)) ? undefined : last;
  }

  #functionBrace(at: number, last: number): number | undefined {
    const before = this.#text(at - 1);
    // Member initialisers may have braces too: `: a{1}, b(2) {`.
    if (this.#memberInitialisers && (this.#isWord(at - 1) || before === ">") && before !== "try") {
      return undefined;
    }
    if (this.#body === NONE) this.#body = at;
    if (this.#text(last + 1) !== "catch") return last;
    this.#memberInitialisers = false;
    return undefined;
  }

  #kind(head: number, last: number): DeclarationKind {
    const word = this.#text(head);
    if (word === "using" || word === "typedef") return "alias";
    if (word === "static_assert" || word === "namespace") return "other";
    if (this.#parameters !== NONE) {
      return this.#initialisedByBrackets() ? "variable" : "function";
    }
    if (this.#enumKey) return "other";
    if (this.#classKey && (this.#body !== NONE || this.#isForward(head, last))) return "class";
    return this.#text(last) === ")" ? "other" : "variable";
  }

  /** Whether this is `struct Name;` and no variable of such a type. */
  #isForward(head: number, last: number): boolean {
    return last - head <= 2 && CLASS_KEYS.has(this.#text(head));
  }

  /** Whether what looks like parameters are values: `float3 origin(0, 0, 0);`. */
  #initialisedByBrackets(): boolean {
    if (this.#body !== NONE) return false;
    const value = this.#tokens[this.#parameters + 1];
    return value?.kind === "number" || value?.kind === "string" || value?.text === "-";
  }
}
