/**
 * Brackets in a signature that belong to expressions: extents of arrays, template arguments and
 * default values.
 *
 * @module
 */

import type { SignatureReader } from "./signature_reader.ts";

/**
 * Counts the brackets that are open. In parentheses no others count, and in square brackets and
 * braces `<` and `>` compare.
 */
export class OpenBrackets {
  #parentheses = 0;
  #squares = 0;
  #braces = 0;
  #angles = 0;

  /** Whether as many are closed as are open, of each kind. */
  get areClosed(): boolean {
    return this.#parentheses === 0 && this.#squares === 0 && this.#braces === 0 &&
      this.#angles === 0;
  }

  /** Whether a token ends what the brackets are in: nothing is open here that it closes. */
  isBeyond(token: string): boolean {
    if (token === "") return true;
    if (this.#parentheses > 0) return false;
    return token === ")" || (token === "]" && this.#squares === 0) ||
      (token === "}" && this.#squares === 0 && this.#braces === 0);
  }

  /** Counts a token, if it is a bracket. */
  note(token: string): void {
    if (token === "(") this.#parentheses++;
    else if (token === ")") this.#parentheses--;
    else if (this.#parentheses > 0) return;
    else if (token === "[") this.#squares++;
    else if (token === "]") this.#squares--;
    else if (this.#squares > 0) return;
    else if (token === "{") this.#braces++;
    else if (token === "}") this.#braces--;
    else if (this.#braces > 0) return;
    else if (token === "<") this.#angles++;
    else if (token === ">") this.#angles--;
  }
}

/**
 * Takes all tokens from the opening bracket that comes next to the one that closes it.
 *
 * @param place What messages call the whole.
 */
export function takeBracketed(reader: SignatureReader, place: string): string[] {
  const start = reader.next;
  const brackets = new OpenBrackets();
  const taken: string[] = [];
  do {
    const { text } = reader.next;
    if (brackets.isBeyond(text)) reader.fail(`${place} begins here and has no end`, start);
    brackets.note(text);
    taken.push(reader.take().text);
  } while (!brackets.areClosed);
  return taken;
}
