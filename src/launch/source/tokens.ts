/**
 * C++ cut into tokens, as far as that needs no preprocessor.
 *
 * Every character belongs to exactly one token, the time is linear in the length of the source, and
 * no source is refused: what is wrong with it, the compiler says.
 *
 * @module
 */

/** What a token is. */
export type TokenKind =
  /** White space, line breaks and spliced lines. */
  | "space"
  /** A comment of either form. */
  | "comment"
  /** A line of the preprocessor with all its continuations, without the last line break. */
  | "directive"
  /** A name or a keyword. */
  | "word"
  /** A number. */
  | "number"
  /** A string with its prefix, raw ones too. */
  | "string"
  /** A character literal with its prefix. */
  | "character"
  /** One sign; several where cutting them up would change what brackets mean. */
  | "sign";

/** A piece of a source. */
export interface Token {
  /** What it is. */
  readonly kind: TokenKind;
  /** Its characters. */
  readonly text: string;
  /** Where it starts in the source. */
  readonly start: number;
  /** Where the next token starts. */
  readonly end: number;
}

/** Signs that are no brackets though they hold the characters of some; longer ones first. */
const SIGNS: readonly string[] = ["<<<", "<<=", "<=>", "->", "<<", "<=", ">=", "::", "==", "&&"];

const SIGN_STARTS = new Set(SIGNS.map((sign) => sign.charCodeAt(0)));

const STRING_PREFIX = /^(?:u8|u|U|L)?$/;
const RAW_PREFIX = /^(?:u8|u|U|L)?R$/;
/** Most characters between the quote and the parenthesis of a raw string. */
const LONGEST_DELIMITER = 16;

const WHITE_SPACE = /\s+/y;
// Which characters beyond ASCII names may have is the compiler's to judge.
const WORD = /[A-Za-z_$\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
// A digit separator is part of a number only between digits: 1'000.
const NUMBER = /\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*/y;

const [QUOTE, APOSTROPHE, BACKSLASH, NEWLINE] = [0x22, 0x27, 0x5c, 0x0a];
const [SLASH, STAR, HASH, DOT] = [0x2f, 0x2a, 0x23, 0x2e];

/** Cuts a source up. */
export function tokenize(source: string): Token[] {
  return new Tokenizer(source).run();
}

class Tokenizer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  /** Whether nothing but white space and comments stands before this on the line. */
  #lineStarts = true;
  /** The text of the last token that is neither space nor comment. */
  #last = "";

  constructor(source: string) {
    this.#source = source;
  }

  run(): Token[] {
    while (this.#at < this.#source.length) {
      const start = this.#at;
      const kind = this.#next(start);
      this.#tokens.push({
        kind,
        text: this.#source.slice(start, this.#at),
        start,
        end: this.#at,
      });
      this.#note(kind, start);
    }
    return this.#tokens;
  }

  #note(kind: TokenKind, start: number): void {
    if (kind === "space") {
      const text = this.#source.slice(start, this.#at);
      // A spliced line break, \ and newline, starts no line.
      if (text.startsWith("\\") ? false : text.includes("\n")) this.#lineStarts = true;
    } else if (kind !== "comment") {
      this.#lineStarts = false;
      this.#last = this.#source.slice(start, Math.min(this.#at, start + LONGEST_DELIMITER));
    }
  }

  #next(start: number): TokenKind {
    const code = this.#source.charCodeAt(start);
    if (this.#matches(WHITE_SPACE)) return "space";
    if (code === SLASH) {
      const following = this.#source.charCodeAt(start + 1);
      if (following === SLASH) return this.#logicalLine(start + 2, "comment");
      if (following === STAR) return this.#blockComment(start);
    }
    if (code === BACKSLASH) return this.#splice(start);
    if (code === HASH && this.#lineStarts) return this.#directive(start);
    if (code === QUOTE) return this.#quoted(start, QUOTE);
    if (code === APOSTROPHE) return this.#quoted(start, APOSTROPHE);
    if ((isDigit(code) || code === DOT) && this.#matches(NUMBER)) return "number";
    if (this.#matches(WORD)) return this.#wordOrLiteral(start);
    return this.#sign(start, code);
  }

  #matches(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#source)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  /** A backslash that ends its line joins it to the next one; any other is a stray sign. */
  #splice(start: number): TokenKind {
    const width = lineBreakAt(this.#source, start + 1);
    this.#at = start + 1 + width;
    return width > 0 ? "space" : "sign";
  }

  /** Goes to the line break that ends the line and all lines spliced to it. */
  #logicalLine(from: number, kind: TokenKind): TokenKind {
    this.#at = logicalLineEnd(this.#source, from);
    return kind;
  }

  #blockComment(start: number): TokenKind {
    const end = this.#source.indexOf("*/", start + 2);
    this.#at = end < 0 ? this.#source.length : end + 2;
    return "comment";
  }

  /** A directive ends with its line, but comments and strings in it do not end there. */
  #directive(start: number): TokenKind {
    const source = this.#source;
    let at = start + 1;
    while (at < source.length) {
      const code = source.charCodeAt(at);
      if (code === NEWLINE) break;
      if (code === BACKSLASH) at += 1 + Math.max(1, lineBreakAt(source, at + 1));
      else if (code === QUOTE || code === APOSTROPHE) at = literalEnd(source, at, code);
      else if (code === SLASH && source.charCodeAt(at + 1) === SLASH) {
        at = logicalLineEnd(source, at + 2);
      } else if (code === SLASH && source.charCodeAt(at + 1) === STAR) {
        const end = source.indexOf("*/", at + 2);
        at = end < 0 ? source.length : end + 2;
      } else at++;
    }
    this.#at = Math.min(at, source.length);
    return "directive";
  }

  #quoted(start: number, quote: number): TokenKind {
    this.#at = literalEnd(this.#source, start, quote);
    return quote === QUOTE ? "string" : "character";
  }

  /** A word may be the prefix of the literal that follows it. */
  #wordOrLiteral(start: number): TokenKind {
    const following = this.#source.charCodeAt(this.#at);
    if (following !== QUOTE && following !== APOSTROPHE) return "word";
    const word = this.#source.slice(start, this.#at);
    if (following === QUOTE && RAW_PREFIX.test(word)) return this.#rawString();
    if (!STRING_PREFIX.test(word)) return "word";
    return this.#quoted(this.#at, following);
  }

  #rawString(): TokenKind {
    const quote = this.#at;
    const head = this.#source.slice(quote + 1, quote + 2 + LONGEST_DELIMITER);
    const delimiter = /^[^\s()\\]*(?=\()/.exec(head)?.[0];
    if (delimiter === undefined) return this.#quoted(quote, QUOTE);
    const close = `)${delimiter}"`;
    const end = this.#source.indexOf(close, quote + delimiter.length + 2);
    this.#at = end < 0 ? this.#source.length : end + close.length;
    return "string";
  }

  #sign(start: number, code: number): TokenKind {
    const found = SIGN_STARTS.has(code)
      ? SIGNS.find((sign) => this.#source.startsWith(sign, start))
      : undefined;
    // In `operator<<<int>(…)` the operator's name ends before the list of template arguments.
    const sign = found === "<<<" && this.#last === "operator" ? "<<" : found;
    this.#at = start + (sign?.length ?? 1);
    return "sign";
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** How many characters the line break at this place has; 0 where there is none. */
function lineBreakAt(source: string, at: number): number {
  if (source.charCodeAt(at) === NEWLINE) return 1;
  return source.startsWith("\r\n", at) ? 2 : 0;
}

function logicalLineEnd(source: string, from: number): number {
  let at = from;
  while (true) {
    const end = source.indexOf("\n", at);
    if (end < 0) return source.length;
    const last = source.charCodeAt(end - 1) === 0x0d ? end - 2 : end - 1;
    if (last < from || source.charCodeAt(last) !== BACKSLASH) return end;
    at = end + 1;
  }
}

/** Where a literal that starts with this quote ends; one that is not closed ends with its line. */
function literalEnd(source: string, start: number, quote: number): number {
  let at = start + 1;
  while (at < source.length) {
    const code = source.charCodeAt(at);
    if (code === NEWLINE) return at;
    if (code === BACKSLASH) at += 1 + Math.max(1, lineBreakAt(source, at + 1));
    else if (code === quote) return at + 1;
    else at++;
  }
  return source.length;
}

/** Whether a token means something to the language itself. */
export function isSignificant({ kind }: Token): boolean {
  return kind !== "space" && kind !== "comment" && kind !== "directive";
}
