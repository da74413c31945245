/**
 * What the decoder reads of a model file.
 *
 * @module
 */

import type { TernaryFormat } from "../../ternary/layouts.ts";
import type { ModelConfig } from "../config.ts";

/** The places of a layer's weights. */
export type LayerWeightName =
  | "attentionNorm"
  | "attentionSubNorm"
  | "feedForwardNorm"
  | "feedForwardSubNorm"
  | "query"
  | "key"
  | "value"
  | "attentionOutput"
  | "gate"
  | "up"
  | "down";

/** The places of a decoder's weights. */
export type WeightName =
  | "embedding"
  | "outputNorm"
  | "head"
  | `layers.${number}.${LayerWeightName}`;

/** A weight in a file. */
export interface WeightSource {
  readonly name: WeightName;
  /** Rows, which are outputs, and columns of a matrix; or the length of a vector. */
  readonly shape: readonly number[];
  /** A ternary format, a floating type, or a format of blocks. */
  readonly format:
    | TernaryFormat
    | "float32"
    | "float16"
    | "bfloat16"
    | "q8_0"
    | "q6_k"
    | "q4_k";
  readonly byteLength: number;
  /** The factor of a ternary matrix where its bytes do not hold it. */
  readonly scale?: number;
  /** Reads bytes of the weight from an offset on, as many as the target has. */
  readInto(target: Uint8Array, offset: number): Promise<void>;
}

/** An opened model. */
export interface ModelSource extends AsyncDisposable {
  readonly config: ModelConfig;
  readonly weights: ReadonlyMap<WeightName, WeightSource>;
}
