/**
 * Cuts a kernel's C signature into tokens and says where it went wrong.
 *
 * @module
 */

/** A word, a number or a sign of a signature. */
export interface SignatureToken {
  /** Its characters; empty at the end of the text. */
  readonly text: string;
  /** Where it starts, counted from 0. */
  readonly offset: number;
}

/** Most characters of a signature that an error message shows. */
const EXCERPT = 64;

const TOKEN = /"C"|[A-Za-z_][A-Za-z_0-9]*|[0-9]+|[^\s]/y;
const WHITE_SPACE = /[ \t\n\r\v\f]*/y;
const IDENTIFIER = /^[A-Za-z_][A-Za-z_0-9]*$/;

function cut(text: string): SignatureToken[] {
  const tokens: SignatureToken[] = [];
  let offset = 0;
  while (true) {
    WHITE_SPACE.lastIndex = offset;
    WHITE_SPACE.exec(text);
    TOKEN.lastIndex = WHITE_SPACE.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) return [...tokens, { text: "", offset: text.length }];
    tokens.push({ text: match[0], offset: match.index });
    offset = TOKEN.lastIndex;
  }
}

/** The part of a text around an offset, on one line. */
function excerpt(text: string, offset: number): string {
  const start = Math.max(0, Math.min(offset - EXCERPT / 2, text.length - EXCERPT));
  const end = start + EXCERPT;
  const shown = text.slice(start, end).replaceAll(/\s+/g, " ");
  return `${start > 0 ? "…" : ""}${shown}${end < text.length ? "…" : ""}`;
}

/** Walks over the tokens of one signature. */
export class SignatureReader {
  readonly #text: string;
  readonly #tokens: readonly SignatureToken[];
  #index = 0;

  /** Starts at the first token. */
  constructor(text: string) {
    this.#text = text;
    this.#tokens = cut(text);
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
