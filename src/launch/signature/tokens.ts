/**
 * Cuts C++ into tokens and matches its brackets, for sources and for signatures.
 *
 * Every character belongs to exactly one token, the time is linear in the length of the text, and no
 * text is refused: the compiler reports its errors.
 *
 * @module
 */

export type TokenKind =
  /** White space, line breaks and spliced lines. */
  | "space"
  | "comment"
  /** A preprocessor line with all its continuations, without the last line break. */
  | "directive"
  | "word"
  | "number"
  /** A string with its prefix, also a raw one. */
  | "string"
  | "character"
  /** One sign, or several that would otherwise look like brackets. */
  | "sign";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const COMMENT = String.raw`//(?:[^\n\\]+|\\(?:\r?\n)?)*|/\*[^]*?(?:\*/|$)`;
const STRING = String.raw`"(?:[^"\\\n]+|\\(?:\r\n|[^]|$))*"?`;
const CHARACTER = STRING.replaceAll('"', "'");
const PREFIX = "(?:u8|[uUL])?";

// A kind of token for each group, in order.
const KINDS: readonly TokenKind[] = ["space", "comment", "string", "character", "number", "word"];
const TOKEN = new RegExp(
  [
    String.raw`((?:\s+|\\\r?\n)+)`,
    `(${COMMENT})`,
    String
      .raw`(${PREFIX}R"(?<delimiter>[^\s()\\]{0,16})\([^]*?(?:\)\k<delimiter>"|$)|${PREFIX}${STRING})`,
    `(${PREFIX}${CHARACTER})`,
    // A digit separator belongs to a number only between digits: 1'000.
    String.raw`(\.?[0-9](?:[eEpP][+-]|'\w|[\w.])*)`,
    String.raw`([A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*)`,
    // In `operator<<<int>(…)` the operator's name ends before the template arguments.
    String.raw`(?<!\boperator\s*)<<<|<<=|<=>|->|<<|<=|>=|::|==|&&|[^]`,
  ].join("|"),
  "y",
);
const DIRECTIVE = new RegExp(
  String.raw`#(?:[^\n"'/\\]+|${COMMENT}|${STRING}|${CHARACTER}|\\\r?\n|[^\n])*`,
  "y",
);

export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let startsLine = true;
  for (let start = 0, end: number; start < text.length; start = end) {
    const isDirective: boolean = startsLine && text[start] === "#";
    const pattern: RegExp = isDirective ? DIRECTIVE : TOKEN;
    pattern.lastIndex = start;
    const [found, ...groups] = pattern.exec(text)!;
    const kind = isDirective ? "directive" : kindOf(groups);
    end = start + found.length;
    tokens.push({ kind, text: found, start, end });
    if (kind === "space") startsLine ||= found.replaceAll(/\\\r?\n/g, "").includes("\n");
    else if (kind !== "comment") startsLine = false;
  }
  return tokens;
}

function kindOf([space, comment, string, _delimiter, ...others]: readonly unknown[]): TokenKind {
  const index = [space, comment, string, ...others].findIndex((group) => group !== undefined);
  return KINDS[index] ?? "sign";
}

/** Whether the language itself sees a token. */
export function isSignificant({ kind }: Token): boolean {
  return kind !== "space" && kind !== "comment" && kind !== "directive";
}

/**
 * The text of significant tokens, spaced as in their source: the signs of operators such as `>>` and
 * `!=` are tokens of their own.
 */
export function textOfTokens(tokens: readonly Token[]): string {
  const isNext = (token: Token, at: number) => at === 0 || tokens[at - 1]!.end === token.start;
  return tokens.map((token, at) => isNext(token, at) ? token.text : ` ${token.text}`).join("");
}

/** Stands for "none" among positions. */
export const NONE = -1;

const CLOSES: ReadonlyMap<string, string> = new Map([[")", "("], ["]", "["], ["}", "{"]]);

/**
 * The position of each bracket's partner, or {@linkcode NONE}.
 *
 * A brace closes the other brackets inside it, which then have no partner. Angles count as brackets
 * if `>` follows before the enclosing bracket, or the declaration, ends.
 */
export function matchBrackets(tokens: readonly { readonly text: string }[]): Int32Array {
  const partners = new Int32Array(tokens.length).fill(NONE);
  const open: number[] = [];
  let openBraces = 0;
  const top = () => tokens[open.at(-1)!]?.text;
  const dropAngles = () => {
    while (top() === "<") open.pop();
  };
  for (const [position, { text }] of tokens.entries()) {
    const opening = CLOSES.get(text);
    if (text === "{" || text === ";") dropAngles();
    if (text === "(" || text === "[" || text === "{" || text === "<") {
      open.push(position);
      if (text === "{") openBraces++;
    } else if (text === ">" || opening !== undefined) {
      if (text !== ">") dropAngles();
      if (text === "}" && openBraces > 0) {
        while (top() !== "{") open.pop();
        openBraces--;
      }
      if (top() !== (opening ?? "<")) continue;
      const start = open.pop()!;
      partners[start] = position;
      partners[position] = start;
    }
  }
  return partners;
}
