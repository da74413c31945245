/**
 * BitNet models: their files, their tokenizers, the text that they make, and a server.
 *
 * @module
 */

export type { ModelConfig } from "./config.ts";
export { type BlockFormat, decodeBlocks } from "./files/block_formats.ts";
export {
  type DescribedTensor,
  type DescribedWeight,
  describeModel,
  type ModelDescription,
} from "./files/describe.ts";
export type {
  I2sLayout,
  LayerWeightName,
  ModelSource,
  SourceOptions,
  TokenizerFiles,
  WeightFormat,
  WeightName,
  WeightSource,
} from "./files/model_source.ts";
export { openSource } from "./files/open_source.ts";
export type { GeneratedPiece, Generation } from "./generation/generation.ts";
export type { GenerateOptions } from "./generation/settings.ts";
export type { SchedulerStatistics } from "./generation/scheduler.ts";
export {
  Model,
  type ModelOptions,
  type ModelStatistics,
  openModel,
  type TextScore,
} from "./model.ts";
export type { ServedModel } from "./server/completion_request.ts";
export { ModelServer, type ModelServerOptions, type ServedRequest } from "./server/model_server.ts";
export { isLoopback } from "./server/request_guard.ts";
export { type ChatMessage, DEFAULT_CHAT_TEMPLATE } from "./tokenizer/chat_template.ts";
export { ggufTokenizer } from "./tokenizer/gguf_tokenizer.ts";
export { type MatchedText, StopMatcher } from "./tokenizer/stop_matcher.ts";
export { StreamDecoder } from "./tokenizer/stream_decoder.ts";
export {
  type ChatOptions,
  type DecodeOptions,
  type EncodeOptions,
  ModelTokenizer,
  type TokenizerSource,
} from "./tokenizer/tokenizer.ts";
export type { DecoderDType } from "./decoder/table.ts";
export { fits, memoryOf, type MemoryOptions, type ModelFit, type ModelMemory } from "./memory.ts";
