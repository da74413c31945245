/**
 * Macros replaced by what they stand for, as the preprocessor does it, so that what they declare can
 * be found: `DEFINE_KERNEL(add, float)`.
 *
 * It is done here and not by a compiler's preprocessor, as NVRTC has none that could be asked, and
 * starting one would take a permission, and as long as all else that is read of a source.
 *
 * @module
 */

import type { ActiveToken } from "./active_tokens.ts";
import { NONE } from "./brackets.ts";
import { type BodyToken, bodyTokens, type MacroDefinition } from "./macro_definition.ts";
import type { MacroTable } from "./macros.ts";

/** A token on its way: with the macros that it came from, which do not stand for anything in it. */
interface Expanding extends ActiveToken {
  readonly isSpaced: boolean;
  readonly within: readonly string[];
}

/** A call of a macro: where it stands, and the macros that it came from. */
interface Call {
  readonly token: Expanding;
  readonly within: readonly string[];
}

/** More steps than this is a source made to take forever: what is left stays as it is. */
const MOST_STEPS = 1 << 18;
/** Arguments in each other deeper than this stay as they are. */
const DEEPEST = 64;

/**
 * The tokens of a source with its macros replaced, but those in function bodies. What stands for a
 * macro is where its call was.
 *
 * @param partners The bracket that belongs to each token.
 * @returns The tokens themselves where there is no macro.
 */
export function expandMacros(
  tokens: readonly ActiveToken[],
  partners: Int32Array,
  macros: MacroTable,
): readonly ActiveToken[] {
  const isMacro = ({ kind, text, start }: ActiveToken) =>
    kind === "word" && macros.definitionAt(text, start) !== undefined;
  if (!tokens.some(isMacro)) return tokens;
  const expander = new MacroExpander(macros);
  const result: ActiveToken[] = [];
  let first = 0;
  for (let at = 0; at < tokens.length; at++) {
    if (!opensBody(tokens, at) || partners[at] === NONE) continue;
    append(result, expander.expand(tokens.slice(first, at)));
    append(result, tokens.slice(at, partners[at]! + 1));
    at = partners[at]!;
    first = at + 1;
  }
  append(result, expander.expand(tokens.slice(first)));
  return result;
}

/** Not by `push(...)`, which has an argument for each. */
function append<Item>(tokens: Item[], more: readonly Item[]): void {
  for (const token of more) tokens.push(token);
}

/** Whether a token begins a function's body, also if a macro makes the function's head. */
function opensBody(tokens: readonly ActiveToken[], at: number): boolean {
  return tokens[at]!.text === "{" && /^(?:\)|const|noexcept)$/.test(tokens[at - 1]?.text ?? "");
}

class MacroExpander {
  readonly #macros: MacroTable;
  #steps = 0;

  constructor(macros: MacroTable) {
    this.#macros = macros;
  }

  expand(tokens: readonly ActiveToken[]): ActiveToken[] {
    let end = tokens[0]?.start ?? 0;
    const input = tokens.map((token): Expanding => {
      const isSpaced = token.start > end;
      end = token.end;
      return { ...token, isSpaced, within: [] };
    });
    return this.#expanded(input, 0);
  }

  #expanded(tokens: readonly Expanding[], depth: number): Expanding[] {
    // The next token is the last one: what stands for a macro is read again.
    const pending = tokens.toReversed();
    const result: Expanding[] = [];
    for (let token = pending.pop(); token !== undefined; token = pending.pop()) {
      const replacement = this.#replacement(token, pending, depth);
      if (replacement === undefined) result.push(token);
      else for (const next of replacement.toReversed()) pending.push(next);
    }
    return result;
  }

  /** What stands for a token; undefined where it stands for itself. */
  #replacement(
    token: Expanding,
    pending: Expanding[],
    depth: number,
  ): readonly Expanding[] | undefined {
    if (token.kind !== "word" || token.within.includes(token.text)) return undefined;
    const definition = this.#macros.definitionAt(token.text, token.start);
    if (definition === undefined || depth > DEEPEST || ++this.#steps > MOST_STEPS) return undefined;
    const within = [...token.within, token.text];
    if (definition.parameters === undefined) {
      return this.#substituted(definition, new Map(), { token, within }, depth);
    }
    if (pending.at(-1)?.text !== "(") return undefined;
    const close = this.#closing(pending);
    if (close === NONE) return undefined;
    const args = argumentsOf(definition, pending.slice(close + 1, -1).reverse());
    if (args === undefined) return undefined;
    // A call that ends outside of the macros that its name came from is none of theirs.
    const { end, within: around } = pending[close]!;
    const call = {
      token: { ...token, end },
      within: within.filter((name) => name === token.text || around.includes(name)),
    };
    pending.length = close;
    return this.#substituted(definition, args, call, depth);
  }

  /** Where, from the end of what is pending, the bracket closes that opens there. */
  #closing(pending: readonly Expanding[]): number {
    let open = 0;
    for (let at = pending.length - 1; at >= 0; at--) {
      if (++this.#steps > MOST_STEPS) return NONE;
      const { text } = pending[at]!;
      if (text === "(") open++;
      else if (text === ")" && --open === 0) return at;
    }
    return NONE;
  }

  #substituted(
    { body, parameters = [], isVariadic }: MacroDefinition,
    args: ReadonlyMap<string, readonly Expanding[]>,
    call: Call,
    depth: number,
  ): Expanding[] {
    const result: Expanding[] = [];
    const rest = isVariadic ? parameters.at(-1)! : undefined;
    for (let at = 0; at < body.length; at++) {
      const part = body[at]!;
      const isPasted = at > 0 && body[at - 1]!.text === "##";
      if (part.text === "##" && at > 0 && at + 1 < body.length) continue;
      if (part.text === "#" && args.has(body[at + 1]?.text ?? "")) {
        result.push(placed(asString(args.get(body[++at]!.text)!), call));
        continue;
      }
      if (part.text === "__VA_OPT__" && rest !== undefined) {
        const end = closingPart(body, at + 1);
        const inner = body.slice(at + 2, end);
        if (args.get(rest)!.length > 0) {
          const definition = { body: inner, parameters, isVariadic };
          append(result, this.#substituted(definition, args, call, depth));
        }
        at = end;
        continue;
      }
      const given = args.get(part.text);
      const isLeft = body[at + 1]?.text === "##";
      const tokens = given === undefined
        ? [placed(part, call)]
        : (isPasted || isLeft ? given : this.#expanded(given, depth + 1))
          .map((token) => moved(token, call));
      this.#steps += tokens.length;
      // `, ## __VA_ARGS__`: without arguments the comma goes, with some nothing is pasted.
      if (isPasted && part.text === rest && result.at(-1)?.text === ",") {
        if (tokens.length === 0) result.pop();
        else append(result, tokens);
      } else if (isPasted) paste(result, tokens, call);
      else if (tokens.length > 0) {
        append(result, [{ ...tokens[0]!, isSpaced: part.isSpaced }, ...tokens.slice(1)]);
      } // Holds the place of an argument without tokens, which something is pasted to.
      else if (isLeft) result.push(placed({ ...part, text: "" }, call));
    }
    const made = result.filter(({ text }) => text !== "");
    if (made.length > 0) made[0] = { ...made[0]!, isSpaced: call.token.isSpaced };
    return made;
  }
}

/** The arguments of a call by the names of parameters; undefined where there are more or fewer. */
function argumentsOf(
  { parameters = [], isVariadic }: MacroDefinition,
  tokens: readonly Expanding[],
): Map<string, readonly Expanding[]> | undefined {
  const most = isVariadic ? parameters.length : Infinity;
  const found: Expanding[][] = [[]];
  let open = 0;
  for (const token of tokens) {
    if (/^[([{]$/.test(token.text)) open++;
    else if (/^[)\]}]$/.test(token.text)) open--;
    if (token.text === "," && open === 0 && found.length < most) found.push([]);
    else found.at(-1)!.push(token);
  }
  if (parameters.length === 0 && tokens.length === 0) found.pop();
  // What takes all that is left may be left out with its comma.
  if (isVariadic && found.length === parameters.length - 1) found.push([]);
  if (found.length !== parameters.length) return undefined;
  return new Map(parameters.map((name, index) => [name, found[index]!]));
}

function closingPart(body: readonly BodyToken[], open: number): number {
  let depth = 0;
  for (let at = open; at < body.length; at++) {
    if (body[at]!.text === "(") depth++;
    else if (body[at]!.text === ")" && --depth === 0) return at;
  }
  return body.length;
}

/** A part of a body where the macro's call is. */
function placed(
  { kind, text, isSpaced }: BodyToken,
  { token: { start, end, conditional }, within }: Call,
): Expanding {
  return { kind, text, isSpaced, start, end, conditional, within };
}

/** A token of an argument where the macro's call is. */
function moved(token: Expanding, { token: { start, end }, within }: Call): Expanding {
  return { ...token, start, end, within: [...new Set([...token.within, ...within])] };
}

/** Makes one token of the last one and the first of others. */
function paste(result: Expanding[], tokens: readonly Expanding[], call: Call): void {
  const [first, ...others] = tokens;
  if (first === undefined) return;
  const { text = "", isSpaced = false } = result.pop() ?? {};
  const joined = bodyTokens(text + first.text).map((part) => placed(part, call));
  append(result, joined.map((token, index) => index === 0 ? { ...token, isSpaced } : token));
  append(result, others);
}

function asString(tokens: readonly Expanding[]): BodyToken {
  const text = tokens.map(({ text, isSpaced, kind }, index) => {
    const escaped = kind === "string" || kind === "character"
      ? text.replaceAll(/["\\]/g, "\\$&")
      : text;
    return index > 0 && isSpaced ? ` ${escaped}` : escaped;
  }).join("");
  return { kind: "string", text: `"${text}"`, isSpaced: true };
}
