/**
 * Cuts a kernel's C signature into tokens and says where it went wrong.
 *
 * @module
 */

import { ATTRIBUTE_WORDS } from "./c_types.ts";

/** A word, a number or a sign of a signature. */
export interface SignatureToken {
  /** Its characters; empty at the end of the text. */
  readonly text: string;
  /** Where it starts, counted from 0. */
  readonly offset: number;
}

/** Most characters of a signature that an error message shows. */
const EXCERPT = 64;

// Signs of several characters are those that would else look like brackets, or like two names.
const TOKEN = /"C"|[A-Za-z_][A-Za-z_0-9]*|[0-9][A-Za-z_0-9.']*|::|<<|<=|>=|->|\/\*|[^\s]/y;
const WHITE_SPACE = /[ \t\n\r\v\f]*/y;
const COMMENT = /\/\/[^\n]*\n?|\/\*[^]*?\*\//y;
const IDENTIFIER = /^[A-Za-z_][A-Za-z_0-9]*$/;

/** Where the next token begins: behind white space and comments. */
function skipBlank(text: string, offset: number): number {
  while (true) {
    WHITE_SPACE.lastIndex = offset;
    WHITE_SPACE.exec(text);
    COMMENT.lastIndex = WHITE_SPACE.lastIndex;
    if (!COMMENT.test(text)) return WHITE_SPACE.lastIndex;
    offset = COMMENT.lastIndex;
  }
}

function cut(text: string): SignatureToken[] {
  const tokens: SignatureToken[] = [];
  let offset = 0;
  while (true) {
    TOKEN.lastIndex = skipBlank(text, offset);
    const match = TOKEN.exec(text);
    if (match === null) return [...tokens, { text: "", offset: text.length }];
    tokens.push({ text: match[0], offset: match.index });
    offset = TOKEN.lastIndex;
  }
}

/** Whether a token follows another with nothing between. */
function isAdjacent(first: SignatureToken, second: SignatureToken | undefined): boolean {
  return second !== undefined && first.offset + first.text.length === second.offset;
}

/** Whether two signs that belong together, such as `[[`, stand at an index. */
function isDouble(tokens: readonly SignatureToken[], index: number, text: string): boolean {
  const [first, second] = [tokens[index], tokens[index + 1]];
  return first?.text === text && second?.text === text && isAdjacent(first, second);
}

/** The index of the parenthesis that closes each; in one go, as there may be any number of them. */
function closingParentheses(tokens: readonly SignatureToken[]): ReadonlyMap<number, number> {
  const open: number[] = [];
  const closing = new Map<number, number>();
  for (const [index, { text }] of tokens.entries()) {
    if (text === "(") open.push(index);
    const opening = text === ")" ? open.pop() : undefined;
    if (opening !== undefined) closing.set(opening, index);
  }
  return closing;
}

/** The index of the first `]]` from each token on, or that of the end. */
function closingBrackets(tokens: readonly SignatureToken[]): Int32Array {
  const closing = new Int32Array(tokens.length + 1).fill(tokens.length);
  for (let index = tokens.length - 1; index >= 0; index--) {
    closing[index] = isDouble(tokens, index, "]") ? index : closing[index + 1]!;
  }
  return closing;
}

/** Attributes change nothing in how a kernel is called, wherever they are. */
function withoutAttributes(tokens: readonly SignatureToken[]): SignatureToken[] {
  const parentheses = closingParentheses(tokens);
  const brackets = closingBrackets(tokens);
  const behindAttribute = (index: number): number | undefined => {
    const end = isDouble(tokens, index, "[") ? brackets[index + 2]! : tokens.length;
    if (end < tokens.length) return end + 2;
    const closing = ATTRIBUTE_WORDS.has(tokens[index]!.text)
      ? parentheses.get(index + 1)
      : undefined;
    return closing === undefined ? undefined : closing + 1;
  };
  const kept: SignatureToken[] = [];
  for (let index = 0; index < tokens.length;) {
    const behind = behindAttribute(index);
    if (behind === undefined) kept.push(tokens[index++]!);
    else index = behind;
  }
  return kept;
}

/** The part of a text around an offset, on one line. */
function excerpt(text: string, offset: number): string {
  const start = Math.max(0, Math.min(offset - EXCERPT / 2, text.length - EXCERPT));
  const end = start + EXCERPT;
  const shown = text.slice(start, end).replaceAll(/\s+/g, " ");
  return `${start > 0 ? "…" : ""}${shown}${end < text.length ? "…" : ""}`;
}

/** Walks over the tokens of one signature, without its comments and attributes. */
export class SignatureReader {
  readonly #text: string;
  readonly #tokens: readonly SignatureToken[];
  #index = 0;

  /** Starts at the first token. */
  constructor(text: string) {
    this.#text = text;
    this.#tokens = withoutAttributes(cut(text));
    const unended = this.#tokens.find((token) => token.text === "/*");
    if (unended !== undefined) this.fail("a comment begins here and has no end", unended);
  }

  /** The token that {@linkcode SignatureReader.take} will return. */
  get next(): SignatureToken {
    return this.#tokens[this.#index]!;
  }

  /** Whether no token is left. */
  get atEnd(): boolean {
    return this.next.text === "";
  }

  /** Whether the next token is a word. */
  get atWord(): boolean {
    return IDENTIFIER.test(this.next.text);
  }

  /** Whether nothing stands between the next token and the one before. */
  get touches(): boolean {
    const before = this.#tokens[this.#index - 1];
    return before !== undefined && isAdjacent(before, this.next);
  }

  /** Returns the next token and goes on to the one behind it. */
  take(): SignatureToken {
    const token = this.next;
    if (!this.atEnd) this.#index++;
    return token;
  }

  /** Takes the next token if it is this one, and says whether it was. */
  takeIf(text: string): boolean {
    const found = this.next.text === text && text !== "";
    if (found) this.#index++;
    return found;
  }

  /** Whether the next tokens are these, in this order. */
  follows(...texts: readonly string[]): boolean {
    return texts.every((text, ahead) => this.#tokens[this.#index + ahead]?.text === text);
  }

  /** Takes the next token, which must be this one. */
  expect(text: string, place: string): void {
    if (!this.takeIf(text)) this.fail(`${place} must be "${text}": it is ${this.describeNext()}`);
  }

  /** Shows the next token. */
  describeNext(): string {
    return this.atEnd ? "the end" : JSON.stringify(this.next.text);
  }

  /** Throws the error for a problem at a token. */
  fail(problem: string, at: SignatureToken = this.next): never {
    throw new SyntaxError(
      `Cannot read the kernel signature "${excerpt(this.#text, at.offset)}" ` +
        `at character ${at.offset + 1}: ${problem}`,
    );
  }
}
