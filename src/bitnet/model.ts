/**
 * An opened model that makes text.
 *
 * @module
 */

import { basename } from "node:path";
import { cannot, checkInteger, refuseOption, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { deviceMemory } from "../ffi/native_device.ts";
import { usableMemory } from "../hardware/memory_reserve.ts";
import { bytesPerElement } from "../memory/dtype.ts";
import type { TensorDevice } from "../tensor/kit/placement.ts";
import { placeOf } from "../tensor/kit/placement.ts";
import type { ModelConfig } from "./config.ts";
import { Decoder } from "./decoder/decoder.ts";
import type { DecoderDType } from "./decoder/table.ts";
import { type DecoderWeights, loadDecoderWeights } from "./decoder/weights.ts";
import type { I2sLayout, ModelSource } from "./files/model_source.ts";
import { openSource } from "./files/open_source.ts";
import { defaultCacheDType, requireRoom } from "./memory.ts";
import { type Generation, GenerationRequest } from "./generation/generation.ts";
import { Sampler } from "./generation/sampling.ts";
import { Scheduler, type SchedulerStatistics } from "./generation/scheduler.ts";
import { type GenerateOptions, requireSettings } from "./generation/settings.ts";
import type { ChatMessage } from "./tokenizer/chat_template.ts";
import { tokenizerOf } from "./tokenizer/source_tokenizer.ts";
import type { ModelTokenizer } from "./tokenizer/tokenizer.ts";

/**
 * Options of {@linkcode openModel}.
 * @category Generation
 */
export interface ModelOptions {
  /** The device; the default one otherwise. */
  readonly device?: TensorDevice;
  /** The element type of the embedding and of the head; that of the file by default. */
  readonly dtype?: DecoderDType;
  /**
   * `int8` makes the head a table of 8-bit integers with a scale for each row, and the embedding if it
   * is the same table: half of the bytes that a token reads. By default if the file has such a one.
   */
  readonly head?: "float" | "int8";
  /**
   * Whether matrices of layers that do not fit in the device's memory lie in memory of the host, from
   * which each use copies them. Otherwise such a model is refused.
   */
  readonly offload?: boolean;
  /** The element type of keys and values; by default `float16` on a GPU, otherwise `float32`. */
  readonly cacheDType?: DecoderDType;
  /**
   * Positions of the cache, of all sequences together. By default a context for each sequence, but
   * at most what half of the free memory holds.
   */
  readonly cacheTokens?: number;
  /** The largest number of sequences that run at once; 8 by default. */
  readonly maxSequences?: number;
  /** The layout of I2_S weights in a GGUF file. */
  readonly layout?: I2sLayout;
  /** Is called after each weight with the bytes read so far, and those of all weights. */
  readonly onProgress?: (read: number, bytes: number) => void;
  /** Ends loading with the signal's reason as the error. */
  readonly signal?: AbortSignal;
}

const NAMES = [
  "device",
  "dtype",
  "head",
  "offload",
  "cacheDType",
  "cacheTokens",
  "maxSequences",
  "layout",
  "onProgress",
  "signal",
];

/**
 * Counts of a model's work.
 * @category Generation
 */
export interface ModelStatistics extends SchedulerStatistics {
  /** Pages of the cache. */
  readonly pages: number;
  /** Positions of a page. */
  readonly pageSize: number;
  /** Bytes of the cache. */
  readonly cacheBytes: number;
}

/**
 * The probability of each token of a text.
 * @category Generation
 */
export interface TextScore {
  /** The tokens of the text. */
  readonly tokens: readonly number[];
  /** The logarithm of the probability of each token but the first, given those before it. */
  readonly logProbabilities: Float32Array<ArrayBuffer>;
  /** The exponential of the negative mean of the logarithms. */
  readonly perplexity: number;
}

/** Positions of a page. */
const PAGE_SIZE = 16;

/** Sequences that run at once. */
const DEFAULT_SEQUENCES = 8;

/** Tokens of prompts in a step, beside which others wait for their next one. */
const STEP_TOKENS = 512;

const OPEN = "open a model";

/** Keys and values of a position in all layers. */
function bytesPerToken(config: ModelConfig, dtype: DecoderDType): number {
  const { layers, keyValueHeads, headSize } = config;
  return 2 * layers * keyValueHeads * headSize * bytesPerElement(dtype);
}

function pagesOf(
  { config, context }: DecoderWeights,
  dtype: DecoderDType,
  { cacheTokens, maxSequences = DEFAULT_SEQUENCES }: ModelOptions,
): number {
  if (cacheTokens !== undefined) return Math.ceil(cacheTokens / PAGE_SIZE);
  const { usable } = usableMemory(deviceMemory(context.library, context.ordinal));
  const perPage = PAGE_SIZE * bytesPerToken(config, dtype);
  const wanted = maxSequences * Math.ceil(config.contextLength / PAGE_SIZE);
  return Math.max(1, Math.min(wanted, Math.floor(usable / 2 / perPage)));
}

/**
 * A model on a device: makes text from prompts, many at once.
 *
 * @example
 * ```ts
 * import { openModel } from "@gridstride/cuda/bitnet";
 *
 * async function answer(path: string, question: string): Promise<string> {
 *   await using model = await openModel(path);
 *   return await model.chat([{ role: "user", content: question }]).text();
 * }
 * console.log(typeof answer); // function
 * ```
 * @category Generation
 */
export class Model implements AsyncDisposable {
  /** The shape of the model. */
  readonly config: ModelConfig;
  /** Its tokenizer. */
  readonly tokenizer: ModelTokenizer;
  /** The name in its files, or that of the file. */
  readonly name: string;
  readonly #decoder: Decoder;
  readonly #sampler: Sampler;
  readonly #scheduler: Scheduler;
  readonly #endTokens: ReadonlySet<number>;
  readonly #cacheBytes: number;

  /** @ignore Made by {@linkcode openModel}. */
  constructor(
    name: string,
    tokenizer: ModelTokenizer,
    weights: DecoderWeights,
    options: ModelOptions,
  ) {
    const { config, context } = weights;
    const cacheDType = options.cacheDType ?? defaultCacheDType(context);
    this.name = name;
    this.config = config;
    this.tokenizer = tokenizer;
    const pages = pagesOf(weights, cacheDType, options);
    using owned = new DisposableStack();
    this.#decoder = owned.use(new Decoder(weights, { pages, pageSize: PAGE_SIZE, cacheDType }));
    this.#cacheBytes = pages * PAGE_SIZE * bytesPerToken(config, cacheDType);
    const { maxSequences = DEFAULT_SEQUENCES } = options;
    const { vocabularySize } = tokenizer;
    this.#sampler = owned.use(
      new Sampler(context, maxSequences, config.vocabularySize, vocabularySize),
    );
    this.#scheduler = new Scheduler(this.#decoder, this.#sampler, {
      maxSequences,
      // A step ends before an abort is seen, and those of processors take long.
      maxTokens: context.info.kind === "cuda" ? STEP_TOKENS : STEP_TOKENS / 4,
    });
    this.#endTokens = new Set([...tokenizer.endTokens, ...config.endTokens]);
    owned.move();
  }

  /** The largest number of positions of a sequence. */
  get #longest(): number {
    const { pages, pageSize } = this.#decoder;
    return Math.min(this.config.contextLength, pages * pageSize);
  }

  /**
   * Continues a text. It begins when its first piece is asked for, and then does not wait for its
   * reader.
   *
   * @param prompt The text, or its tokens. A text begins with the model's begin token; an empty one is
   * that token alone.
   * @param options How tokens are chosen, and what ends the text.
   * @returns The pieces of the text. Reading them fails with an error of the device, and with the reason
   * of `options.signal`.
   * @throws {TypeError} If an argument is malformed, or the prompt has no token.
   * @throws {RangeError} If a number is out of range, or the prompt is longer than the context or the
   * cache.
   *
   * @example
   * ```ts
   * import { openModel } from "@gridstride/cuda/bitnet";
   *
   * async function print(path: string): Promise<void> {
   *   await using model = await openModel(path);
   *   for await (const { text } of model.generate("Once upon a time", { maxTokens: 50 })) {
   *     console.log(text);
   *   }
   * }
   * console.log(typeof print); // function
   * ```
   */
  generate(prompt: string | ArrayLike<number>, options: GenerateOptions = {}): Generation {
    const action = "generate";
    const tokens = typeof prompt === "string" ? this.#begun(this.tokenizer.encode(prompt)) : prompt;
    return this.#request(tokens, options, action);
  }

  /**
   * Answers a conversation.
   *
   * @param messages The conversation so far.
   * @param options As of {@linkcode Model.generate}.
   * @returns The pieces of the answer.
   * @throws {TypeError} If an argument is malformed.
   * @throws {RangeError} If a number is out of range, or the conversation is longer than the context or
   * the cache.
   * @throws {Error} If the model's template refuses the messages.
   *
   * @example
   * ```ts
   * import { openModel } from "@gridstride/cuda/bitnet";
   *
   * async function answer(path: string, question: string): Promise<string> {
   *   await using model = await openModel(path);
   *   return await model.chat([{ role: "user", content: question }]).text();
   * }
   * console.log(typeof answer); // function
   * ```
   */
  chat(messages: readonly ChatMessage[], options: GenerateOptions = {}): Generation {
    return this.#request(this.tokenizer.encodeChat(messages), options, "chat");
  }

  /** The begin token where a text has no token at all. */
  #begun(tokens: readonly number[]): readonly number[] {
    const begin = this.tokenizer.beginToken ?? this.config.beginToken;
    return tokens.length > 0 || begin === undefined ? tokens : [begin];
  }

  #check(tokens: ArrayLike<number>, action: string): void {
    if (!(tokens?.length > 0)) {
      throw new TypeError(
        `${cannot(action)} as prompt must be a text or tokens, at least one: it is ${
          describeValue(tokens)
        }`,
      );
    }
    const last = this.config.vocabularySize - 1;
    for (let at = 0; at < tokens.length; at++) {
      checkInteger(tokens[at]!, `prompt[${at}]`, action, 0, last);
    }
    if (tokens.length <= this.#longest) return;
    const what = this.#longest === this.config.contextLength ? "context" : "cache";
    throw new RangeError(
      `${cannot(action)} as the prompt must have at most ${this.#longest} tokens, those of the ` +
        `${what}: it has ${tokens.length}`,
    );
  }

  #request(
    prompt: ArrayLike<number>,
    options: GenerateOptions,
    action: string,
  ): Generation {
    const settings = requireSettings(options, action);
    this.#check(prompt, action);
    return new GenerationRequest(prompt, settings, {
      // The last token needs no place in the cache.
      limit: this.#longest + 1,
      endTokens: this.#endTokens,
      decoder: this.tokenizer.streamDecoder(),
      queue: this.#scheduler,
    });
  }

  /**
   * The probabilities that the model gives to the tokens of a text.
   *
   * @param text The text, or its tokens; at least two.
   * @returns The tokens, the logarithms of their probabilities, and the perplexity.
   * @throws {TypeError} If the text is malformed.
   * @throws {RangeError} If it has one token only, or is longer than the context or the cache.
   *
   * @example
   * ```ts
   * import { openModel } from "@gridstride/cuda/bitnet";
   *
   * async function perplexityOf(path: string, text: string): Promise<number> {
   *   await using model = await openModel(path);
   *   return (await model.score(text)).perplexity;
   * }
   * console.log(typeof perplexityOf); // function
   * ```
   */
  async score(text: string | ArrayLike<number>): Promise<TextScore> {
    const action = "score";
    const tokens = Array.from(typeof text === "string" ? this.tokenizer.encode(text) : text ?? []);
    this.#check(tokens, action);
    if (tokens.length < 2) {
      throw new RangeError(`${cannot(action)} as text must have at least two tokens: it has one`);
    }
    const logProbabilities = await this.#scheduler.score(tokens);
    const mean = logProbabilities.reduce((sum, value) => sum + value, 0) / logProbabilities.length;
    return { tokens, logProbabilities, perplexity: Math.exp(-mean) };
  }

  /**
   * Sequences that run and wait, pages of the cache, and tokens so far.
   *
   * @example
   * ```ts
   * import { openModel } from "@gridstride/cuda/bitnet";
   *
   * async function pagesOf(path: string): Promise<number> {
   *   await using model = await openModel(path);
   *   return model.statistics().pages;
   * }
   * console.log(typeof pagesOf); // function
   * ```
   */
  statistics(): ModelStatistics {
    const { pages, pageSize } = this.#decoder;
    return {
      ...this.#scheduler.statistics(),
      ...{ pages, pageSize, cacheBytes: this.#cacheBytes },
    };
  }

  /** Ends all generations with an error, and frees the cache and the weights. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scheduler.close();
    this.#sampler[Symbol.dispose]();
    this.#decoder[Symbol.dispose]();
    this.#decoder.weights[Symbol.dispose]();
  }
}

/** Loads an opened model, whose source may be closed then. */
export async function loadModel(
  source: ModelSource,
  name: string,
  options: ModelOptions,
): Promise<Model> {
  const { device, dtype, head, cacheDType, cacheTokens, maxSequences, signal } = options;
  const dtypes = ["float32", "float16", "bfloat16"];
  if (cacheDType !== undefined && !dtypes.includes(cacheDType)) {
    refuseOption(TypeError, OPEN, "cacheDType", dtypes.join(", "), cacheDType);
  }
  for (const [key, value] of Object.entries({ cacheTokens, maxSequences })) {
    if (value !== undefined) checkInteger(value, `options.${key}`, OPEN, 1, 2 ** 24);
  }
  signal?.throwIfAborted();
  const tokenizer = tokenizerOf(source, OPEN);
  const context = placeOf(device === undefined ? {} : { device }, OPEN);
  const tables = {
    ...(dtype === undefined ? {} : { dtype }),
    ...(head === undefined ? {} : { head }),
  };
  const residentLayers = requireRoom(
    source,
    context,
    {
      ...tables,
      cacheDType: cacheDType ?? defaultCacheDType(context),
      // By default, the cache has what is left.
      cacheTokens: cacheTokens ?? PAGE_SIZE,
      maxSequences: maxSequences ?? DEFAULT_SEQUENCES,
      chunk: STEP_TOKENS,
    },
    options.offload === true,
    OPEN,
  );
  const weights = await loadDecoderWeights(source, {
    ...{ device: { context }, ...tables, residentLayers },
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
    ...(signal === undefined ? {} : { signal }),
  });
  try {
    return new Model(name, tokenizer, weights, options);
  } catch (error) {
    weights[Symbol.dispose]();
    throw error;
  }
}

/**
 * Opens a model: a GGUF file, or a folder of Hugging Face with `config.json` and safetensors. Its
 * weights are read to the device.
 *
 * @param path A path or the URL of a file or a folder.
 * @param options The device, and the sizes of the cache.
 * @returns The model, which owns memory of the device until it is disposed.
 * @throws {TensorFileError} If a file is malformed, cut short or inconsistent, or not of a supported
 * model; the message names the field.
 * @throws {Deno.errors.NotFound} If there is no such file, and other errors of the file system.
 * @throws {TypeError} If an argument is malformed, or the files have no tokenizer.
 * @throws {RangeError} If a number is out of range, or a weight has another shape than the files say.
 * @throws {OutOfMemoryError} If the device has too little memory, with the sum of the model's parts.
 *
 * @example
 * ```ts
 * import { openModel } from "@gridstride/cuda/bitnet";
 *
 * async function answer(path: string, question: string): Promise<string> {
 *   await using model = await openModel(path);
 *   return await model.chat([{ role: "user", content: question }]).text();
 * }
 * console.log(typeof answer); // function
 * ```
 * @category Generation
 */
export async function openModel(path: string | URL, options: ModelOptions = {}): Promise<Model> {
  requireOptions(options, NAMES, OPEN);
  const { layout } = options;
  await using source = await openSource(path, layout === undefined ? {} : { layout });
  const file = basename(path instanceof URL ? path.pathname : path).replace(/\.gguf$/i, "");
  return await loadModel(source, source.facts.get("name") ?? file, options);
}
