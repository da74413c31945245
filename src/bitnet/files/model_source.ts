/**
 * Models in files: their weights by the places of a decoder.
 *
 * @module
 */

import type { FormatOptions, TernaryFormat } from "../../ternary/mod.ts";
import type { ModelConfig } from "../config.ts";
import type { BlockFormat } from "./block_formats.ts";

/**
 * The place of a weight in a layer.
 * @category Files
 */
export type LayerWeightName =
  | "attentionNorm"
  | "query"
  | "key"
  | "value"
  | "attentionSubNorm"
  | "attentionOutput"
  | "feedForwardNorm"
  | "gate"
  | "up"
  | "feedForwardSubNorm"
  | "down";

/** The places of a layer's weights, in the order of their use. */
const LAYER_WEIGHTS: readonly LayerWeightName[] = [
  "attentionNorm",
  "query",
  "key",
  "value",
  "attentionSubNorm",
  "attentionOutput",
  "feedForwardNorm",
  "gate",
  "up",
  "feedForwardSubNorm",
  "down",
];

/**
 * The place of a weight in a decoder; those of layers once for each layer.
 * @category Files
 */
export type WeightName =
  | "embedding"
  | "outputNorm"
  | "head"
  | `layers.${number}.${LayerWeightName}`;

/**
 * The format of a weight's bytes: a ternary format, a floating-point type, or a block format.
 * @category Files
 */
export type WeightFormat =
  | TernaryFormat
  | "float32"
  | "float16"
  | "bfloat16"
  | BlockFormat;

/**
 * A weight in a file.
 * @category Files
 */
export interface WeightSource {
  /** Its place in the decoder. */
  readonly name: WeightName;
  /** Its name in the file. */
  readonly fileName: string;
  /** `[rows, columns]` of a matrix, which are outputs and inputs, or `[length]`. */
  readonly shape: readonly number[];
  /** The format of its bytes. */
  readonly format: WeightFormat;
  /** What completes a ternary format: the order of `i2_s`, the tile of `tl1` and `tl2`. */
  readonly formatOptions: FormatOptions;
  /** The number of its bytes. */
  readonly byteLength: number;
  /**
   * The factor of a matrix beside the scales among its bytes, or the scales of its blocks; to be
   * multiplied, also where the file's own number divides.
   */
  readonly scale?: number | Float32Array<ArrayBuffer>;
  /**
   * How to quantise a matrix of a linear layer that is stored in floating point: by its mean
   * magnitude, as master weights, or by its largest one, because all its elements are 0 or plus or
   * minus one number.
   */
  readonly quantization?: "mean" | "largest";
  /** The place of the bytes, if they are in one piece of one file. */
  readonly place: { readonly path: string; readonly offset: number } | undefined;
  /**
   * Reads bytes.
   *
   * @param target The bytes are written here, as many as it has.
   * @param offset The first byte of the weight.
   */
  readInto(target: Uint8Array, offset: number): Promise<void>;
}

/**
 * The tokenizer in a model's files, as it stands there.
 * @category Files
 */
export type TokenizerFiles =
  | {
    /** `tokenizer.json` and `tokenizer_config.json`. */
    readonly kind: "json";
    /** The content of `tokenizer.json`. */
    readonly tokenizer: Readonly<Record<string, unknown>>;
    /** The content of `tokenizer_config.json`; empty if there is none. */
    readonly config: Readonly<Record<string, unknown>>;
  }
  | {
    /** Keys of a GGUF file. */
    readonly kind: "gguf";
    /** The keys that begin with `tokenizer.`, with arrays as arrays: a vocabulary takes 0.1 s. */
    metadata(): Readonly<Record<string, unknown>>;
  };

/**
 * An opened model.
 * @category Files
 */
export interface ModelSource extends AsyncDisposable {
  /** The decoder's dimensions and constants. */
  readonly config: ModelConfig;
  /** The weights by their places. */
  readonly weights: ReadonlyMap<WeightName, WeightSource>;
  /** The tokenizer, if the files have one. */
  readonly tokenizer: TokenizerFiles | undefined;
  /** The template of chats, if the files have one. */
  readonly chatTemplate: string | undefined;
  /** Facts about the model: its name, license, file type. */
  readonly facts: ReadonlyMap<string, string>;
}

/**
 * How the weights of type 36 (I2_S) in a GGUF file are coded. Files do not say: by default, it is
 * concluded from the number of bytes, and `i2s-128` where several fit.
 * @category Files
 */
export type I2sLayout = "i2s-128" | "i2s-64" | "i2s-seq" | "bn32-twos" | "bn32-offset2";

/** The values of {@linkcode I2sLayout}. */
export const I2S_LAYOUTS: readonly I2sLayout[] = [
  "i2s-128",
  "i2s-64",
  "i2s-seq",
  "bn32-twos",
  "bn32-offset2",
];

/**
 * Options of {@linkcode openSource}.
 * @category Files
 */
export interface SourceOptions {
  /** The layout of I2_S weights in a GGUF file. */
  readonly layout?: I2sLayout;
}

/** The shape that a decoder has at a place. */
export function shapeAt(name: WeightName, config: ModelConfig): readonly number[] {
  const { hiddenSize, feedForwardSize, heads, keyValueHeads, headSize, vocabularySize } = config;
  switch (name.slice(name.lastIndexOf(".") + 1)) {
    case "embedding":
    case "head":
      return [vocabularySize, hiddenSize];
    case "query":
      return [heads * headSize, hiddenSize];
    case "key":
    case "value":
      return [keyValueHeads * headSize, hiddenSize];
    case "attentionOutput":
      return [hiddenSize, heads * headSize];
    case "gate":
    case "up":
      return [feedForwardSize, hiddenSize];
    case "down":
      return [hiddenSize, feedForwardSize];
    case "attentionSubNorm":
      return [heads * headSize];
    case "feedForwardSubNorm":
      return [feedForwardSize];
    default:
      return [hiddenSize];
  }
}

/** The places of all weights of a decoder, in the order of their use. */
export function* weightNames(
  { layers, hasSubNorms, isHeadTied }: ModelConfig,
): Generator<WeightName> {
  yield "embedding";
  for (let layer = 0; layer < layers; layer++) {
    for (const part of LAYER_WEIGHTS) {
      if (hasSubNorms || !part.endsWith("SubNorm")) yield `layers.${layer}.${part}`;
    }
  }
  yield "outputNorm";
  if (!isHeadTied) yield "head";
}

/** Whether a place is that of a linear layer, whose weights are ternary. */
export function isLinear(name: WeightName): boolean {
  return name.startsWith("layers.") && !name.endsWith("Norm");
}
