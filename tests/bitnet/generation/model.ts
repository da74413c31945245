/**
 * A small model with random weights and a tokenizer.
 *
 * @module
 */

import type { ModelConfig } from "../../../src/bitnet/config.ts";
import { loadModel, type Model, type ModelOptions } from "../../../src/bitnet/model.ts";
import { device } from "../../support/device.ts";
import { sourceOf } from "../random_model.ts";
import { smallVocabulary } from "../tokenizer/vocabularies.ts";

export const CONFIG: ModelConfig = {
  ...{ architecture: "bitnet-b1.58", layers: 2, hiddenSize: 64, feedForwardSize: 128 },
  ...{ heads: 2, keyValueHeads: 1, headSize: 32, vocabularySize: 272, contextLength: 256 },
  ...{ epsilon: 1e-5, ropeTheta: 10000, ropePairs: "halves", activation: "squaredRelu" },
  ...{ hasSubNorms: true, isHeadTied: true, beginToken: undefined, endTokens: [] },
};

/** Loads a model whose answers end with no token, unless the configuration says one. */
export async function smallModel(
  options: ModelOptions = {},
  config: Partial<ModelConfig> = {},
  keys: Readonly<Record<string, unknown>> = {},
): Promise<Model> {
  const source = sourceOf({ linearClass: "autobitlinear", config: { ...CONFIG, ...config } });
  return await loadModel(
    { ...source, tokenizer: { kind: "gguf", metadata: () => ({ ...smallVocabulary(), ...keys }) } },
    "small",
    { device, ...options },
  );
}
