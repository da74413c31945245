/**
 * A decode step as a graph.
 *
 * @module
 */

import { cannot } from "../../ffi/arguments.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { DeviceBuffer } from "../../memory/device_buffer.ts";
import type { Graph } from "../../stream/graph.ts";
import { defaultStream } from "../../stream/stream.ts";
import type { PageRows } from "../../tensor/attention/page_table.ts";
import { empty, fromBuffer, type Tensor } from "../../tensor/mod.ts";
import type { Batch, DecoderInput, PlacedBatch } from "./decoder.ts";

/** The sizes of a step, which its graph keeps. */
export interface StepSizes {
  /** The largest number of sequences. */
  readonly sequences: number;
  /** The largest number of tokens of a sequence, with the new one. */
  readonly longest: number;
}

/** Chooses the next tokens as a part of a step, which may then read them without the host. */
export interface StepSampling {
  /** The last token of each slot, which an input -1 - slot stands for. */
  readonly fed: Tensor<"int32">;
  /** The logits of steps, at least as many rows as one has. */
  readonly logits: Tensor<"float32">;
  /** The numbers of each row in the settings. */
  readonly columns: number;
  /** Enqueues the choice of a token for each row, and writes two words for each to `chosen`. */
  enqueue(logits: Tensor<"float32">, settings: Tensor<"int32">, chosen: Tensor<"int32">): void;
}

/** What a step needs of its decoder. */
export interface StepDecoder {
  readonly context: DeviceContext;
  readonly vocabularySize: number;
  readonly pageSize: number;
  readonly sampling: StepSampling | undefined;
  /** Checks inputs of one token each. */
  check(inputs: readonly DecoderInput[]): Batch;
  /** The pages of sequences. */
  rowsOf(sequences: readonly number[]): PageRows;
  /** Enqueues the layers and the head. */
  run(batch: PlacedBatch, logits: Tensor<"float32">): void;
  remove(sequence: number): void;
}

/** Numbers of each row before its settings and its pages: the token, the position and the slot. */
const COLUMNS = 3;

/**
 * One token for each of several sequences, as a graph: a run uploads tokens and places in one copy and
 * launches the graph once. Rows without a sequence store nothing.
 */
export class DecodeStep implements Disposable {
  readonly sizes: StepSizes;
  /** A row of logits for each sequence, which each run overwrites. */
  readonly logits: Tensor<"float32">;
  /** The words of the chosen tokens, which each run overwrites. */
  readonly chosen: Tensor<"int32"> | undefined;
  readonly #decoder: StepDecoder;
  /** Numbers of each row before its pages. */
  readonly #columns: number;
  readonly #width: number;
  readonly #state: Int32Array<ArrayBuffer>;
  readonly #buffer: DeviceBuffer<"int32">;
  readonly #places: Tensor<"int32">;
  #graph: Graph | undefined;

  private constructor(decoder: StepDecoder, sizes: StepSizes) {
    const { context, pageSize, vocabularySize, sampling } = decoder;
    const { sequences, longest } = sizes;
    this.sizes = sizes;
    this.#decoder = decoder;
    this.#columns = COLUMNS + (sampling?.columns ?? 0);
    this.#width = 1 + Math.ceil(longest / pageSize);
    this.#state = new Int32Array(sequences * (this.#columns + this.#width));
    this.#buffer = DeviceBuffer.allocate(context, "int32", this.#state.length);
    this.#places = fromBuffer(this.#buffer, [this.#state.length]);
    this.logits = sampling?.logits.slice([{ stop: sequences }]) ??
      empty([sequences, vocabularySize], { device: { context } });
    this.chosen = sampling === undefined
      ? undefined
      : empty([2 * sequences], { dtype: "int32", device: { context } });
  }

  /** Runs the step once with idle rows, so that its kernels are compiled, and captures it. */
  static async capture(decoder: StepDecoder, sizes: StepSizes): Promise<DecodeStep> {
    const step = new DecodeStep(decoder, sizes);
    try {
      step.#upload([], undefined, undefined);
      step.#enqueue();
      await step.logits.ready();
      await step.chosen?.ready();
      step.#graph = defaultStream(decoder.context).capture(() => step.#enqueue());
      return step;
    } catch (error) {
      step[Symbol.dispose]();
      throw error;
    }
  }

  #enqueue(): void {
    const { sequences: count, longest } = this.sizes;
    const part = (column: number, to = column + 1) =>
      this.#places.slice([{ start: column * count, stop: to * count }]);
    using tokens = part(0);
    using positions = part(1);
    using slots = part(2);
    using settings = part(COLUMNS, this.#columns);
    using places = part(this.#columns, this.#columns + this.#width);
    const rows = { places: places as Tensor, count, width: this.#width, longest };
    const groups = [{ tokens: 1, start: 0, rows }];
    const { sampling } = this.#decoder;
    const fed = sampling === undefined ? {} : { fed: sampling.fed };
    this.#decoder.run({ tokens, positions, slots, groups, ...fed }, this.logits);
    sampling?.enqueue(this.logits, settings, this.chosen!);
  }

  #upload(
    sequences: readonly number[],
    batch: Batch | undefined,
    settings: Int32Array | undefined,
  ): void {
    const { sequences: count } = this.sizes;
    this.#state.fill(0);
    // Rows without a sequence have no place for keys, and none for a token.
    this.#state.fill(-1, 2 * count, Math.min(4, this.#columns) * count);
    if (settings !== undefined) this.#state.set(settings, COLUMNS * count);
    if (batch !== undefined) {
      const columns = [batch.tokens, batch.positions, batch.slots];
      columns.forEach((column, at) => this.#state.set(column, at * count));
      const { table, width } = this.#decoder.rowsOf(sequences);
      for (let row = 0; row < sequences.length; row++) {
        const own = table.subarray(row * width, (row + 1) * width);
        this.#state.set(own, this.#columns * count + row * this.#width);
      }
    }
    this.#buffer.copyFrom(this.#state, { stream: defaultStream(this.#decoder.context) });
  }

  /**
   * Runs the step.
   *
   * @param inputs A token for each of different sequences; if the step chooses tokens, -1 - slot stands
   * for the last one of a slot.
   * @param settings How the step chooses tokens: a column of `sizes.sequences` numbers each.
   * @returns {@linkcode DecodeStep.logits}, whose first rows are those of the inputs in their order.
   * @throws {TypeError} If an input is malformed.
   * @throws {RangeError} As `Decoder.forward()`, or if there are more sequences or tokens than the graph
   * takes. Nothing is added then. An error of the device removes the sequences.
   */
  run(
    inputs: readonly { readonly sequence: number; readonly token: number }[],
    settings?: Int32Array,
  ): Tensor<"float32"> {
    const action = "run a decode step";
    if (this.#graph === undefined) throw new TypeError(`${cannot(action)} as it is disposed`);
    const batch = this.#decoder.check(
      inputs.map(({ sequence, token }) => ({ sequence, tokens: [token] })),
    );
    const { sequences: count, longest } = this.sizes;
    const length = 1 + Math.max(...batch.positions);
    if (inputs.length > count || length > longest) {
      throw new RangeError(
        `${cannot(action)} as its graph takes at most ${count} sequences of ${longest} tokens: ` +
          `there are ${inputs.length} of up to ${length}`,
      );
    }
    const sequences = inputs.map(({ sequence }) => sequence);
    try {
      batch.commit();
      this.#upload(sequences, batch, settings);
      this.#graph.launch(defaultStream(this.#decoder.context));
    } catch (error) {
      for (const sequence of sequences) this.#decoder.remove(sequence);
      throw error;
    }
    return this.logits;
  }

  /** Frees the graph and the logits. */
  [Symbol.dispose](): void {
    this.#graph?.[Symbol.dispose]();
    this.#graph = undefined;
    this.#places.dispose();
    this.logits.dispose();
    this.chosen?.dispose();
  }
}
