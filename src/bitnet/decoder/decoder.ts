/**
 * The decoder of ternary models.
 *
 * @module
 */

import { cannot, checkInteger, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import {
  concat,
  decodeAttention,
  embedding,
  fromTypedArray,
  matmul,
  PagedCache,
  rmsNorm,
  rotaryEmbedding,
  take,
  type Tensor,
} from "../../tensor/mod.ts";
import { TensorScope } from "../../tensor/scope.ts";
import { ternaryMatmul } from "../../ternary/ternary_matmul.ts";
import type { TernaryWeights } from "../../ternary/weights.ts";
import type { ModelConfig } from "../config.ts";
import { type Norm, type QuantizedRows, quantizeGated, quantizeRows } from "./activations.ts";
import type { DecoderDType, DecoderWeights, LayerWeights } from "./weights.ts";

/** Options of {@linkcode Decoder}. */
export interface DecoderOptions {
  /** The number of pages of keys and values in each layer, which are allocated at once. */
  readonly pages: number;
  /** Positions of a page; 16 by default. */
  readonly pageSize?: number;
  /** The element type of keys and values; `float32` by default. */
  readonly cacheDType?: DecoderDType;
}

/** New tokens of a sequence. */
export interface DecoderInput {
  /** A number that `add()` returned. */
  readonly sequence: number;
  /** At least one token. */
  readonly tokens: ArrayLike<number>;
}

/** Sequences with equally many new tokens, which are neighbouring rows. */
interface Group {
  readonly sequences: readonly number[];
  /** The new tokens of each sequence. */
  readonly tokens: number;
  /** The first row. */
  readonly start: number;
}

/** The inputs of a call, checked. Rows are tokens of all sequences; groups are neighbours. */
interface Batch {
  readonly tokens: Int32Array<ArrayBuffer>;
  readonly positions: Int32Array<ArrayBuffer>;
  readonly groups: readonly Group[];
  /** The first row and the number of rows of each input, in the order of the inputs. */
  readonly places: readonly { readonly start: number; readonly count: number }[];
}

/** The state between layers: the residual stream, and the part that the next norm adds to it. */
interface Stream {
  readonly hidden: Tensor;
  readonly pending: Tensor | undefined;
}

const ACTION = "run a decoder";

/**
 * Runs the layers of a ternary model on new tokens of sequences. Their keys and values are in pages,
 * of which each layer has a pool of its own.
 *
 * Weights are not disposed with the decoder: several may share them.
 */
export class Decoder implements Disposable {
  readonly weights: DecoderWeights;
  readonly #caches: readonly PagedCache<DecoderDType>[];

  /**
   * Allocates the pages.
   *
   * @throws {RangeError} If a number is out of range.
   */
  constructor(weights: DecoderWeights, options: DecoderOptions) {
    requireOptions(options, ["pages", "pageSize", "cacheDType"], "make a decoder");
    const { config, context } = weights;
    const { cacheDType = "float32", ...pages } = options;
    this.weights = weights;
    using scope = new TensorScope();
    this.#caches = Array.from({ length: config.layers }, () =>
      new PagedCache<DecoderDType>({
        ...pages,
        dtype: cacheDType,
        heads: config.keyValueHeads,
        headSize: config.headSize,
        device: { context },
      }));
    for (const { keys, values } of this.#caches) scope.keep([keys, values]);
  }

  /** The shape of the model. */
  get config(): ModelConfig {
    return this.weights.config;
  }

  /** The number of pages of a layer that no sequence has. */
  get freePages(): number {
    return this.#caches[0]!.freePages;
  }

  /** Adds an empty sequence, and returns its number. */
  add(): number {
    // All layers see the same calls, so they give it the same number.
    return this.#caches.map((cache) => cache.add())[0]!;
  }

  /**
   * Removes a sequence. Its pages are free for others.
   *
   * @throws {RangeError} If there is no such sequence.
   */
  remove(sequence: number): void {
    for (const cache of this.#caches) cache.remove(sequence);
  }

  /**
   * The number of tokens of a sequence.
   *
   * @throws {RangeError} If there is no such sequence.
   */
  lengthOf(sequence: number): number {
    return this.#caches[0]!.lengthOf(sequence);
  }

  /**
   * Runs the model on new tokens of one sequence or several, which grow by them.
   *
   * @param inputs Each sequence once.
   * @param options `logits`: of the last token of each input, by default, or of all tokens.
   * @returns The logits, a row of `vocabularySize` for each token, in the order of the inputs.
   * @throws {TypeError} If an input is malformed.
   * @throws {RangeError} If there is no such sequence; if a token is not in the vocabulary; if a
   * sequence would be longer than the context; if too few pages are free. Nothing is added then. An
   * error of the device leaves no keys of these tokens that could be used: it removes the sequences.
   */
  forward(
    inputs: readonly DecoderInput[],
    { logits = "last" }: { readonly logits?: "last" | "all" } = {},
  ): Tensor<"float32"> {
    if (logits !== "last" && logits !== "all") {
      refuseOption(TypeError, ACTION, "logits", '"last" or "all"', logits);
    }
    const batch = this.#check(inputs);
    try {
      using scope = new TensorScope();
      const stream = this.#layers(batch);
      return scope.keep(this.#logits(stream, batch, logits));
    } catch (error) {
      for (const { sequence } of inputs) this.remove(sequence);
      throw error;
    }
  }

  /**
   * Runs the model on the tokens of a prompt, so many at once as a chunk has.
   *
   * @param tokens At least one.
   * @param chunk The largest number of tokens at once; 512 by default.
   * @returns The logits of the last token: [1, vocabularySize].
   * @throws {RangeError} As {@linkcode Decoder.forward}; nothing is added before all tokens are checked.
   */
  prefill(sequence: number, tokens: ArrayLike<number>, chunk = 512): Tensor<"float32"> {
    checkInteger(chunk, "chunk", ACTION, 1, 2 ** 31 - 1);
    this.#check([{ sequence, tokens }]);
    const all = Int32Array.from(tokens);
    // Only the last token of the last chunk needs the head.
    let start = 0;
    for (; start + chunk < all.length; start += chunk) {
      const part = this.#check([{ sequence, tokens: all.subarray(start, start + chunk) }]);
      try {
        using _scope = new TensorScope();
        this.#layers(part);
      } catch (error) {
        this.remove(sequence);
        throw error;
      }
    }
    return this.forward([{ sequence, tokens: all.subarray(start) }]);
  }

  #check(inputs: readonly DecoderInput[]): Batch {
    const { vocabularySize, contextLength } = this.config;
    if (!Array.isArray(inputs) || inputs.length === 0) {
      throw new TypeError(
        `${cannot(ACTION)} as inputs must be a list that is not empty: it is ${
          describeValue(inputs)
        }`,
      );
    }
    const known = new Set<number>();
    let needed = 0;
    const pageSize = this.#caches[0]!.keys.shape[1]!;
    for (const { sequence, tokens } of inputs as readonly DecoderInput[]) {
      const length = this.lengthOf(sequence);
      if (known.has(sequence)) {
        throw new TypeError(
          `${cannot(ACTION)} as inputs must have each sequence once: ${sequence} is there twice`,
        );
      }
      known.add(sequence);
      if (!(tokens?.length > 0)) {
        throw new TypeError(
          `${cannot(ACTION)} as tokens must be a list that is not empty: it is ${
            describeValue(tokens)
          }`,
        );
      }
      for (let at = 0; at < tokens.length; at++) {
        checkInteger(tokens[at]!, `tokens[${at}]`, ACTION, 0, vocabularySize - 1);
      }
      if (length + tokens.length > contextLength) {
        throw new RangeError(
          `${
            cannot(ACTION)
          } as a sequence must have at most ${contextLength} tokens, those of the ` +
            `context: it would have ${length + tokens.length}`,
        );
      }
      needed += Math.ceil((length + tokens.length) / pageSize) - Math.ceil(length / pageSize);
    }
    if (needed > this.freePages) {
      throw new RangeError(
        `${cannot(ACTION)} as enough pages must be free: it needs ${needed} of ${this.freePages}`,
      );
    }
    return this.#batch(inputs);
  }

  #batch(inputs: readonly DecoderInput[]): Batch {
    // Sequences with equally many tokens are neighbours, so attention takes them at once.
    const sizes = Map.groupBy(inputs.keys(), (at) => inputs[at]!.tokens.length);
    const rows = inputs.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const [all, positions] = [new Int32Array(rows), new Int32Array(rows)];
    const places: { start: number; count: number }[] = [];
    let start = 0;
    const groups: Group[] = [];
    for (const [tokens, members] of sizes) {
      groups.push({ sequences: members.map((at) => inputs[at]!.sequence), tokens, start });
      for (const at of members) {
        places[at] = { start, count: tokens };
        const first = this.lengthOf(inputs[at]!.sequence);
        for (let k = 0; k < tokens; k++) {
          all[start + k] = inputs[at]!.tokens[k]!;
          positions[start + k] = first + k;
        }
        start += tokens;
      }
    }
    return { tokens: all, positions, groups, places };
  }

  /** Runs all layers on the rows of a batch. */
  #layers({ tokens, positions, groups }: Batch): Stream {
    const { context, layers } = this.weights;
    const place = { device: { context } };
    const places = fromTypedArray(positions, [positions.length], place);
    const indices: Tensor<"int32"> = fromTypedArray(tokens, [tokens.length], place);
    const rows = embedding(this.weights.embedding, indices) as Tensor;
    let stream: Stream = { hidden: converted(rows, "float32"), pending: undefined };
    for (const [index, layer] of layers.entries()) {
      // The memory of a layer is that of the next one.
      using scope = new TensorScope();
      const next = this.#layer(layer, this.#caches[index]!, stream, places, groups);
      stream.pending?.dispose();
      if (next.hidden !== stream.hidden) stream.hidden.dispose();
      stream = scope.keep(next);
    }
    return stream;
  }

  #norm(weight: Tensor<"float32"> | undefined): { readonly norm: Norm | undefined } {
    const { epsilon } = this.config;
    return { norm: weight === undefined ? undefined : { weight, epsilon } };
  }

  #layer(
    layer: LayerWeights,
    cache: PagedCache<DecoderDType>,
    { hidden, pending }: Stream,
    positions: Tensor<"int32">,
    groups: readonly Group[],
  ): Stream {
    const { feedForwardSize, activation } = this.config;
    const first = quantizeRows(hidden, {
      ...this.#norm(layer.attentionNorm),
      residual: pending,
    });
    const own = first.sum as Tensor | undefined ?? hidden;
    const attended = this.#attention(product(first, layer.queryKeyValue), cache, positions, groups);
    const output = product(
      quantizeRows(attended, this.#norm(layer.attentionSubNorm)),
      layer.attentionOutput,
    );
    const second = quantizeRows(own, { ...this.#norm(layer.feedForwardNorm), residual: output });
    const gateUp = product(second, layer.gateUp);
    const gated = quantizeGated(
      gateUp.slice([{}, { stop: feedForwardSize }]),
      gateUp.slice([{}, { start: feedForwardSize }]),
      activation,
      this.#norm(layer.feedForwardSubNorm),
    );
    return { hidden: second.sum as Tensor, pending: product(gated, layer.down) };
  }

  /** Attention of the rows of queries, keys and values: [rows, heads · headSize]. */
  #attention(
    queryKeyValue: Tensor,
    cache: PagedCache<DecoderDType>,
    positions: Tensor<"int32">,
    groups: readonly Group[],
  ): Tensor {
    const { heads, keyValueHeads, headSize, ropeTheta, ropePairs } = this.config;
    const rows = positions.size;
    const { dtype } = cache.keys;
    const split = queryKeyValue.reshape([rows, heads + 2 * keyValueHeads, headSize]);
    const headsFirst = split.permute([1, 0, 2]) as Tensor as Tensor<"float32">;
    const rotated = rotaryEmbedding(headsFirst.slice([{ stop: heads + keyValueHeads }]), {
      positions,
      interleaved: ropePairs === "interleaved",
      base: ropeTheta,
    }) as Tensor;
    const queriesAndKeys = converted(rotated, dtype);
    const values = converted(headsFirst.slice([{ start: heads + keyValueHeads }]) as Tensor, dtype);
    const outputs = groups.map(({ sequences, tokens, start }) => {
      const count = sequences.length;
      /** [sequences, heads, tokens, headSize] of some heads. */
      const ofGroup = (tensor: Tensor, from: number, to: number) => {
        const own = tensor.slice([
          { start: from, stop: to },
          { start, stop: start + count * tokens },
        ]);
        return own.reshape([to - from, count, tokens, headSize])
          .permute([1, 0, 2, 3]) as Tensor as Tensor<DecoderDType>;
      };
      const keys = ofGroup(queriesAndKeys, heads, heads + keyValueHeads);
      cache.append(sequences, keys, ofGroup(values, 0, keyValueHeads));
      const queries = ofGroup(queriesAndKeys, 0, heads);
      const output = decodeAttention(queries, cache, sequences);
      return output.permute([0, 2, 1, 3]).reshape([count * tokens, heads * headSize]) as Tensor;
    });
    return outputs.length === 1 ? outputs[0]! : concat(outputs) as Tensor;
  }

  /** The logits of the last row of each input, or of all rows, in the order of the inputs. */
  #logits({ hidden, pending }: Stream, { places }: Batch, wanted: "last" | "all") {
    const { head, outputNorm } = this.weights;
    const rows = places.flatMap(({ start, count }) =>
      wanted === "last" ? [start + count - 1] : Array.from({ length: count }, (_, at) => start + at)
    );
    const isWhole = rows.length === hidden.shape[0] && rows.every((row, at) => row === at);
    const indices = isWhole
      ? undefined
      : fromTypedArray(Int32Array.from(rows), [rows.length], { device: head });
    const chosen = (tensor: Tensor) =>
      (indices === undefined ? tensor : take(tensor, indices, { axis: 0 })) as Tensor<"float32">;
    const { epsilon } = this.config;
    const { y } = rmsNorm(chosen(hidden), {
      weight: outputNorm,
      epsilon,
      residual: chosen(pending!),
    });
    return matmul(converted(y as Tensor, head.dtype), head.transpose(), { dtype: "float32" });
  }

  /** Frees the pages of all layers. */
  [Symbol.dispose](): void {
    for (const cache of this.#caches) cache[Symbol.dispose]();
  }
}

/** The product of quantised rows and weights. */
function product({ values, scale }: QuantizedRows, weights: TernaryWeights): Tensor {
  return ternaryMatmul(values, weights, { scale }) as Tensor;
}

/** The elements as another type; the tensor itself if it has that one. */
function converted(tensor: Tensor, dtype: DecoderDType): Tensor {
  return tensor.dtype === dtype ? tensor : tensor.astype(dtype) as Tensor;
}
