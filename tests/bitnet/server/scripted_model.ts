/**
 * A model without weights for tests of the server: it says what it is told to, when it is told to.
 *
 * @module
 */

import type { ModelConfig } from "../../../src/bitnet/config.ts";
import type { Generation } from "../../../src/bitnet/generation/generation.ts";
import type { GenerateOptions } from "../../../src/bitnet/generation/settings.ts";
import type { ModelStatistics } from "../../../src/bitnet/model.ts";
import type { ServedModel } from "../../../src/bitnet/server/completion_request.ts";
import { StopMatcher } from "../../../src/bitnet/tokenizer/stop_matcher.ts";
import { ModelTokenizer } from "../../../src/bitnet/tokenizer/tokenizer.ts";
import { ggufTokenizer } from "../../../src/bitnet/tokenizer/gguf_tokenizer.ts";
import { smallVocabulary } from "../tokenizer/vocabularies.ts";

/** A model that answers each prompt with the same text, and counts what runs. */
export class ScriptedModel implements ServedModel {
  readonly name = "scripted";
  readonly config: ModelConfig;
  readonly tokenizer: ModelTokenizer = new ModelTokenizer(ggufTokenizer(smallVocabulary()));
  /** The text of every answer. */
  readonly answer: string;
  /** The prompts and options so far. */
  readonly calls: { readonly prompt: string; readonly options: GenerateOptions }[] = [];
  /** Answers that run. */
  running = 0;
  /** Tokens of all answers. */
  tokens = 0;
  /** The error of each answer before its first token. */
  failure: Error | undefined;
  #gate: Promise<void> = Promise.resolve();

  constructor(answer = "hello world, hello 🌍!", contextLength = 64) {
    this.answer = answer;
    this.config = { contextLength } as ModelConfig;
  }

  /** Holds each answer after its first token until the result is called with an error or none. */
  hold(): (error?: Error) => void {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {});
    this.#gate = promise;
    return (error) => error === undefined ? resolve() : reject(error);
  }

  generate(prompt: string | ArrayLike<number>, options: GenerateOptions = {}): Generation {
    if (typeof prompt === "string") throw new TypeError("The server gives tokens");
    if (prompt.length >= this.config.contextLength) {
      throw new RangeError("Cannot generate as prompt must leave room in the context");
    }
    this.calls.push({ prompt: this.tokenizer.decode(Array.from(prompt)), options });
    return new ScriptedGeneration(this, prompt.length, options, () => this.#gate);
  }

  statistics(): ModelStatistics {
    const { running } = this;
    return {
      ...{ running, waiting: 0, promptTokens: 7, generatedTokens: 9, preemptions: 1 },
      ...{ pages: 8, freePages: 8 - running, pageSize: 16, cacheBytes: 4096 },
    };
  }
}

class ScriptedGeneration implements Generation {
  readonly promptTokens: number;
  generatedTokens = 0;
  finishReason: "stop" | "length" | undefined;
  readonly #model: ScriptedModel;
  readonly #options: GenerateOptions;
  readonly #gate: () => Promise<void>;

  constructor(
    model: ScriptedModel,
    promptTokens: number,
    options: GenerateOptions,
    gate: () => Promise<void>,
  ) {
    this.#model = model;
    this.promptTokens = promptTokens;
    this.#options = options;
    this.#gate = gate;
  }

  async *[Symbol.asyncIterator]() {
    const { maxTokens = Infinity, stop = [], signal } = this.#options;
    const tokens = this.#model.tokenizer.encode(this.#model.answer, { addSpecialTokens: false });
    const decoder = this.#model.tokenizer.streamDecoder();
    const matcher = new StopMatcher(typeof stop === "string" ? [stop] : stop);
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
    aborted.catch(() => {});
    this.#model.running++;
    try {
      if (this.#model.failure !== undefined) throw this.#model.failure;
      for (const token of tokens) {
        // As a device does, which answers in a later turn of the event loop.
        const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
        await Promise.race([
          aborted,
          this.generatedTokens === 0 ? turn() : this.#gate().then(() => turn),
        ]);
        this.generatedTokens++;
        this.#model.tokens++;
        const { text, stop } = matcher.push(decoder.push(token));
        const isLast = this.generatedTokens === tokens.length;
        if (stop !== undefined || isLast) this.finishReason = "stop";
        else if (this.generatedTokens >= maxTokens) this.finishReason = "length";
        const rest = this.finishReason !== undefined && stop === undefined
          ? matcher.push(decoder.finish()).text + matcher.finish()
          : "";
        yield { text: text + rest, token, logProbability: -token / 256 };
        if (this.finishReason !== undefined) return;
      }
    } finally {
      this.#model.running--;
    }
  }

  async text(): Promise<string> {
    let all = "";
    for await (const { text } of this) all += text;
    return all;
  }
}
