/**
 * What a macro was defined as: its parameters, and the tokens that stand for it.
 *
 * @module
 */

import { isSignificant, type Token, tokenize } from "./tokens.ts";

/** A token of a macro's body. */
export interface BodyToken {
  /** What it is. */
  readonly kind: Token["kind"];
  /** Its characters. */
  readonly text: string;
  /** Whether white space or a comment stands before it. */
  readonly isSpaced: boolean;
}

/** A macro's definition. */
export interface MacroDefinition {
  /** The names of its parameters; undefined where it takes none and no brackets. */
  readonly parameters?: readonly string[];
  /** Whether the last of them takes all arguments that are left. */
  readonly isVariadic: boolean;
  /** What it stands for. */
  readonly body: readonly BodyToken[];
}

/** The name that the arguments that are left have. */
const REST = "__VA_ARGS__";

/**
 * Reads what follows a macro's name in its definition.
 *
 * @returns Undefined where it is malformed, which the compiler says.
 */
export function readDefinition(text: string): MacroDefinition | undefined {
  if (!text.startsWith("(")) return { isVariadic: false, body: bodyTokens(text) };
  const close = text.indexOf(")");
  if (close < 0) return undefined;
  const names = text.slice(1, close).split(",").map((name) => name.trim());
  if (names.length === 1 && names[0] === "") names.pop();
  const last = names.at(-1) ?? "";
  const isVariadic = last.endsWith("...");
  // `rest...`, as g++ has it, is a name for what `...` calls __VA_ARGS__.
  if (isVariadic) names[names.length - 1] = last.slice(0, -3).trim() || REST;
  if (!names.every((name) => /^[\w$]+$/.test(name))) return undefined;
  return { parameters: names, isVariadic, body: bodyTokens(text.slice(close + 1)) };
}

/** A text as tokens of a body; `##` is one of them. */
export function bodyTokens(text: string): BodyToken[] {
  const result: BodyToken[] = [];
  let isSpaced = false;
  // Behind another token: at the start of a line # would begin a directive.
  for (const token of tokenize(`;${text}`).slice(1)) {
    const before = result.at(-1);
    if (!isSignificant(token)) isSpaced = true;
    else if (token.text === "#" && before?.text === "#" && !isSpaced) {
      result[result.length - 1] = { ...before, text: "##" };
    } else {
      const { kind, text } = token;
      result.push({ kind, text, isSpaced });
      isSpaced = false;
    }
  }
  return result;
}
