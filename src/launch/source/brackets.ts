/**
 * Which bracket closes which.
 *
 * @module
 */

import type { ActiveToken } from "./active_tokens.ts";

const CLOSES: ReadonlyMap<string, string> = new Map([[")", "("], ["]", "["], ["}", "{"]]);

/** What stands for "none" among positions. */
export const NONE = -1;

/**
 * For each token the position of the bracket that belongs to it, or {@linkcode NONE}.
 *
 * A brace closes whatever round and square brackets are open inside of it; those have no partner
 * then, nor has a bracket that closes nothing.
 */
export function matchBrackets(tokens: readonly ActiveToken[]): Int32Array {
  const partners = new Int32Array(tokens.length).fill(NONE);
  const open: number[] = [];
  let openBraces = 0;
  for (const [position, { kind, text }] of tokens.entries()) {
    if (kind !== "sign") continue;
    if (text === "(" || text === "[" || text === "{") {
      open.push(position);
      if (text === "{") openBraces++;
      continue;
    }
    const opening = CLOSES.get(text);
    if (opening === undefined) continue;
    if (opening === "{" && openBraces > 0) {
      while (tokens[open.at(-1)!]!.text !== "{") open.pop();
      openBraces--;
    } else if (open.length === 0 || tokens[open.at(-1)!]!.text !== opening) continue;
    const start = open.pop()!;
    partners[start] = position;
    partners[position] = start;
  }
  return partners;
}

/**
 * The position of the `>` that closes the `<` at `start`; {@linkcode NONE} where there is none
 * before `end`, or before what ends a declaration: it never looks further than the declaration
 * goes, so that looking again in the next one costs no more.
 */
export function closingAngle(
  tokens: readonly ActiveToken[],
  partners: Int32Array,
  start: number,
  end: number,
): number {
  let open = 0;
  for (let at = start; at < end; at++) {
    const { kind, text } = tokens[at]!;
    if (kind !== "sign") continue;
    if (text === "<") open++;
    else if (text === ">" && --open === 0) return at;
    else if (text === ";" || text === "{") return NONE;
    else if (text === "(" || text === "[") {
      if (partners[at] === NONE) return NONE;
      at = partners[at]!;
    }
  }
  return NONE;
}

/**
 * What {@linkcode closingAngle} would find of each `<` between two tokens that is in no other
 * bracket, in one pass: that of a parameter list may hold thousands, and none that is closed.
 */
export function matchAngles(
  tokens: readonly ActiveToken[],
  partners: Int32Array,
  first: number,
  end: number,
): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  const open: number[] = [];
  for (let at = first; at < end; at++) {
    const { kind, text } = tokens[at]!;
    if (kind !== "sign") continue;
    if (text === "<") open.push(at);
    else if (text === ">" && open.length > 0) found.set(open.pop()!, at);
    else if (text === ";" || text === "{") open.length = 0;
    else if (text === "(" || text === "[") {
      if (partners[at] === NONE) open.length = 0;
      else at = partners[at]!;
    }
  }
  return found;
}
