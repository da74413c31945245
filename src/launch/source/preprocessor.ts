/**
 * The preprocessor, as far as a scanner of kernels needs it: conditions, includes, and macros that
 * stand for words.
 *
 * A condition is true, false or unknown: headers and compilers define macros that are not seen here.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { isSignificant, type Token, tokenize } from "../signature/tokens.ts";
import { isHostHeader } from "./host_names.ts";

export interface Directive {
  /** Its word: `define`, `ifdef`, `include`, …; empty if there is none. */
  readonly name: string;
  readonly rest: string;
}

export function readDirective(text: string): Directive {
  let line = text.replaceAll(/\\\r?\n/g, "");
  if (line.includes("/")) {
    // The leading # makes the whole line one token; without it, it is cut up.
    line = tokenize(line.replace(/^\s*#/, " "))
      .map((token) => token.kind === "comment" ? " " : token.text).join("");
  }
  const [, name = "", rest = ""] = /^\s*#?\s*(\w*)\s*(.*)$/s.exec(line.trim()) ?? [];
  return { name, rest };
}

// ---- Macros --------------------------------------------------------------------------------------

/** A macro with parameters. */
export interface FunctionMacro {
  /** The names; `...` is `__VA_ARGS__`. */
  readonly parameters: readonly string[];
  /** Whether the last parameter takes all further arguments. */
  readonly isVariadic: boolean;
  readonly body: string;
}

/** The knowledge of a macro; an object-like one has a body. */
type Macro = { readonly body: string } | "function" | "undefined" | "unknown";

/** Names that the compiler itself may define. */
const RESERVED = /^_[_A-Z]|^__/;
/** The limits of an expansion; beyond them a word is left alone: no type or annotation is so long. */
const MAX_EXPANSIONS = 64;
const MAX_WORDS = 256;
/** The maximum number of characters of macros that all conditions of a source evaluate. */
const MAX_CONDITION_CHARACTERS = 1 << 22;
const MAX_DEPTH = 64;

export class MacroTable {
  readonly #macros = new Map<string, Macro>();
  /** The last body of each object-like macro, also after `#undef`. */
  readonly #bodies = new Map<string, string>();
  /** Function-like macros; undefined for one that the source defines in several ways. */
  readonly #functions = new Map<string, FunctionMacro | undefined>();
  readonly #expansions = new Map<string, string>();
  #hasUnseenHeader = false;
  #charactersLeft = MAX_CONDITION_CHARACTERS;

  /** Starts with the macros of the caller and the compiler; `absent` are certainly not defined. */
  constructor(defines: ReadonlyMap<string, string>, absent: Iterable<string> = []) {
    for (const name of absent) this.#macros.set(name, "undefined");
    for (const [name, body] of defines) this.#define(name, body);
  }

  #define(name: string, body: string): void {
    this.#macros.set(name, { body });
    this.#bodies.set(name, body);
  }

  unseenHeader(): void {
    this.#hasUnseenHeader = true;
  }

  /** Takes a `#define` or `#undef`; one behind an unknown condition may or may not apply. */
  apply({ name, rest }: Directive, isCertain: boolean): void {
    const [, macro, bracket, body = ""] = /^([\w$]+)(\()?\s*(.*)$/s.exec(rest) ?? [];
    if (macro === undefined) return;
    if (bracket !== undefined && name === "define") this.#defineFunction(macro, body, isCertain);
    if (!isCertain) this.#macros.set(macro, "unknown");
    else if (name === "undef") this.#macros.set(macro, "undefined");
    else if (bracket !== undefined) this.#macros.set(macro, "function");
    else this.#define(macro, body.trim());
  }

  #defineFunction(name: string, text: string, isCertain: boolean): void {
    const [, names, body] = /^([^)]*)\)(.*)$/s.exec(text) ?? [];
    const known = this.#functions.get(name);
    const isOther = this.#functions.has(name) && known?.body !== body?.trim();
    if (names === undefined || body === undefined || !isCertain || isOther) {
      this.#functions.set(name, undefined);
      return;
    }
    const parameters = names.split(",").map((parameter) => parameter.trim())
      .filter((parameter) => parameter !== "")
      .map((parameter) =>
        parameter === "..." ? "__VA_ARGS__" : parameter.replace(/\s*\.\.\.$/, "")
      );
    const isVariadic = names.trim().endsWith("...");
    this.#functions.set(name, { parameters, isVariadic, body: body.trim() });
  }

  /** A function-like macro with one definition. The whole source must have been read. */
  functionLike(name: string): FunctionMacro | undefined {
    return this.#functions.get(name);
  }

  /** The body of an object-like macro. */
  bodyOf(name: string): string | undefined {
    return this.#bodies.get(name);
  }

  look(name: string): Macro {
    return this.#macros.get(name) ??
      (this.#hasUnseenHeader || RESERVED.test(name) ? "unknown" : "undefined");
  }

  /**
   * The words that a word of the source stands for, with one space between them; the word itself if
   * it is no object-like macro. The whole source must have been read.
   */
  expand(word: string): string {
    if (!this.#bodies.has(word)) return word;
    let expansion = this.#expansions.get(word);
    if (expansion === undefined) this.#expansions.set(word, expansion = this.#expansionOf(word));
    return expansion;
  }

  #expansionOf(word: string): string {
    const pending = [word];
    const result: string[] = [];
    for (let step = 0; pending.length > 0 && step < MAX_EXPANSIONS; step++) {
      const text = pending.pop()!;
      const body = this.#bodies.get(text);
      const words = body === undefined || body === text ? undefined : wordsOf(body);
      if (words === undefined) result.push(text);
      else if (words.length + pending.length + result.length > MAX_WORDS) return word;
      else pending.push(...words.toReversed());
    }
    return pending.length > 0 ? word : result.join(" ");
  }

  isDefined(name: string): boolean | undefined {
    const macro = this.look(name);
    return macro === "unknown" ? undefined : macro !== "undefined";
  }

  /** The value of an integer expression; undefined if it depends on anything unknown. */
  valueOf(text: string, depth = 0): bigint | undefined {
    this.#charactersLeft -= 1 + text.length;
    if (this.#charactersLeft < 0) return undefined;
    return evaluate(wordsOf(text), this, depth);
  }
}

/** Signs of several characters that the tokenizer cuts up. */
const JOINED = new Set(["||", "!=", ">>"]);

function wordsOf(text: string): string[] {
  const result: string[] = [];
  let end = -1;
  for (const token of tokenize(text).filter(isSignificant)) {
    const joined = token.start === end ? result.at(-1)! + token.text : "";
    if (JOINED.has(joined)) result[result.length - 1] = joined;
    else result.push(token.text);
    end = token.end;
  }
  return result;
}

// ---- Conditions ----------------------------------------------------------------------------------

type Value = bigint | undefined;

/** Binary operators: their precedence, and their result of known values. */
const OPERATORS: Readonly<
  Record<string, readonly [number, (left: bigint, right: bigint) => Value]>
> = {
  "||": [1, (left, right) => BigInt(left !== 0n || right !== 0n)],
  "&&": [2, (left, right) => BigInt(left !== 0n && right !== 0n)],
  "==": [3, (left, right) => BigInt(left === right)],
  "!=": [3, (left, right) => BigInt(left !== right)],
  "<": [4, (left, right) => BigInt(left < right)],
  ">": [4, (left, right) => BigInt(left > right)],
  "<=": [4, (left, right) => BigInt(left <= right)],
  ">=": [4, (left, right) => BigInt(left >= right)],
  "<<": [5, (left, right) => left << BigInt.asUintN(6, right)],
  ">>": [5, (left, right) => left >> BigInt.asUintN(6, right)],
  "+": [6, (left, right) => left + right],
  "-": [6, (left, right) => left - right],
  "*": [7, (left, right) => left * right],
  "/": [7, (left, right) => right === 0n ? undefined : left / right],
  "%": [7, (left, right) => right === 0n ? undefined : left % right],
};

/** The value of an expression's words; undefined also if they are no expression. */
function evaluate(words: readonly string[], macros: MacroTable, outerDepth: number): Value {
  let [at, depth] = [0, outerDepth];
  const binary = (least: number): Value => {
    let left = operand();
    while (true) {
      const word = words[at] ?? "";
      const [precedence, calculate] = Object.hasOwn(OPERATORS, word) ? OPERATORS[word]! : [0];
      if (precedence < least || calculate === undefined) return left;
      at++;
      const right = binary(precedence + 1);
      // One known side can be enough.
      if (word === "&&" && (left === 0n || right === 0n)) left = 0n;
      else if (word === "||" && ((left ?? 0n) !== 0n || (right ?? 0n) !== 0n)) left = 1n;
      else if (left === undefined || right === undefined) left = undefined;
      else {
        const value = calculate(left, right);
        left = value === undefined ? undefined : BigInt.asIntN(64, value);
      }
    }
  };

  const operand = (): Value => {
    const word = words[at++];
    if (word === undefined || ++depth > MAX_DEPTH) {
      at = words.length + 1;
      return undefined;
    }
    const value = unary(word);
    depth--;
    return value;
  };

  const unary = (word: string): Value => {
    if (word === "(") {
      const value = binary(1);
      return words[at++] === ")" ? value : undefined;
    }
    if (word === "!" || word === "-") {
      const value = operand();
      return value === undefined ? undefined : word === "!" ? BigInt(value === 0n) : -value;
    }
    if (word === "defined") {
      const isBracketed = words[at] === "(";
      const isDefined = macros.isDefined(words[isBracketed ? at + 1 : at] ?? "");
      at += isBracketed ? 3 : 1;
      return isDefined === undefined ? undefined : BigInt(isDefined);
    }
    if (/^[0-9]/.test(word)) return integer(word);
    if (words[at] === "(") {
      // Calls such as __has_include(…) are not evaluated.
      for (let open = 0; at < words.length; at++) {
        open += words[at] === "(" ? 1 : words[at] === ")" ? -1 : 0;
        if (open === 0) break;
      }
      at++;
      return undefined;
    }
    const macro = macros.look(word);
    if (macro === "undefined") return word === "true" ? 1n : 0n;
    return typeof macro === "string" ? undefined : macros.valueOf(macro.body, depth);
  };

  const value = binary(1);
  return at === words.length ? value : undefined;
}

function integer(word: string): Value {
  const digits = word.replaceAll("'", "").replace(/[uUlLzZ]+$/, "");
  if (/^0[0-7]+$/.test(digits)) return BigInt(`0o${digits.slice(1)}`);
  return /^(?:0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)$/.test(digits) ? BigInt(digits) : undefined;
}

/** Whether the lines behind `#if`, `#ifdef`, `#ifndef` or an `#elif` count; undefined if unknown. */
export function evaluateCondition(
  { name, rest }: Directive,
  macros: MacroTable,
): boolean | undefined {
  if (!name.endsWith("def")) {
    const value = macros.valueOf(rest);
    return value === undefined ? undefined : value !== 0n;
  }
  const isDefined = macros.isDefined(/^[\w$]+/.exec(rest)?.[0] ?? "__");
  return isDefined === undefined ? undefined : isDefined === !name.endsWith("ndef");
}

// ---- Tokens --------------------------------------------------------------------------------------

export interface ActiveToken extends Token {
  /** Whether it depends on an unknown condition. */
  readonly conditional: boolean;
}

export interface IncludeDirective {
  /** The name, without its brackets or quotes. */
  readonly header: string;
  readonly token: Token;
}

/** An `#if` without its `#endif`. */
interface Conditional {
  /** Whether its lines count as a whole. */
  readonly outer: boolean | undefined;
  /** Whether a branch was certainly taken. */
  isTaken: boolean;
  /** Whether a branch may have been taken. */
  isDoubtful: boolean;
  /** The first token of each branch in the result. */
  readonly branches: number[];
}

/** Headers of the language, of C and of CUDA, which define no macro that sources query. */
const LANGUAGE_HEADERS = new RegExp(
  "^(?:" + [
    "(?:cuda|cuda_\\w+|cuComplex|device_\\w+|vector_\\w+|sm_\\w+|driver_types|math_constants|mma)\\.h",
    "(?:cooperative_groups(?:/\\w+)?|crt/\\w+)\\.h",
    "(?:stdint|stdio|stdbool|stddef|float|limits|math|assert|string)\\.h",
    "c(?:stdint|stdio|stddef|math|assert|float|limits|string)",
    "(?:type_traits|limits|utility|tuple|array|initializer_list|new|ratio|version|bit)",
  ].join("|") + ")$",
);

/** A text as the preprocessor leaves it: the source, or a header of the program. */
export interface ReadText {
  /** The header's name; empty for the source. */
  readonly name: string;
  readonly text: string;
  readonly allTokens: readonly Token[];
  readonly tokens: ActiveToken[];
  readonly includes: IncludeDirective[];
  /** The text that includes it, and the tokens in front: all of them if brackets are open there. */
  readonly from?: ReadText;
  readonly before: readonly ActiveToken[];
  /** The number of open brackets before each token, and behind the last. */
  readonly depths: number[];
}

/**
 * Leaves out the tokens that conditions leave out. If a condition is unknown all its branches stay,
 * unless one opens brackets that it does not close: such branches begin the same declaration in
 * several ways, and only the first stays.
 */
export class Preprocessor {
  /** The texts in the order of their ends: each header once, and the source last. */
  readonly texts: ReadText[] = [];
  readonly #macros: MacroTable;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #seen = new Map<string, boolean>();
  readonly #open: Conditional[] = [];
  /** Whether lines count; undefined if that is unknown. */
  #state: boolean | undefined = true;

  constructor(macros: MacroTable, headers: ReadonlyMap<string, string>) {
    this.#macros = macros;
    this.#headers = headers;
  }

  /** Reads a text: a header of this name, or the source itself. */
  read(text: string, name = "", from?: ReadText): void {
    const allTokens = tokenize(text);
    const before = from?.tokens.slice(from.depths.at(-1) === 0 ? -1 : 0) ?? [];
    const parts = { name, text, allTokens, tokens: [], includes: [], before, depths: [0] };
    const into: ReadText = from === undefined ? parts : { ...parts, from };
    const directives = allTokens.filter(({ kind }) => kind === "directive")
      .map(({ text }) => readDirective(text));
    let passed = 0;
    const outer = this.#open.length;
    for (const token of allTokens) {
      if (token.kind === "directive") {
        this.#directive(token, directives[passed]!, directives[++passed], into);
      } else if (this.#state !== false && isSignificant(token)) {
        const { kind, text, start, end } = token;
        into.tokens.push({ kind, text, start, end, conditional: this.#state === undefined });
        const step = /^[{(]$/.test(text) ? 1 : /^[)}]$/.test(text) ? -1 : 0;
        into.depths.push(into.depths.at(-1)! + step);
      }
    }
    // A header's conditions end with it.
    while (from !== undefined && this.#open.length > outer) this.#close(into);
    this.texts.push(into);
  }

  #directive(
    token: Token,
    directive: Directive,
    next: Directive | undefined,
    into: ReadText,
  ): void {
    switch (directive.name) {
      case "if":
      case "ifdef":
      case "ifndef":
        this.#open.push({ outer: this.#state, isTaken: false, isDoubtful: false, branches: [] });
        return this.#enter(into, () => this.#condition(directive, next));
      case "elif":
      case "elifdef":
      case "elifndef":
        return this.#enter(into, () => evaluateCondition(directive, this.#macros));
      case "else":
        return this.#enter(into, () => true);
      case "endif":
        return this.#close(into);
      case "define":
      case "undef":
        if (this.#state !== false) this.#macros.apply(directive, this.#state === true);
        return;
      case "include":
        return this.#include(directive.rest, token, into);
    }
  }

  #condition(directive: Directive, next: Directive | undefined): boolean | undefined {
    const value = evaluateCondition(directive, this.#macros);
    if (value !== undefined || directive.name !== "ifndef" || next?.name !== "define") return value;
    // The guard of a header, or a default.
    const macro = /^[\w$]+/.exec(directive.rest)?.[0];
    return macro === /^[\w$]+/.exec(next.rest)?.[0] ? true : undefined;
  }

  /** Begins a branch of the innermost `#if`. */
  #enter({ tokens }: ReadText, condition: () => boolean | undefined): void {
    const conditional = this.#open.at(-1);
    if (conditional === undefined) return;
    const isExcluded = conditional.outer === false || conditional.isTaken;
    const value = isExcluded ? false : condition();
    if (value === false) {
      this.#state = false;
      return;
    }
    const isCertain = value === true && !conditional.isDoubtful;
    if (isCertain) conditional.isTaken = true;
    else conditional.isDoubtful = true;
    this.#state = isCertain ? conditional.outer : undefined;
    conditional.branches.push(tokens.length);
  }

  #close({ tokens, depths }: ReadText): void {
    const conditional = this.#open.pop();
    if (conditional === undefined) return;
    this.#state = conditional.outer;
    const { branches } = conditional;
    const isBalanced = branches.every((first, index) =>
      depths[first] === depths[branches[index + 1] ?? tokens.length]
    );
    if (branches.length < 2 || isBalanced) return;
    tokens.length = branches[1]!;
    depths.length = branches[1]! + 1;
  }

  #include(rest: string, token: Token, from: ReadText): void {
    const [, angled, quoted] = /^(?:<([^>]*)>|"([^"]*)")/.exec(rest) ?? [];
    const header = angled ?? quoted;
    if (header !== undefined) from.includes.push({ header, token });
    if (this.#state === false) return;
    if (header === undefined || !this.#readHeader(header, from)) this.#macros.unseenHeader();
  }

  /** Takes the macros of a header, and returns whether it is known. */
  #readHeader(header: string, from: ReadText): boolean {
    // A header beside the one that includes it comes first.
    const beside = join(dirname(from.name), header);
    const name = this.#headers.has(beside) ? beside : header;
    const text = this.#headers.get(name);
    const known = this.#seen.get(name);
    if (known !== undefined) return known;
    const isSeen = text !== undefined || isHostHeader(name) || LANGUAGE_HEADERS.test(name);
    this.#seen.set(name, isSeen);
    if (text !== undefined) this.read(text, name, from);
    return isSeen;
  }
}
