/**
 * A model's tokenizer: texts to tokens, tokens to texts, conversations to prompts.
 *
 * @module
 */

import { Tokenizer } from "@huggingface/tokenizers";
import { requireObject, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { type ChatMessage, ChatTemplate } from "./chat_template.ts";
import { StreamDecoder, TokenBytes } from "./stream_decoder.ts";
import { checkTokenizer, type Json, objectAt, READ, refuse } from "./tokenizer_json.ts";

/**
 * The files of a tokenizer, parsed.
 * @category Tokens
 */
export interface TokenizerSource {
  /** tokenizer.json. */
  readonly tokenizer: unknown;
  /** tokenizer_config.json; an empty object for a model without it. */
  readonly config: unknown;
}

/**
 * Options of `ModelTokenizer.encode()`.
 * @category Tokens
 */
export interface EncodeOptions {
  /** Whether to add the tokens that begin or end a text of this model; true by default. */
  readonly addSpecialTokens?: boolean;
}

/**
 * Options of `ModelTokenizer.decode()` and `streamDecoder()`.
 * @category Tokens
 */
export interface DecodeOptions {
  /** Whether special tokens give no text; true by default. */
  readonly skipSpecialTokens?: boolean;
}

/**
 * Options of `ModelTokenizer.encodeChat()`.
 * @category Tokens
 */
export interface ChatOptions {
  /** Whether the prompt ends with the start of the assistant's answer; true by default. */
  readonly addGenerationPrompt?: boolean;
}

/** Tokens that end an answer in widespread models, whether or not a file names them as `eos`. */
const END_TOKENS: readonly string[] = [
  "<|eot_id|>",
  "<|eom_id|>",
  "<|end_of_text|>",
  "<|endoftext|>",
  "<|im_end|>",
  "<|end|>",
  "<end_of_turn>",
];

/** Names in tokenizer_config.json that chat templates use. */
const TEMPLATE_TOKENS = ["bos_token", "eos_token", "unk_token", "pad_token"];

/** The text of a token in tokenizer_config.json: a string, or an object with its properties. */
function tokenText(config: Json, name: string): string | undefined {
  const token = config[name] ?? undefined;
  const text = typeof token === "object" ? (token as { content?: unknown }).content : token;
  if (text !== undefined && typeof text !== "string") refuse(name, "a token", text);
  return text;
}

/**
 * The post-processor that adds `bos` and `eos` where tokenizer_config.json says so, because it
 * overrules that of tokenizer.json; undefined where it says nothing.
 */
function processorOf(config: Json): unknown {
  const { add_bos_token, add_eos_token } = config;
  if (add_bos_token === undefined && add_eos_token === undefined) return undefined;
  const special = (name: string, adds: unknown) => {
    const id = tokenText(config, name);
    return adds === true && id !== undefined ? [{ SpecialToken: { id, type_id: 0 } }] : [];
  };
  return {
    type: "TemplateProcessing",
    single: [
      ...special("bos_token", add_bos_token),
      { Sequence: { id: "A", type_id: 0 } },
      ...special("eos_token", add_eos_token),
    ],
    pair: [],
  };
}

/** The template of tokenizer_config.json, which may have several by names. */
function templateOf(config: Json): string | undefined {
  const template = config.chat_template ?? undefined;
  if (template === undefined || typeof template === "string") return template;
  if (!Array.isArray(template)) refuse("chat_template", "a string or an array", template);
  const named = template.find((each) => each?.name === "default")?.template;
  if (typeof named !== "string") refuse("chat_template", "an array with a default", template);
  return named;
}

/** A tokenizer, and the tokens that it adds to a text. */
function makeTokenizer(tokenizer: Json, config: Json): [Tokenizer, readonly unknown[]] {
  try {
    const made = new Tokenizer(tokenizer, config);
    return [made, made.encode("").ids];
  } catch (error) {
    throw new TypeError(
      `Cannot ${READ} as its tokenizer.json must be supported: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/**
 * The tokenizer of a model.
 *
 * Texts become the same tokens as in Hugging Face's `tokenizers`. Only characters that one of Deno
 * and that library does not know yet, because its version of Unicode is older, may be split
 * otherwise.
 * @category Tokens
 */
export class ModelTokenizer {
  /** One more than the largest token. */
  readonly vocabularySize: number;
  /** The token that begins a text; undefined if the model has none. */
  readonly beginToken: number | undefined;
  /** The tokens that end an answer: `eos`, and others by well-known names. */
  readonly endTokens: readonly number[];
  readonly #tokenizer: Tokenizer;
  readonly #bytes: TokenBytes;
  /** The tokens that lie outside the vocabulary, and whether they are special. */
  readonly #added: ReadonlyMap<number, boolean>;
  readonly #chat: ChatTemplate;
  readonly #addsBegin: boolean;

  /**
   * Makes the tokenizer of a model's files.
   *
   * @param source The tokenizer.json and tokenizer_config.json of the model, or what
   *   `ggufTokenizer()` makes of a GGUF file.
   * @throws {TypeError} If they are no tokenizer of a kind that is supported. The error names the
   *   place.
   * @throws {Error} If the chat template is no valid Jinja.
   *
   * @example
   * ```ts ignore
   * const read = async (name: string) => JSON.parse(await Deno.readTextFile(`${folder}/${name}`));
   * const tokenizer = new ModelTokenizer({
   *   tokenizer: await read("tokenizer.json"),
   *   config: await read("tokenizer_config.json"),
   * });
   * ```
   */
  constructor(source: TokenizerSource) {
    requireObject(source, "source", READ);
    const tokenizer = checkTokenizer(objectAt(source.tokenizer, "tokenizer.json"));
    const config = objectAt(source.config, "tokenizer_config.json");
    const post_processor = processorOf(config) ?? tokenizer.post_processor;
    this.#bytes = new TokenBytes(tokenizer.decoder);
    const [made, added] = makeTokenizer({ ...tokenizer, post_processor }, config);
    this.#tokenizer = made;
    this.#added = new Map(
      tokenizer.added_tokens.map(({ id, special }) => [id as number, special === true]),
    );
    // The vocabulary has holes where no token has a number.
    this.vocabularySize = (this.#tokenizer.model as unknown as { vocab: string[] }).vocab.length;
    const texts = Object.fromEntries(TEMPLATE_TOKENS.flatMap((name) => {
      const text = tokenText(config, name);
      return text === undefined ? [] : [[name, text]];
    }));
    const idAt = (name: string) => {
      const text = texts[name];
      return text === undefined ? undefined : this.idOf(text) ?? refuse(name, "a token", text);
    };
    this.beginToken = idAt("bos_token");
    const ends = END_TOKENS.map((token) => this.idOf(token))
      .filter((id) => id !== undefined && this.#added.get(id) === true);
    const end = idAt("eos_token");
    this.endTokens = [...new Set([end, ...ends])].filter((id) => id !== undefined);
    if (added.includes(undefined)) refuse("post_processor", "of tokens", post_processor);
    this.#addsBegin = this.beginToken !== undefined && added[0] === this.beginToken;
    this.#chat = new ChatTemplate(templateOf(config), texts);
  }

  /**
   * The number of a token.
   *
   * @param token The token as the vocabulary writes it.
   * @returns Its number; undefined if there is no such token.
   *
   * @example
   * ```ts ignore
   * const end = tokenizer.idOf("<|eot_id|>");
   * ```
   */
  idOf(token: string): number | undefined {
    return this.#tokenizer.token_to_id(token);
  }

  /**
   * Whether a token controls the model, as those that begin and end texts do.
   *
   * @param id The token.
   * @returns Whether it is special.
   *
   * @example
   * ```ts ignore
   * console.log(tokenizer.isSpecial(128009)); // true
   * ```
   */
  isSpecial(id: number): boolean {
    return this.#added.get(id) === true;
  }

  /**
   * Splits a text into tokens. Special tokens that the text spells out are recognised.
   *
   * @param text The text; a broken surrogate pair counts as U+FFFD.
   * @param options Whether to add the tokens that begin or end a text.
   * @returns The tokens.
   * @throws {TypeError} If the text is no string.
   *
   * @example
   * ```ts ignore
   * const ids = tokenizer.encode("Hello");
   * ```
   */
  encode(text: string, options: EncodeOptions = {}): number[] {
    if (typeof text !== "string") {
      throw new TypeError(
        `Cannot call encode() as text must be a string: it is ${describeValue(text)}`,
      );
    }
    const { addSpecialTokens = true } = requireOptions(options, ["addSpecialTokens"], "encode");
    return this.#tokenizer.encode(text.toWellFormed(), { add_special_tokens: addSpecialTokens })
      .ids;
  }

  /**
   * Makes the prompt of a conversation by the model's chat template, or by that of BitNet b1.58
   * 2B4T if the model has none. The prompt begins with one `bos` if the model's texts do.
   *
   * @param messages The conversation so far.
   * @param options Whether the prompt ends with the start of the assistant's answer.
   * @returns The tokens.
   * @throws {TypeError} If the messages are no nonempty array of roles and texts.
   * @throws {Error} If the template refuses the messages, for example an unknown role.
   *
   * @example
   * ```ts ignore
   * const prompt = tokenizer.encodeChat([{ role: "user", content: "Hello" }]);
   * ```
   */
  encodeChat(messages: readonly ChatMessage[], options: ChatOptions = {}): number[] {
    const { addGenerationPrompt = true } = requireOptions(
      options,
      ["addGenerationPrompt"],
      "encodeChat",
    );
    const ids = this.encode(this.#chat.render(messages, addGenerationPrompt), {
      addSpecialTokens: false,
    });
    if (this.#addsBegin && ids[0] !== this.beginToken) ids.unshift(this.beginToken!);
    return ids;
  }

  /** The bytes of a token; none of a number between tokens, which a model may have room for. */
  #bytesOf(id: number, skipsSpecial: boolean): Uint8Array<ArrayBuffer> {
    if (!Number.isInteger(id) || id < 0 || id >= this.vocabularySize) {
      throw new RangeError(
        `Cannot decode tokens as each must be in 0..${this.vocabularySize - 1}: ` +
          `there is ${describeValue(id)}`,
      );
    }
    const isAdded = this.#added.has(id);
    const token = isAdded && skipsSpecial && this.isSpecial(id)
      ? ""
      : this.#tokenizer.id_to_token(id) ?? "";
    return this.#bytes.of(token, isAdded);
  }

  /**
   * A decoder of tokens that come one at a time.
   *
   * @param options Whether special tokens give no text.
   * @returns The decoder.
   *
   * @example
   * ```ts ignore
   * const decoder = tokenizer.streamDecoder();
   * ```
   */
  streamDecoder(options: DecodeOptions = {}): StreamDecoder {
    const { skipSpecialTokens = true } = requireOptions(
      options,
      ["skipSpecialTokens"],
      "streamDecoder",
    );
    return new StreamDecoder(
      (id) => this.#bytesOf(id, skipSpecialTokens),
      this.#bytes.strippedSpaces,
    );
  }

  /**
   * Joins tokens to a text.
   *
   * @param ids The tokens.
   * @param options Whether special tokens give no text.
   * @returns The text; bytes that are no UTF-8 are U+FFFD.
   * @throws {RangeError} If the vocabulary has no such token.
   *
   * @example
   * ```ts ignore
   * console.log(tokenizer.decode(tokenizer.encode("Hello"))); // Hello
   * ```
   */
  decode(ids: Iterable<number>, options: DecodeOptions = {}): string {
    const decoder = this.streamDecoder(options);
    let text = "";
    for (const id of ids) text += decoder.push(id);
    return text + decoder.finish();
  }
}
