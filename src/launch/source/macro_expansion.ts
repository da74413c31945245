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
import { StepBudget, StepLimitError } from "./step_budget.ts";

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

/** A macro, and what it is called with. */
interface Use {
  readonly definition: MacroDefinition;
  readonly args: ReadonlyMap<string, readonly Expanding[]>;
  readonly call: Call;
  /** In how many arguments it stands. */
  readonly depth: number;
}

/**
 * Steps that the macros of a source may take, each of a token that is made or looked at: about a
 * second. What would take more is left as it is.
 */
const MOST_STEPS = 1 << 19;
/** Arguments in each other deeper than this stay as they are. */
const DEEPEST = 64;
/** Names and characters that are gone through in the time of a step. */
const PER_STEP = 16;

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
  readonly #budget = new StepBudget(MOST_STEPS);

  constructor(macros: MacroTable) {
    this.#macros = macros;
  }

  /** Tokens with their macros replaced; as they are where that takes too many steps. */
  expand(tokens: readonly ActiveToken[]): readonly ActiveToken[] {
    let end = tokens[0]?.start ?? 0;
    const input = tokens.map((token): Expanding => {
      const isSpaced = token.start > end;
      end = token.end;
      return { ...token, isSpaced, within: [] };
    });
    try {
      return this.#expanded(input, 0);
    } catch (error) {
      if (error instanceof StepLimitError) return tokens;
      throw error;
    }
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
    if (token.kind !== "word" || depth > DEEPEST) return undefined;
    const definition = this.#macros.definitionAt(token.text, token.start);
    if (definition === undefined) return undefined;
    this.#budget.spend(1 + token.within.length / PER_STEP);
    if (token.within.includes(token.text)) return undefined;
    const within = [...token.within, token.text];
    if (definition.parameters === undefined) {
      return this.#substituted({ definition, args: new Map(), call: { token, within }, depth });
    }
    if (pending.at(-1)?.text !== "(") return undefined;
    const close = this.#closing(pending);
    if (close === NONE) return undefined;
    const args = argumentsOf(definition, pending.slice(close + 1, -1).reverse());
    if (args === undefined) return undefined;
    // A call that ends outside of the macros that its name came from is none of theirs.
    const { end, within: around } = pending[close]!;
    const names = new Set(around).add(token.text);
    const call = {
      token: { ...token, end },
      within: within.filter((name) => names.has(name)),
    };
    pending.length = close;
    return this.#substituted({ definition, args, call, depth });
  }

  /** Where, from the end of what is pending, the bracket closes that opens there. */
  #closing(pending: readonly Expanding[]): number {
    let open = 0;
    for (let at = pending.length - 1; at >= 0; at--) {
      this.#budget.spend(1);
      const { text } = pending[at]!;
      if (text === "(") open++;
      else if (text === ")" && --open === 0) return at;
    }
    return NONE;
  }

  #substituted(use: Use): Expanding[] {
    const { definition: { body, parameters = [], isVariadic }, args, call, depth } = use;
    const result: Expanding[] = [];
    const rest = isVariadic ? parameters.at(-1)! : undefined;
    const once = new Map<string, readonly Expanding[]>();
    for (let at = 0; at < body.length; at++) {
      const part = body[at]!;
      const isPasted = at > 0 && body[at - 1]!.text === "##";
      if (part.text === "##" && at > 0 && at + 1 < body.length) continue;
      if (part.text === "#" && args.has(body[at + 1]?.text ?? "")) {
        result.push(placed(this.#asString(args.get(body[++at]!.text)!), call));
        continue;
      }
      const isOptional = part.text === "__VA_OPT__" && rest !== undefined && depth <= DEEPEST;
      const end = isOptional ? closingPart(body, at + 1) : at;
      const isLeft = body[end + 1]?.text === "##";
      const given = args.get(part.text);
      const tokens = isOptional
        ? this.#optional(body.slice(at + 2, end), args.get(rest)!, use)
        : given === undefined
        ? [placed(part, call)]
        : this.#moved(isPasted || isLeft ? given : this.#expandedOnce(part.text, use, once), call);
      at = end;
      this.#budget.spend(tokens.length);
      // `, ## __VA_ARGS__`: without arguments the comma goes, with some nothing is pasted.
      if (isPasted && part.text === rest && result.at(-1)?.text === ",") {
        if (tokens.length === 0) result.pop();
        else append(result, tokens);
      } else if (isPasted) this.#paste(result, tokens, call);
      else if (tokens.length > 0) {
        append(result, [{ ...tokens[0]!, isSpaced: part.isSpaced }, ...tokens.slice(1)]);
      } // Holds the place of an argument without tokens, which something is pasted to.
      else if (isLeft) result.push(placed({ ...part, text: "" }, call));
    }
    const made = result.filter(({ text }) => text !== "");
    if (made.length > 0) made[0] = { ...made[0]!, isSpaced: call.token.isSpaced };
    return made;
  }

  /** What is in `__VA_OPT__(…)`, which is there if there are arguments that are left. */
  #optional(body: readonly BodyToken[], rest: readonly Expanding[], use: Use): Expanding[] {
    this.#budget.spend(body.length);
    if (rest.length === 0) return [];
    // One in another is an error, which the compiler says.
    return this.#substituted({
      ...use,
      definition: { ...use.definition, body },
      depth: use.depth + 1,
    });
  }

  /** An argument with its macros replaced, which is done once however often it is used. */
  #expandedOnce(
    parameter: string,
    { args, depth }: Use,
    expansions: Map<string, readonly Expanding[]>,
  ): readonly Expanding[] {
    const known = expansions.get(parameter);
    if (known !== undefined) return known;
    const given = args.get(parameter)!;
    this.#budget.spend(given.length);
    const expansion = this.#expanded(given, depth + 1);
    expansions.set(parameter, expansion);
    return expansion;
  }

  /** Tokens of an argument where the macro's call is. */
  #moved(tokens: readonly Expanding[], { token: { start, end }, within }: Call): Expanding[] {
    this.#budget.spend(tokens.length);
    // Those that came from one macro share the list.
    let before: readonly string[] | undefined;
    let both: readonly string[] = within;
    return tokens.map((token) => {
      if (token.within !== before) {
        this.#budget.spend((token.within.length + within.length) / PER_STEP);
        before = token.within;
        both = before.length === 0 ? within : [...new Set([...before, ...within])];
      }
      return { ...token, start, end, within: both };
    });
  }

  /** Makes one token of the last one and the first of others. */
  #paste(result: Expanding[], tokens: readonly Expanding[], call: Call): void {
    const [first, ...others] = tokens;
    if (first === undefined) return;
    const { text = "", isSpaced = false } = result.pop() ?? {};
    this.#budget.spend((text.length + first.text.length) / PER_STEP);
    const joined = bodyTokens(text + first.text).map((part) => placed(part, call));
    append(result, joined.map((token, index) => index === 0 ? { ...token, isSpaced } : token));
    append(result, others);
  }

  #asString(tokens: readonly Expanding[]): BodyToken {
    const text = tokens.map(({ text, isSpaced, kind }, index) => {
      this.#budget.spend(1 + text.length / PER_STEP);
      const escaped = kind === "string" || kind === "character"
        ? text.replaceAll(/["\\]/g, "\\$&")
        : text;
      return index > 0 && isSpaced ? ` ${escaped}` : escaped;
    }).join("");
    return { kind: "string", text: `"${text}"`, isSpaced: true };
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
