/**
 * Tokens to text, one token at a time.
 *
 * Tokens of a byte-level vocabulary are bytes, and a character may span several. Decoding each
 * token by itself would give replacement characters, so the bytes of an unfinished character wait
 * for the next token.
 *
 * @module
 */

import { objectAt, refuse } from "./tokenizer_json.ts";

/** The steps from tokens to bytes that `decoder` of a tokenizer.json describes. */
interface DecodingSteps {
  /** Each character of a token is a byte, by GPT-2's table. */
  isByteLevel: boolean;
  /** Tokens `<0x00>` to `<0xFF>` are bytes. */
  hasByteTokens: boolean;
  readonly replacements: [from: string, to: string][];
  /** The number of spaces that the whole text loses at its start. */
  strippedSpaces: number;
}

/**
 * GPT-2's names of bytes: printable characters of Latin-1 name themselves, all others take the
 * characters from U+0100 on in their order.
 */
const BYTE_OF_CHARACTER: ReadonlyMap<string, number> = (() => {
  const table = new Map<string, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = byte > 0x20 && byte < 0x7f || byte > 0xa0 && byte !== 0xad;
    table.set(String.fromCharCode(isPrintable ? byte : next++), byte);
  }
  return table;
})();

const BYTE_TOKEN = /^<0x([0-9A-F]{2})>$/;

function addStep(steps: DecodingSteps, decoder: unknown, place: string): void {
  const { type, pattern, content, start, stop, ...rest } = objectAt(decoder, place);
  switch (type) {
    case "ByteLevel":
      steps.isByteLevel = true;
      return;
    case "ByteFallback":
      steps.hasByteTokens = true;
      return;
    // All texts are joined anyway.
    case "Fuse":
      return;
    case "Metaspace": {
      const replaced = rest.replacement ?? "▁";
      if (typeof replaced !== "string" || replaced === "") {
        refuse(`${place}.replacement`, "a string", replaced);
      }
      steps.replacements.push([replaced, " "]);
      const hasPrefix = rest.prepend_scheme === undefined
        ? rest.add_prefix_space !== false
        : rest.prepend_scheme !== "never";
      if (hasPrefix) steps.strippedSpaces = 1;
      return;
    }
    case "Replace": {
      const from = (pattern as { String?: unknown } | undefined)?.String;
      if (typeof from !== "string" || from === "" || typeof content !== "string") {
        refuse(`${place}.pattern`, "{ String } with a content", pattern);
      }
      steps.replacements.push([from, content]);
      return;
    }
    case "Strip":
      if (content !== " " || stop !== 0 || !Number.isSafeInteger(start)) {
        refuse(place, "spaces at the start", JSON.stringify(decoder));
      }
      steps.strippedSpaces = start as number;
      return;
    case "Sequence": {
      const { decoders } = rest;
      if (!Array.isArray(decoders)) refuse(`${place}.decoders`, "an array", decoders);
      decoders.forEach((each, index) => addStep(steps, each, `${place}.decoders[${index}]`));
      return;
    }
    default:
      refuse(
        `${place}.type`,
        "ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Sequence or Strip",
        type,
      );
  }
}

const encoder = new TextEncoder();

/** The bytes of tokens, by the `decoder` of a tokenizer.json. */
export class TokenBytes {
  /** The number of spaces that a text loses at its start. */
  readonly strippedSpaces: number;
  readonly #steps: DecodingSteps;

  constructor(decoder: unknown) {
    this.#steps = { isByteLevel: false, hasByteTokens: false, replacements: [], strippedSpaces: 0 };
    addStep(this.#steps, decoder, "decoder");
    this.strippedSpaces = this.#steps.strippedSpaces;
  }

  /** @param isLiteral Whether the token is its own text, as tokens outside the vocabulary are. */
  of(token: string, isLiteral: boolean): Uint8Array<ArrayBuffer> {
    if (isLiteral) return encoder.encode(token);
    if (this.#steps.isByteLevel) {
      const bytes = Array.from(token, (character) => BYTE_OF_CHARACTER.get(character) ?? -1);
      return bytes.includes(-1) ? encoder.encode(token) : Uint8Array.from(bytes);
    }
    const byte = this.#steps.hasByteTokens ? BYTE_TOKEN.exec(token)?.[1] : undefined;
    if (byte !== undefined) return Uint8Array.of(parseInt(byte, 16));
    let text = token;
    for (const [from, to] of this.#steps.replacements) text = text.replaceAll(from, to);
    return encoder.encode(text);
  }
}

/**
 * Decodes tokens as they come, to whole characters.
 * @category Tokens
 */
export class StreamDecoder {
  readonly #bytesOf: (id: number) => Uint8Array<ArrayBuffer>;
  readonly #strippedSpaces: number;
  // A byte order mark inside a text of tokens is a character like any other.
  readonly #characters = new TextDecoder("utf-8", { ignoreBOM: true });
  #spacesLeft: number;

  /** @ignore Made by `ModelTokenizer.streamDecoder()`. */
  constructor(bytesOf: (id: number) => Uint8Array<ArrayBuffer>, strippedSpaces: number) {
    this.#bytesOf = bytesOf;
    this.#strippedSpaces = strippedSpaces;
    this.#spacesLeft = strippedSpaces;
  }

  #strip(text: string): string {
    let start = 0;
    while (this.#spacesLeft > 0 && start < text.length) {
      if (text[start] === " ") {
        start++;
        this.#spacesLeft--;
      } else {
        this.#spacesLeft = 0;
      }
    }
    return text.slice(start);
  }

  /**
   * Takes a token.
   *
   * @param id The token.
   * @returns The text that is complete with it; empty if the token ends inside a character. Bytes
   *   that are no UTF-8 become U+FFFD.
   * @throws {RangeError} If the vocabulary has no such token.
   *
   * @example
   * ```ts ignore
   * const decoder = tokenizer.streamDecoder();
   * for (const id of ids) console.log(decoder.push(id));
   * console.log(decoder.finish());
   * ```
   */
  push(id: number): string {
    return this.#strip(this.#characters.decode(this.#bytesOf(id), { stream: true }));
  }

  /**
   * Ends the text; the decoder is ready for another one.
   *
   * @returns U+FFFD if the last tokens end inside a character; otherwise empty.
   *
   * @example
   * ```ts ignore
   * const rest = decoder.finish();
   * ```
   */
  finish(): string {
    const rest = this.#strip(this.#characters.decode());
    this.#spacesLeft = this.#strippedSpaces;
    return rest;
  }
}
