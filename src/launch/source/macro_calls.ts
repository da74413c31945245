/**
 * Replaces macros in tokens as the preprocessor does (C++17, [cpp.replace]).
 *
 * @module
 */

import { type Token, tokenize } from "../signature/tokens.ts";
import type { ActiveToken, FunctionMacro, MacroTable } from "./preprocessor.ts";

/** The maximum number of tokens that all expansions of a source read. */
const MAX_TOKENS = 1 << 18;
const MAX_DEPTH = 64;

interface Part extends Pick<Token, "kind" | "text"> {
  /** Whether white space is in front. */
  readonly isSpaced: boolean;
  /** The macros that it comes from, which are not replaced in it again. */
  readonly hidden: ReadonlySet<string>;
}

/** Tokens without macros. All lie where the first of the replaced tokens lies. */
export interface ExpandedTokens {
  readonly tokens: readonly ActiveToken[];
  /** The text of tokens between two. */
  textOf(first: number, last: number): string;
}

interface Call {
  /** The tokens of each parameter. */
  readonly values: ReadonlyMap<string, Part[]>;
  /** The number of tokens from the first parenthesis to the last. */
  readonly length: number;
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** Thrown for an expansion that is left to the compiler. */
class Unsupported extends Error {}

export class MacroExpander {
  readonly #macros: MacroTable;
  #tokensLeft = MAX_TOKENS;

  /** The whole source must have been read. */
  constructor(macros: MacroTable) {
    this.#macros = macros;
  }

  /** Whether a call of a known macro begins at a token. */
  isCall(tokens: readonly ActiveToken[], at: number): boolean {
    return tokens[at + 1]?.text === "(" &&
      this.#macros.functionLike(tokens[at]!.text) !== undefined;
  }

  /** Expands all macros in tokens of a source; undefined if that is left to the compiler. */
  expand(tokens: readonly ActiveToken[]): ExpandedTokens | undefined {
    const { start, end } = tokens[0]!;
    const conditional = tokens.some((token) => token.conditional);
    const parts = tokens.map(({ kind, text, start }, index): Part => {
      const isSpaced = index > 0 && tokens[index - 1]!.end < start;
      return { kind, text, isSpaced, hidden: NO_NAMES };
    });
    try {
      const expanded = this.#run(parts, 0);
      return {
        tokens: expanded.map(({ kind, text }) => ({ kind, text, start, end, conditional })),
        textOf: (first, last) => joined(expanded.slice(first, last + 1)),
      };
    } catch (error) {
      if (error instanceof Unsupported) return undefined;
      throw error;
    }
  }

  #count(tokens: number): void {
    this.#tokensLeft -= tokens;
    if (this.#tokensLeft < 0) throw new Unsupported();
  }

  #run(parts: readonly Part[], depth: number): Part[] {
    if (depth > MAX_DEPTH) throw new Unsupported();
    const pending = parts.toReversed();
    const result: Part[] = [];
    for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
      this.#count(1);
      const replaced = this.#replaced(part, pending, depth);
      if (replaced === undefined) {
        result.push(part);
        continue;
      }
      const hidden = new Set([...part.hidden, part.text]);
      for (let index = replaced.length - 1; index >= 0; index--) {
        const one = replaced[index]!;
        const { isSpaced } = index === 0 ? part : one;
        const isNew = one.hidden === NO_NAMES;
        pending.push({ ...one, isSpaced, hidden: isNew ? hidden : one.hidden.union(hidden) });
      }
    }
    return result;
  }

  /** The tokens in place of a macro, whose arguments it takes from a stack. */
  #replaced({ kind, text, hidden }: Part, pending: Part[], depth: number): Part[] | undefined {
    if (kind !== "word" || hidden.has(text)) return undefined;
    const macro = this.#macros.functionLike(text);
    const call = macro && this.#callOn(pending, macro);
    if (macro !== undefined && call !== undefined) {
      pending.length -= call.length;
      return this.#substituted(macro, call.values, depth);
    }
    const body = this.#macros.bodyOf(text);
    return body === undefined ? undefined : partsOf(body);
  }

  /** The call of a macro on top of a stack of tokens. */
  #callOn(pending: readonly Part[], macro: FunctionMacro): Call | undefined {
    const { parameters, isVariadic } = macro;
    if (pending.at(-1)?.text !== "(") return undefined;
    const found: Part[][] = [[]];
    let length = 1;
    for (let open = 1; open > 0; length++) {
      const part = pending.at(-1 - length);
      if (part === undefined) return undefined;
      this.#count(1);
      open += part.text === "(" ? 1 : part.text === ")" ? -1 : 0;
      const isLast = isVariadic && found.length === parameters.length;
      if (open === 1 && part.text === "," && !isLast) found.push([]);
      else if (open > 0) found.at(-1)!.push(part);
    }
    const isEmpty = found.length === 1 && found[0]!.length === 0 && parameters.length === 0;
    const least = parameters.length - (isVariadic ? 1 : 0);
    if (!isEmpty && (found.length > parameters.length || found.length < least)) return undefined;
    const values = parameters.map((name, index) => [name, found[index] ?? []] as const);
    return { values: new Map(values), length };
  }

  #substituted(
    { body: text, parameters, isVariadic }: FunctionMacro,
    values: Call["values"],
    depth: number,
  ): Part[] {
    const body = partsOf(text);
    if (body.some((part) => part.text === "__VA_OPT__")) throw new Unsupported();
    const valueAt = (at: number) => values.get(body[at]?.text ?? "");
    const isPaste = (at: number) => body[at]?.text === "#" && body[at + 1]?.text === "#";
    const result: Part[] = [];
    for (let at = 0; at < body.length; at++) {
      const part = body[at]!;
      const value = valueAt(at);
      if (isPaste(at)) {
        at += 2;
        const isRest = isVariadic && body[at]?.text === parameters.at(-1);
        paste(result, valueAt(at) ?? body.slice(at, at + 1), isRest);
      } else if (part.text === "#" && valueAt(at + 1) !== undefined) {
        const quoted = joined(valueAt(++at)!).replaceAll(/["\\]/g, "\\$&");
        result.push({ ...part, kind: "string", text: `"${quoted}"` });
      } else if (value === undefined) result.push(part);
      else {
        // Tokens that are pasted are not expanded first. One of no characters stands for none.
        const isPasted = isPaste(at + 1);
        const given = isPasted ? value : this.#run(value, depth + 1);
        const none = isPasted ? [{ ...part, text: "" }] : [];
        const { isSpaced } = part;
        for (const [index, one] of (given.length > 0 ? given : none).entries()) {
          result.push(index === 0 ? { ...one, isSpaced } : one);
        }
      }
      this.#count(1);
    }
    return result.filter((part) => part.text !== "");
  }
}

/** Joins the last token with the first of others. */
function paste(result: Part[], right: readonly Part[], isRest: boolean): void {
  const left = result.at(-1);
  const [first, ...rest] = right;
  if (isRest && left?.text === ",") {
    // An extension that nvcc has: without further arguments the comma goes too.
    if (first === undefined) result.pop();
    else for (const part of right) result.push(part);
  } else if (left !== undefined && first !== undefined) {
    result.pop();
    for (const [index, part] of partsOf(left.text + first.text).entries()) {
      result.push(index === 0 ? { ...part, isSpaced: left.isSpaced } : part);
    }
    for (const part of rest) result.push(part);
  }
}

/** The tokens of a macro's body. */
function partsOf(body: string): Part[] {
  const parts: Part[] = [];
  let isSpaced = false;
  // At the start of a line, # would begin a directive.
  for (const { kind, text } of tokenize(`,${body}`).slice(1)) {
    const isBlank = kind === "space" || kind === "comment";
    if (!isBlank) parts.push({ kind, text, isSpaced, hidden: NO_NAMES });
    isSpaced = isBlank;
  }
  return parts;
}

function joined(parts: readonly Part[]): string {
  return parts.map(({ text, isSpaced }, index) => isSpaced && index > 0 ? ` ${text}` : text)
    .join("");
}
