/**
 * The text that a model makes, token by token.
 *
 * @module
 */

import type { StreamDecoder } from "../tokenizer/stream_decoder.ts";
import { StopMatcher } from "../tokenizer/stop_matcher.ts";
import type { SampledToken } from "./sampling.ts";
import type { GenerationSettings } from "./settings.ts";

/**
 * A token and its text.
 * @category Generation
 */
export interface GeneratedPiece {
  /**
   * The text that is certain with this token: whole characters, without what may begin a stop text.
   * It may be empty.
   */
  readonly text: string;
  /** The token. */
  readonly token: number;
  /** The logarithm of the token's probability by the model, before temperature and penalties. */
  readonly logProbability: number;
}

/**
 * An answer, which is read once: by `for await`, or as a whole by `text()`. It begins when its first
 * piece is asked for, and then does not wait for its reader. Leaving the loop ends it.
 * @category Generation
 */
export interface Generation extends AsyncIterable<GeneratedPiece> {
  /** The number of tokens of the prompt. */
  readonly promptTokens: number;
  /** The number of tokens so far. */
  readonly generatedTokens: number;
  /**
   * Why it has ended: a token or a text that ends an answer, or the largest length. undefined before,
   * or if an error or the reader has ended it.
   */
  readonly finishReason: "stop" | "length" | undefined;
  /** Reads the whole text. */
  text(): Promise<string>;
}

/** Where requests are run. */
export interface RequestQueue {
  submit(request: GenerationRequest): void;
  /** Ends a request that may be running. */
  cancel(request: GenerationRequest): void;
}

/** A prompt, the tokens after it so far, and their reader. */
export class GenerationRequest implements Generation {
  readonly settings: GenerationSettings;
  /** The prompt and the tokens so far. */
  readonly tokens: number[];
  readonly promptTokens: number;
  /** The largest number of all tokens. */
  readonly limit: number;
  readonly #endTokens: ReadonlySet<number>;
  readonly #decoder: StreamDecoder;
  readonly #stops: StopMatcher;
  readonly #queue: RequestQueue;
  #pieces: GeneratedPiece[] = [];
  #isRead = false;
  #finishReason: "stop" | "length" | undefined;
  #failure: { readonly error: unknown } | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(
    prompt: ArrayLike<number>,
    settings: GenerationSettings,
    parts: {
      readonly limit: number;
      readonly endTokens: ReadonlySet<number>;
      readonly decoder: StreamDecoder;
      readonly queue: RequestQueue;
    },
  ) {
    this.settings = settings;
    this.tokens = Array.from(prompt);
    this.promptTokens = prompt.length;
    this.limit = Math.min(parts.limit, prompt.length + settings.maxTokens);
    this.#endTokens = parts.endTokens;
    this.#decoder = parts.decoder;
    this.#stops = new StopMatcher(settings.stop);
    this.#queue = parts.queue;
  }

  get generatedTokens(): number {
    return this.tokens.length - this.promptTokens;
  }

  get finishReason(): "stop" | "length" | undefined {
    return this.#finishReason;
  }

  /** Whether it needs no more tokens. */
  get hasEnded(): boolean {
    return this.#finishReason !== undefined || this.#failure !== undefined;
  }

  /** Takes the next token. */
  push({ token, logProbability }: SampledToken): void {
    this.tokens.push(token);
    const isEnd = this.#endTokens.has(token);
    let { text, stop } = this.#stops.push(isEnd ? "" : this.#decoder.push(token));
    if (isEnd || stop !== undefined) this.#finishReason = "stop";
    else if (this.tokens.length >= this.limit) this.#finishReason = "length";
    if (this.#finishReason !== undefined && stop === undefined) {
      const rest = this.#stops.push(this.#decoder.finish());
      text += rest.text + this.#stops.finish();
    }
    this.#pieces.push({ text, token, logProbability });
    this.#wake();
  }

  /** Ends it with an error for the reader. */
  fail(error: unknown): void {
    if (this.hasEnded) return;
    this.#failure = { error };
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<GeneratedPiece, void, void> {
    if (this.#isRead) {
      throw new TypeError("Cannot read a generation as it must not be read before: it is");
    }
    this.#isRead = true;
    const { signal } = this.settings;
    const abort = () => {
      this.fail(signal!.reason);
      this.#queue.cancel(this);
    };
    signal?.throwIfAborted();
    signal?.addEventListener("abort", abort);
    try {
      this.#queue.submit(this);
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure.error;
        const piece = this.#pieces.shift();
        if (piece !== undefined) yield piece;
        else if (this.#finishReason !== undefined) return;
        else await this.#changed.promise;
      }
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#queue.cancel(this);
    }
  }

  async text(): Promise<string> {
    let all = "";
    for await (const { text } of this) all += text;
    return all;
  }
}
