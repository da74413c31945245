/**
 * Models with random weights that this program and `transformers_model.py` make alike.
 *
 * @module
 */

import { encode } from "../../src/device/ternary.ts";
import type { ModelConfig } from "../../src/bitnet/config.ts";
import type {
  LayerWeightName,
  ModelSource,
  WeightName,
  WeightSource,
} from "../../src/bitnet/files/model_source.ts";

/** The classes of linear layers of transformers, by what a file holds for each. */
export type LinearClass = "autobitlinear" | "bitlinear" | "online";

/** A model. */
export interface RandomModel {
  readonly linearClass: LinearClass;
  readonly config: ModelConfig;
}

const LAYER_WEIGHTS: readonly LayerWeightName[] = [
  "attentionNorm",
  "attentionSubNorm",
  "feedForwardNorm",
  "feedForwardSubNorm",
  "query",
  "key",
  "value",
  "attentionOutput",
  "gate",
  "up",
  "down",
];

/** Random bytes of a weight: the highest of a linear congruential generator's states. */
function randomBytes(seed: number, count: number): Uint8Array {
  let state = seed;
  return Uint8Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
}

/** The scale of a ternary matrix: outputs are larger than inputs, so attention is to few positions. */
const scaleOf = (columns: number, index: number) =>
  Math.fround((2 + index % 3) / Math.sqrt(columns));

function shapeOf(config: ModelConfig, name: string): readonly number[] {
  const { hiddenSize, feedForwardSize, heads, keyValueHeads, headSize } = config;
  const matrices: Readonly<Record<string, readonly number[]>> = {
    embedding: [config.vocabularySize, hiddenSize],
    head: [config.vocabularySize, hiddenSize],
    query: [heads * headSize, hiddenSize],
    key: [keyValueHeads * headSize, hiddenSize],
    value: [keyValueHeads * headSize, hiddenSize],
    attentionOutput: [hiddenSize, heads * headSize],
    gate: [feedForwardSize, hiddenSize],
    up: [feedForwardSize, hiddenSize],
    down: [hiddenSize, feedForwardSize],
  };
  return matrices[name] ?? [name === "feedForwardSubNorm" ? feedForwardSize : hiddenSize];
}

/** Bytes of the elements of a weight in a file, its format and its scale. */
function contentsOf(
  { config, linearClass }: RandomModel,
  part: string,
  index: number,
): Pick<WeightSource, "shape" | "format" | "scale"> & { readonly bytes: Uint8Array } {
  const shape = shapeOf(config, part);
  const random = randomBytes(index + 1, shape.reduce((product, extent) => product * extent));
  if (part.endsWith("Norm")) {
    const values = Float32Array.from(random, (byte) => 0.5 + byte / 256);
    return { shape, format: "float32", bytes: new Uint8Array(values.buffer) };
  }
  // Of 8 bits, so that they are exact as bfloat16 and float16 too.
  const centred = Float32Array.from(random, (byte) => (byte - 127.5) / 1024);
  if (part === "embedding" || part === "head") {
    return { shape, format: "float32", bytes: new Uint8Array(centred.buffer) };
  }
  if (linearClass === "online") {
    const words = Uint16Array.from(new Uint32Array(centred.buffer), (bits) => bits >>> 16);
    return { shape, format: "bfloat16", bytes: new Uint8Array(words.buffer) };
  }
  const codes = Float32Array.from(random, (byte) => byte % 3 - 1);
  return {
    shape,
    format: "hf-quarters",
    bytes: encode(codes, shape, "hf-quarters", { scale: 1 }),
    scale: scaleOf(shape[1]!, index),
  };
}

/** The names of a model's weights, in the order of their numbers. */
function namesOf({ layers, isHeadTied }: ModelConfig): WeightName[] {
  return [
    "embedding",
    "outputNorm",
    ...(isHeadTied ? [] : ["head" as const]),
    ...Array.from(
      { length: layers },
      (_, layer) => LAYER_WEIGHTS.map((name) => `layers.${layer}.${name}` as const),
    ).flat(),
  ];
}

/** A model as a file gives it. */
export function sourceOf(model: RandomModel): ModelSource {
  const { hasSubNorms } = model.config;
  const weights = namesOf(model.config).map((name, index): [WeightName, WeightSource] => {
    const { bytes, ...own } = contentsOf(model, name.split(".").at(-1)!, index);
    const readInto = (target: Uint8Array, offset: number) => {
      target.set(bytes.subarray(offset, offset + target.length));
      return Promise.resolve();
    };
    const file = { fileName: name, formatOptions: {}, place: undefined };
    return [name, { name, ...file, byteLength: bytes.length, readInto, ...own }];
  });
  return {
    config: model.config,
    weights: new Map(weights.filter(([name]) => hasSubNorms || !name.endsWith("SubNorm"))),
    ...{ tokenizer: undefined, chatTemplate: undefined, facts: new Map() },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
