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

/** What a step needs of its decoder. */
export interface StepDecoder {
  readonly context: DeviceContext;
  readonly vocabularySize: number;
  readonly pageSize: number;
  /** Checks inputs of one token each. */
  check(inputs: readonly DecoderInput[]): Batch;
  /** The pages of sequences. */
  rowsOf(sequences: readonly number[]): PageRows;
  /** Enqueues the layers and the head. */
  run(batch: PlacedBatch, logits: Tensor<"float32">): void;
  remove(sequence: number): void;
}

/** Numbers of each row before its pages: the token, the position and the slot. */
const COLUMNS = 3;

/**
 * One token for each of several sequences, as a graph: a run uploads tokens and places in one copy and
 * launches the graph once. Rows without a sequence store nothing.
 */
export class DecodeStep implements Disposable {
  readonly sizes: StepSizes;
  /** A row of logits for each sequence, which each run overwrites. */
  readonly logits: Tensor<"float32">;
  readonly #decoder: StepDecoder;
  readonly #width: number;
  readonly #state: Int32Array<ArrayBuffer>;
  readonly #buffer: DeviceBuffer<"int32">;
  readonly #places: Tensor<"int32">;
  #graph: Graph | undefined;

  private constructor(decoder: StepDecoder, sizes: StepSizes) {
    const { context, pageSize, vocabularySize } = decoder;
    const { sequences, longest } = sizes;
    this.sizes = sizes;
    this.#decoder = decoder;
    this.#width = 1 + Math.ceil(longest / pageSize);
    this.#state = new Int32Array(sequences * (COLUMNS + this.#width));
    this.#buffer = DeviceBuffer.allocate(context, "int32", this.#state.length);
    this.#places = fromBuffer(this.#buffer, [this.#state.length]);
    this.logits = empty([sequences, vocabularySize], { device: { context } });
  }

  /** Runs the step once with idle rows, so that its kernels are compiled, and captures it. */
  static async capture(decoder: StepDecoder, sizes: StepSizes): Promise<DecodeStep> {
    const step = new DecodeStep(decoder, sizes);
    try {
      step.#upload([], undefined);
      step.#enqueue();
      await step.logits.toArray();
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
    using places = part(COLUMNS, COLUMNS + this.#width);
    const rows = { places: places as Tensor, count, width: this.#width, longest };
    const groups = [{ tokens: 1, start: 0, rows }];
    this.#decoder.run({ tokens, positions, slots, groups }, this.logits);
  }

  #upload(sequences: readonly number[], batch: Batch | undefined): void {
    const { sequences: count } = this.sizes;
    this.#state.fill(0);
    this.#state.fill(-1, 2 * count, COLUMNS * count);
    if (batch !== undefined) {
      const columns = [batch.tokens, batch.positions, batch.slots];
      columns.forEach((column, at) => this.#state.set(column, at * count));
      const { table, width } = this.#decoder.rowsOf(sequences);
      for (let row = 0; row < sequences.length; row++) {
        const own = table.subarray(row * width, (row + 1) * width);
        this.#state.set(own, COLUMNS * count + row * this.#width);
      }
    }
    this.#buffer.copyFrom(this.#state, { stream: defaultStream(this.#decoder.context) });
  }

  /**
   * Runs the step.
   *
   * @param inputs A token for each of different sequences.
   * @returns {@linkcode DecodeStep.logits}, whose first rows are those of the inputs in their order.
   * @throws {TypeError} If an input is malformed.
   * @throws {RangeError} As `Decoder.forward()`, or if there are more sequences or tokens than the graph
   * takes. Nothing is added then. An error of the device removes the sequences.
   */
  run(
    inputs: readonly { readonly sequence: number; readonly token: number }[],
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
      this.#upload(sequences, batch);
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
  }
}
