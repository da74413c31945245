/**
 * The macros that a source, its headers and its caller define, and where.
 *
 * @module
 */

import { type MacroDefinition, readDefinition } from "./macro_definition.ts";
import { StepBudget } from "./step_budget.ts";
import { isSignificant, tokenize } from "./tokens.ts";

/** What is known of a macro. */
export type MacroKnowledge =
  /** It stands for this text. */
  | { readonly state: "defined"; readonly body: string }
  /** It takes arguments. */
  | { readonly state: "function" }
  /** Nothing defines it. */
  | { readonly state: "undefined" }
  /** It may be defined by what cannot be seen. */
  | { readonly state: "unknown" };

/** A line of the preprocessor. */
export interface Directive {
  /** Its word: `define`, `ifdef`, `include`, …; empty where there is none. */
  readonly name: string;
  /** What follows, on one line and without comments. */
  readonly rest: string;
}

/** What a macro is from a place of the source on. */
interface MacroState {
  readonly from: number;
  /** What follows its name in its definition; undefined where it has none that is certain. */
  readonly text: string | undefined;
  /** The same, read when it is first needed. */
  definition: MacroDefinition | undefined;
}

/** Names that the compiler itself may define. */
const RESERVED = /^_[_A-Z]|^__/;
/** More steps than this is a macro that stands for itself by way of others. */
const MOST_EXPANSIONS = 64;
/** Macros that stand for more words than this are left alone: no type and no annotation is so long. */
const MOST_WORDS = 256;
/** Characters of macros that the conditions of a source may have read: some tenths of a second. */
const MOST_CONDITION_STEPS = 1 << 22;

/** Reads a line of the preprocessor. */
export function readDirective(text: string): Directive {
  const line = withoutComments(text.replaceAll(/\\\r?\n/g, "")).trim();
  const [, name = "", rest = ""] = /^#\s*(\w*)\s*(.*)$/s.exec(line) ?? [];
  return { name, rest };
}

function withoutComments(line: string): string {
  if (!line.includes("/")) return line;
  // The leading # makes the whole line one token; without it, it is cut up.
  const tokens = tokenize(line.replace(/^\s*#/, " "));
  return "#" + tokens.map(({ kind, text }) => kind === "comment" ? " " : text).join("");
}

/** The macros that are defined at a place of a source. */
export class MacroTable {
  readonly #macros = new Map<string, MacroKnowledge>();
  /** What each macro was defined as last, also if it no longer is. */
  readonly #bodies = new Map<string, string>();
  /** What {@linkcode MacroTable.expand} has found since the last definition. */
  readonly #expansions = new Map<string, string>();
  /** What a text consists of, cut up when it is first needed. */
  readonly #words = new Map<string, readonly string[]>();
  readonly #history = new Map<string, MacroState[]>();
  #unseenHeaders = false;

  /** Characters of macros that may still be read where conditions are decided. */
  readonly conditionSteps: StepBudget = new StepBudget(MOST_CONDITION_STEPS);

  /**
   * Starts with what the caller and the compiler define.
   *
   * @param defines Macros and their values.
   * @param absent Macros that are certainly not defined.
   */
  constructor(defines: ReadonlyMap<string, string>, absent: Iterable<string> = []) {
    for (const name of absent) this.#macros.set(name, { state: "undefined" });
    for (const [name, body] of defines) {
      this.#define(name, body);
      this.#note(name, -1, body);
    }
  }

  /** Notes that a header was included whose text is not known. */
  unseenHeader(): void {
    this.#unseenHeaders = true;
  }

  /** Takes a `#define` or `#undef` that stands at a place of the source. */
  apply({ name, rest }: Directive, at: number): void {
    const [, macro, parameters, body = ""] = /^([\w$]+)(\()?\s*(.*)$/s.exec(rest) ?? [];
    if (macro === undefined) return;
    this.#note(macro, at, name === "undef" ? undefined : rest.slice(macro.length));
    if (name === "undef") this.#macros.set(macro, { state: "undefined" });
    else if (parameters !== undefined) this.#macros.set(macro, { state: "function" });
    else this.#define(macro, body.trim());
  }

  #define(name: string, body: string): void {
    this.#macros.set(name, { state: "defined", body });
    this.#bodies.set(name, body);
    this.#expansions.clear();
  }

  #note(name: string, from: number, text: string | undefined): void {
    const state: MacroState = { from, text, definition: undefined };
    const known = this.#history.get(name);
    if (known === undefined) this.#history.set(name, [state]);
    else known.push(state);
  }

  /** Notes that a macro may or may not be defined from a place of the source on. */
  doubt({ rest }: Directive, at: number): void {
    const macro = /^[\w$]+/.exec(rest)?.[0];
    if (macro === undefined) return;
    this.#macros.set(macro, { state: "unknown" });
    this.#note(macro, at, undefined);
  }

  /** What a macro certainly is at a place of the source; undefined where it may be something else. */
  definitionAt(name: string, at: number): MacroDefinition | undefined {
    const states = this.#history.get(name);
    if (states === undefined) return undefined;
    // The last one before the place; they are in the order of the source.
    let [low, high] = [0, states.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (states[middle]!.from < at) low = middle + 1;
      else high = middle;
    }
    const state = states[low - 1];
    if (state?.text === undefined) return undefined;
    return state.definition ??= readDefinition(state.text);
  }

  /** What is known of a macro. */
  look(name: string): MacroKnowledge {
    const known = this.#macros.get(name);
    if (known !== undefined) return known;
    return this.#unseenHeaders || RESERVED.test(name)
      ? { state: "unknown" }
      : { state: "undefined" };
  }

  /**
   * The words that a word stands for where the source uses it, with one space between them; the
   * word itself where it is no macro. A macro that the source undefines later is still one here.
   */
  expand(word: string): string {
    if (!this.#bodies.has(word)) return word;
    const known = this.#expansions.get(word);
    if (known !== undefined) return known;
    const expansion = this.#expansionOf(word);
    this.#expansions.set(word, expansion);
    return expansion;
  }

  #expansionOf(word: string): string {
    const pending = [word];
    const result: string[] = [];
    for (let step = 0; pending.length > 0 && step < MOST_EXPANSIONS; step++) {
      const text = pending.pop()!;
      const body = this.#bodies.get(text);
      const words = body === undefined || body === text ? undefined : this.#wordsOf(body);
      if (words === undefined) result.push(text);
      else if (words.length + pending.length + result.length > MOST_WORDS) return word;
      else pending.push(...words.toReversed());
    }
    return pending.length > 0 ? word : result.join(" ");
  }

  #wordsOf(body: string): readonly string[] {
    const known = this.#words.get(body);
    if (known !== undefined) return known;
    const words = tokenize(body).filter(isSignificant).map((token) => token.text);
    this.#words.set(body, words);
    return words;
  }
}
