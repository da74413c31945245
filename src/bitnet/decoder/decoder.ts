/**
 * The decoder of ternary models.
 *
 * @module
 */

import { cannot, checkInteger, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import {
  attendPages,
  type PagedKeys,
  type PlacedRows,
} from "../../tensor/attention/paged_cache.ts";
import { PageTable } from "../../tensor/attention/page_table.ts";
import { concat, empty, fromTypedArray, take, type Tensor } from "../../tensor/mod.ts";
import { TensorScope } from "../../tensor/scope.ts";
import { multiplyQuantized } from "../../ternary/ternary_matmul.ts";
import type { TernaryWeights } from "../../ternary/weights.ts";
import type { ModelConfig } from "../config.ts";
import { type Norm, type QuantizedRows, quantizeGated, quantizeRows } from "./activations.ts";
import { embedTokens, rotateAndStore, rotationOf, type RowPlaces } from "./rotation.ts";
import { DecodeStep, type StepSampling } from "./step.ts";
import { type DecoderDType, logitsOf } from "./table.ts";
import type { DecoderWeights, LayerWeights } from "./weights.ts";

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
export interface Batch {
  readonly tokens: Int32Array<ArrayBuffer>;
  readonly positions: Int32Array<ArrayBuffer>;
  /** The place of each row's key in the pages. */
  readonly slots: Int32Array<ArrayBuffer>;
  readonly groups: readonly Group[];
  /** Adds the tokens to their sequences. */
  readonly commit: () => void;
  /** The first row and the number of rows of each input, in the order of the inputs. */
  readonly places: readonly { readonly start: number; readonly count: number }[];
}

/** A group whose pages are known to the device. */
interface PlacedGroup extends Pick<Group, "tokens" | "start"> {
  readonly rows: PlacedRows;
}

/** A batch on the device. */
export interface PlacedBatch {
  readonly tokens: Tensor<"int32">;
  readonly positions: Tensor<"int32">;
  readonly slots: Tensor<"int32">;
  readonly groups: readonly PlacedGroup[];
  /** The tokens that negative ones stand for: -1 - index. */
  readonly fed?: Tensor<"int32">;
}

/** What all layers read of a batch. */
interface LayerBatch extends RowPlaces {
  readonly groups: readonly PlacedGroup[];
}

/** The state between layers: the residual stream, and the part that the next norm adds to it. */
interface Stream {
  readonly hidden: Tensor;
  readonly pending: Tensor | undefined;
}

const ACTION = "run a decoder";

/**
 * Runs the layers of a ternary model on new tokens of sequences. Their keys and values are in pages,
 * of which each layer has a pool of its own. A sequence has the same pages in all layers.
 *
 * Weights are not disposed with the decoder: several may share them.
 */
export class Decoder implements Disposable {
  readonly weights: DecoderWeights;
  /** Which pages sequences have. */
  readonly table: PageTable;
  readonly #pools: readonly PagedKeys[];

  /**
   * Allocates the pages.
   *
   * @throws {RangeError} If a number is out of range.
   */
  constructor(weights: DecoderWeights, options: DecoderOptions) {
    const action = "make a decoder";
    requireOptions(options, ["pages", "pageSize", "cacheDType"], action);
    const { config, context } = weights;
    const { pages, pageSize = 16, cacheDType: dtype = "float32" } = options;
    if (!["float32", "float16", "bfloat16"].includes(dtype)) {
      refuseOption(TypeError, action, "cacheDType", "float32, float16 or bfloat16", dtype);
    }
    checkInteger(pageSize, "options.pageSize", action, 1, 2 ** 16);
    checkInteger(pages, "options.pages", action, 1, Math.floor((2 ** 31 - 2 ** 16) / pageSize));
    this.weights = weights;
    using scope = new TensorScope();
    const shape = [pages, pageSize, config.keyValueHeads, config.headSize];
    const pool = () => empty(shape, { dtype, device: { context } }) as Tensor;
    this.#pools = Array.from({ length: config.layers }, () => ({ keys: pool(), values: pool() }));
    this.table = new PageTable(pages, pageSize);
    scope.keep(this.#pools);
  }

  /** The shape of the model. */
  get config(): ModelConfig {
    return this.weights.config;
  }

  /** The number of pages of a layer that no sequence has. */
  get freePages(): number {
    return this.table.freePages;
  }

  /** The number of pages of a layer. */
  get pages(): number {
    return this.#pools[0]!.keys.shape[0]!;
  }

  /** Positions of a page. */
  get pageSize(): number {
    return this.#pools[0]!.keys.shape[1]!;
  }

  /** Adds a sequence with some full pages of others, none by default, and returns its number. */
  add(pages: readonly number[] = []): number {
    return this.table.add(pages);
  }

  /** Whether there is such a sequence. */
  has(sequence: number): boolean {
    return this.table.has(sequence);
  }

  /**
   * Removes a sequence. Its pages are free for others.
   *
   * @throws {RangeError} If there is no such sequence.
   */
  remove(sequence: number): void {
    this.table.remove(sequence, "remove a sequence");
  }

  /**
   * The number of tokens of a sequence.
   *
   * @throws {RangeError} If there is no such sequence.
   */
  lengthOf(sequence: number): number {
    return this.table.lengthOf(sequence, "query the length");
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

  /** @param fed The number of tokens on the device, which negative ones stand for. */
  #check(inputs: readonly DecoderInput[], fed = 0): Batch {
    const { vocabularySize, contextLength } = this.config;
    if (!Array.isArray(inputs) || inputs.length === 0) {
      throw new TypeError(
        `${cannot(ACTION)} as inputs must be a list that is not empty: it is ${
          describeValue(inputs)
        }`,
      );
    }
    const known = new Set<number>();
    for (const { sequence, tokens } of inputs as readonly DecoderInput[]) {
      const length = this.table.lengthOf(sequence, ACTION);
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
        checkInteger(tokens[at]!, `tokens[${at}]`, ACTION, -fed, vocabularySize - 1);
      }
      if (length + tokens.length > contextLength) {
        throw new RangeError(
          `${
            cannot(ACTION)
          } as a sequence must have at most ${contextLength} tokens, those of the ` +
            `context: it would have ${length + tokens.length}`,
        );
      }
    }
    return this.#batch(inputs);
  }

  #batch(inputs: readonly DecoderInput[]): Batch {
    // Sequences with equally many tokens are neighbours, so attention takes them at once.
    const sizes = Map.groupBy(inputs.keys(), (at) => inputs[at]!.tokens.length);
    const order = [...sizes.values()].flat();
    const sequences = order.map((at) => inputs[at]!.sequence);
    const counts = order.map((at) => inputs[at]!.tokens.length);
    const { slots, commit } = this.table.grow(sequences, counts, ACTION);
    const [tokens, positions] = [new Int32Array(slots.length), new Int32Array(slots.length)];
    const places: { start: number; count: number }[] = [];
    let start = 0;
    for (const [k, at] of order.entries()) {
      const count = counts[k]!;
      const first = this.table.lengthOf(sequences[k]!, ACTION);
      places[at] = { start, count };
      tokens.set(inputs[at]!.tokens, start);
      for (let row = 0; row < count; row++) positions[start + row] = first + row;
      start += count;
    }
    const groups = [...sizes].map(([count, members]): Group => ({
      sequences: members.map((at) => inputs[at]!.sequence),
      tokens: count,
      start: places[members[0]!]!.start,
    }));
    return { tokens, positions, slots, groups, commit, places };
  }

  /** Adds the tokens of a batch to their sequences, and runs all layers on its rows. */
  #layers({ tokens, positions, slots, groups, commit }: Batch): Stream {
    const uploaded = (values: Int32Array<ArrayBuffer>): Tensor<"int32"> =>
      fromTypedArray(values, [values.length], { device: this.weights });
    commit();
    return this.#run({
      tokens: uploaded(tokens),
      positions: uploaded(positions),
      slots: uploaded(slots),
      groups: groups.map((group) => {
        const { table, ...rows } = this.table.rowsOf(group.sequences, ACTION);
        const count = group.sequences.length;
        return { ...group, rows: { ...rows, count, places: uploaded(table) as Tensor } };
      }),
    });
  }

  /** Runs all layers on rows whose places are on the device. */
  #run({ tokens, positions, fed, ...places }: PlacedBatch): Stream {
    const batch = { ...places, rotation: rotationOf(positions, this.config) };
    const hidden = embedTokens(this.weights.embedding, tokens, fed);
    let stream: Stream = { hidden, pending: undefined };
    for (const [index, layer] of this.weights.layers.entries()) {
      // The memory of a layer is that of the next one.
      using scope = new TensorScope();
      layer.fetch?.();
      const next = this.#layer(layer, this.#pools[index]!, stream, batch);
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
    pool: PagedKeys,
    { hidden, pending }: Stream,
    batch: LayerBatch,
  ): Stream {
    const { feedForwardSize, activation } = this.config;
    const first = quantizeRows(hidden, {
      ...this.#norm(layer.attentionNorm),
      residual: pending,
    });
    const own = first.sum as Tensor | undefined ?? hidden;
    const attended = this.#attention(product(first, layer.queryKeyValue), pool, batch);
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
  #attention(queryKeyValue: Tensor, pool: PagedKeys, batch: LayerBatch): Tensor {
    const { heads, headSize } = this.config;
    const queries = rotateAndStore(queryKeyValue, batch, pool, this.config);
    const outputs = batch.groups.map(({ tokens, start, rows }) => {
      const own = queries.slice([{ start, stop: start + rows.count * tokens }]);
      const q = own.reshape([rows.count, tokens, heads, headSize]).permute([0, 2, 1, 3]);
      const output = attendPages(q, pool, rows, {}, "decodeAttention") as Tensor;
      return output.permute([0, 2, 1, 3]).reshape([rows.count * tokens, heads * headSize]);
    });
    return outputs.length === 1 ? outputs[0]! : concat(outputs) as Tensor;
  }

  /** The logits of the last row of each input, or of all rows, in the order of the inputs. */
  #logits({ hidden, pending }: Stream, { places }: Batch, wanted: "last" | "all") {
    const rows = places.flatMap(({ start, count }) =>
      wanted === "last" ? [start + count - 1] : Array.from({ length: count }, (_, at) => start + at)
    );
    const isWhole = rows.length === hidden.shape[0] && rows.every((row, at) => row === at);
    const indices = isWhole
      ? undefined
      : fromTypedArray(Int32Array.from(rows), [rows.length], { device: this.weights });
    const chosen = (tensor: Tensor) =>
      indices === undefined ? tensor : take(tensor, indices, { axis: 0 }) as Tensor;
    return this.#head({ hidden: chosen(hidden), pending: chosen(pending!) });
  }

  /** The logits of rows, in a new tensor or a given one. */
  #head({ hidden, pending }: Stream, out?: Tensor<"float32">): Tensor<"float32"> {
    const { head, outputNorm: weight } = this.weights;
    const { epsilon } = this.config;
    return logitsOf(hidden, pending!, { weight, epsilon }, head, out);
  }

  /**
   * Captures a step of one token for each of several sequences as a graph.
   *
   * @param sequences The largest number of sequences.
   * @param longest The largest number of tokens of a sequence; that of the context by default.
   * @param sampling How the step chooses tokens; without it, it gives logits only.
   * @throws {RangeError} If a number is out of range.
   */
  async captureStep(
    sequences: number,
    longest: number = this.config.contextLength,
    sampling?: StepSampling,
  ): Promise<DecodeStep> {
    const action = "capture a decode step";
    const { contextLength, vocabularySize } = this.config;
    checkInteger(sequences, "sequences", action, 1, 2 ** 16);
    checkInteger(longest, "longest", action, 1, contextLength);
    return await DecodeStep.capture({
      context: this.weights.context,
      vocabularySize,
      pageSize: this.pageSize,
      sampling,
      check: (inputs) => this.#check(inputs, sampling?.fed.size),
      rowsOf: (numbers) => this.table.rowsOf(numbers, ACTION),
      run: (batch, logits) => {
        using _scope = new TensorScope();
        this.#head(this.#run(batch), logits);
      },
      remove: (sequence) => this.remove(sequence),
    }, { sequences, longest });
  }

  /** Frees the pages of all layers. */
  [Symbol.dispose](): void {
    for (const { keys, values } of this.#pools) {
      keys.dispose();
      values.dispose();
    }
  }
}

/** The product of quantised rows and weights. */
function product({ values, scale }: QuantizedRows, weights: TernaryWeights): Tensor {
  return multiplyQuantized(values, scale, weights) as Tensor;
}
