/**
 * BitNet models: their files.
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
