/**
 * The tokens of a source that the compiler will see, as far as conditions can be decided from here.
 *
 * @module
 */

import { evaluateCondition } from "./condition.ts";
import { type Directive, type MacroTable, readDirective } from "./macros.ts";
import { isSignificant, type Token } from "./tokens.ts";

/** A token that means something to the language, and what is known of it. */
export interface ActiveToken extends Token {
  /** Whether a condition that cannot be decided here stands before it. */
  readonly conditional: boolean;
  /** Whether white space stands before it, where its place does not tell, as a macro has made it. */
  readonly isSpaced?: boolean;
}

/** An `#include`. */
export interface IncludeDirective {
  /** The name, without its brackets or quotes. */
  readonly header: string;
  /** The line as it stands in the source. */
  readonly token: Token;
}

/** What is left of a source behind its conditions. */
export interface ActiveSource {
  /** Its tokens, no space, comments or directives among them. */
  readonly tokens: readonly ActiveToken[];
  /** Its `#include` lines. */
  readonly includes: readonly IncludeDirective[];
}

const OPENING: ReadonlySet<string> = new Set(["{", "("]);
const CLOSING: ReadonlySet<string> = new Set(["}", ")"]);

/** What `#if` decided: count these lines, leave them out, or both may be. */
type Decision = boolean | undefined;

/** A branch of an `#if` whose condition is not known. */
interface Branch {
  /** Its first token in the result. */
  readonly first: number;
}

/** An `#if` that has no `#endif` yet. */
interface Conditional {
  /** What its lines were before the `#if`. */
  readonly outer: Decision;
  /** Whether one of its branches was certainly taken. */
  taken: boolean;
  /** Whether one of its branches may have been taken. */
  doubtful: boolean;
  /** The branches whose lines are in the result. */
  readonly branches: Branch[];
}

/**
 * Leaves out what conditions leave out. Where a condition cannot be decided all its branches stay,
 * unless one opens brackets that it does not close: then they are ways to begin the same thing, and
 * only the first stays.
 *
 * @param macros What is defined; changes as the source defines more.
 * @param seen Whether a header's text is known, or defines nothing that matters; told which header,
 * and where in the source it is included.
 * @param at Where in the source the tokens are, if they are those of a header.
 */
export function activeTokens(
  tokens: readonly Token[],
  macros: MacroTable,
  seen: (header: string, at: number) => boolean,
  at?: number,
): ActiveSource {
  return new ConditionalReader(macros, seen, at).read(tokens);
}

class ConditionalReader {
  readonly #macros: MacroTable;
  readonly #seen: (header: string, at: number) => boolean;
  readonly #place: number | undefined;
  readonly #open: Conditional[] = [];
  readonly #tokens: ActiveToken[] = [];
  /** How many brackets are open before each token of the result, and behind the last. */
  readonly #depths: number[] = [0];
  readonly #includes: IncludeDirective[] = [];
  #state: Decision = true;

  constructor(
    macros: MacroTable,
    seen: (header: string, at: number) => boolean,
    place: number | undefined,
  ) {
    this.#macros = macros;
    this.#seen = seen;
    this.#place = place;
  }

  read(tokens: readonly Token[]): ActiveSource {
    const directives = tokens.filter(({ kind }) => kind === "directive")
      .map(({ text }) => readDirective(text));
    let passed = 0;
    for (const token of tokens) {
      if (token.kind === "directive") {
        this.#directive(token, directives[passed]!, directives[passed + 1]);
        passed++;
      } else if (this.#state !== false && isSignificant(token)) this.#token(token);
    }
    return { tokens: this.#tokens, includes: this.#includes };
  }

  #token({ kind, text, start, end }: Token): void {
    this.#tokens.push({ kind, text, start, end, conditional: this.#state === undefined });
    const depth = this.#depths.at(-1)!;
    this.#depths.push(depth + (OPENING.has(text) ? 1 : CLOSING.has(text) ? -1 : 0));
  }

  #directive(token: Token, directive: Directive, next: Directive | undefined): void {
    switch (directive.name) {
      case "if":
      case "ifdef":
      case "ifndef":
        this.#open.push({ outer: this.#state, taken: false, doubtful: false, branches: [] });
        this.#enter(this.#state === false ? false : this.#condition(directive, next));
        break;
      case "elif":
      case "elifdef":
      case "elifndef":
        this.#otherwise(() => evaluateCondition(directive, this.#macros));
        break;
      case "else":
        this.#otherwise(() => true);
        break;
      case "endif":
        this.#close();
        break;
      case "define":
      case "undef":
        if (this.#state === true) this.#macros.apply(directive, this.#place ?? token.start);
        else if (this.#state === undefined) {
          this.#macros.doubt(directive, this.#place ?? token.start);
        }
        break;
      case "include":
        this.#include(directive.rest, token);
        break;
    }
  }

  #condition(directive: Directive, next: Directive | undefined): Decision {
    const value = evaluateCondition(directive, this.#macros);
    if (value !== undefined || directive.name !== "ifndef" || next?.name !== "define") return value;
    // What is defined where it is not is the guard of a header, or has a default.
    const macro = /^[\w$]+/.exec(directive.rest)?.[0];
    return macro === /^[\w$]+/.exec(next.rest)?.[0] ? true : undefined;
  }

  #include(rest: string, token: Token): void {
    const header = /^(?:<([^>]*)>|"([^"]*)")/.exec(rest);
    const name = header?.[1] ?? header?.[2];
    if (name !== undefined) this.#includes.push({ header: name, token });
    if (
      this.#state !== false && (name === undefined || !this.#seen(name, this.#place ?? token.start))
    ) {
      this.#macros.unseenHeader();
    }
  }

  /** Begins a branch of the innermost `#if`. */
  #enter(condition: Decision): void {
    const conditional = this.#open.at(-1)!;
    if (conditional.outer === false || conditional.taken || condition === false) {
      this.#state = false;
      return;
    }
    const certain = condition === true && !conditional.doubtful;
    if (certain) conditional.taken = true;
    else conditional.doubtful = true;
    this.#state = certain ? conditional.outer : undefined;
    conditional.branches.push({ first: this.#tokens.length });
  }

  #otherwise(condition: () => Decision): void {
    const conditional = this.#open.at(-1);
    if (conditional === undefined) return;
    const excluded = conditional.outer === false || conditional.taken;
    this.#enter(excluded ? false : condition());
  }

  #close(): void {
    const conditional = this.#open.pop();
    if (conditional === undefined) return;
    this.#state = conditional.outer;
    const { branches } = conditional;
    if (branches.length < 2 || this.#balanced(branches)) return;
    this.#tokens.length = branches[1]!.first;
    this.#depths.length = branches[1]!.first + 1;
  }

  /** Whether each branch closes as many brackets as it opens. */
  #balanced(branches: readonly Branch[]): boolean {
    return branches.every(({ first }, index) => {
      const end = branches[index + 1]?.first ?? this.#tokens.length;
      return this.#depths[first] === this.#depths[end];
    });
  }
}
