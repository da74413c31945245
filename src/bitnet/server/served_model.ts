/**
 * The part of a model that the server uses.
 *
 * @module
 */

import type { ModelConfig } from "../config.ts";
import type { ModelTokenizer } from "../tokenizer/tokenizer.ts";

export interface GenerateOptions {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  readonly seed?: number | bigint;
  readonly stop?: string | readonly string[];
  readonly signal?: AbortSignal;
}

export interface GeneratedPiece {
  readonly text: string;
  readonly token: number;
  readonly logProbability: number;
}

export interface Generation extends AsyncIterable<GeneratedPiece> {
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly finishReason: "stop" | "length" | undefined;
  text(): Promise<string>;
}

export interface ServedModel {
  readonly name: string;
  readonly config: Pick<ModelConfig, "contextLength">;
  readonly tokenizer: Pick<ModelTokenizer, "encode" | "encodeChat" | "decode" | "vocabularySize">;
  generate(prompt: ArrayLike<number>, options?: GenerateOptions): Generation;
  statistics(): Readonly<Record<string, number>>;
}
