/**
 * The choice of the next tokens from logits, on the device.
 *
 * @module
 */

import SAMPLING from "../../../csrc/kernels/bitnet/sampling.cuh" with { type: "text" };
import LOOPS from "../../../csrc/kernels/bitnet/sampling_loops.cuh" with { type: "text" };
import THREADS from "../../../csrc/kernels/bitnet/sampling_threads.cuh" with { type: "text" };
import type { DeviceContext } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { KernelTemplate, templates } from "../../tensor/kit/expression/kernel_template.ts";
import { TENSOR_HEADERS } from "../../tensor/kit/expression/tensor_headers.ts";
import { runTemplate } from "../../tensor/kit/templates.ts";
import { empty, fromTypedArray, type Tensor, zeros } from "../../tensor/mod.ts";
import { TensorScope } from "../../tensor/scope.ts";
import { storageOf } from "../../tensor/tensor.ts";
import type { StepSampling } from "../decoder/step.ts";
import type { SamplingSettings } from "./settings.ts";

const sampling = new KernelTemplate("sampling", ["kernels/bitnet/sampling.cuh"], {
  ...TENSOR_HEADERS,
  "kernels/bitnet/sampling.cuh": SAMPLING,
  "kernels/bitnet/sampling_loops.cuh": LOOPS,
  "kernels/bitnet/sampling_threads.cuh": THREADS,
});

/** Threads of a row. */
const THREADS_OF_ROW = 1024;

/** A row of logits, and how its token is chosen. */
export interface SampledRow {
  readonly settings: SamplingSettings;
  /** The place of its sequence in the sampler. */
  readonly slot: number;
  /** The number of the draw: that of the tokens before. */
  readonly draw: number;
}

/** A chosen token. */
export interface SampledToken {
  readonly token: number;
  /** Of the token in the model's own distribution. */
  readonly logProbability: number;
}

/** The numbers of each row in the settings of a call, `Column` of sampling.cuh. */
const COLUMNS = 9;

const words = new Int32Array(1);
const floats = new Float32Array(words.buffer);
function floatBits(value: number): number {
  floats[0] = value;
  return words[0]!;
}

/**
 * Settings of rows for the device: a column of `count` numbers each. Rows without a sequence choose
 * nothing.
 */
export function settingsOf(
  rows: readonly (SampledRow | undefined)[],
  count: number = rows.length,
): Int32Array<ArrayBuffer> {
  const target = new Int32Array(COLUMNS * count).fill(-1, 0, count);
  for (const [at, row] of rows.entries()) {
    if (row === undefined) continue;
    const { settings, slot, draw } = row;
    const { seed, temperature, topK, topP, minP, repetitionPenalty } = settings;
    const numbers = [
      slot,
      draw,
      Number(BigInt.asIntN(32, seed)),
      Number(BigInt.asIntN(32, seed >> 32n)),
      ...[floatBits(temperature), topK],
      ...[topP, minP, repetitionPenalty].map(floatBits),
    ];
    for (const [column, number] of numbers.entries()) target[column * count + at] = number;
  }
  return target;
}

/** The tokens of a call, as the device has written them. */
export function readTokens(chosen: Int32Array, rows: number): SampledToken[] {
  const all = new Float32Array(chosen.buffer, chosen.byteOffset, chosen.length);
  return Array.from({ length: rows }, (_, row) => ({
    token: chosen[2 * row]!,
    logProbability: all[2 * row + 1]!,
  }));
}

/** Chooses tokens, and keeps what later choices need of each sequence. */
export class Sampler implements StepSampling, Disposable {
  readonly columns = COLUMNS;
  readonly fed: Tensor<"int32">;
  readonly logits: Tensor<"float32">;
  readonly #distances: Tensor<"float32">;
  readonly #seen: Tensor<"int32">;
  readonly #words: number;
  readonly #vocabularySize: number;

  /**
   * @param slots The largest number of sequences, and of rows of a call.
   * @param columns The columns of logits.
   * @param vocabularySize Tokens from here on are never chosen.
   */
  constructor(context: DeviceContext, slots: number, columns: number, vocabularySize: number) {
    this.#vocabularySize = Math.min(columns, vocabularySize);
    using scope = new TensorScope();
    this.logits = empty([slots, columns], { device: { context } });
    this.#distances = empty([slots, columns], { device: { context } });
    this.#words = Math.ceil(this.#vocabularySize / 32);
    this.fed = zeros([slots], { dtype: "int32", device: { context } });
    this.#seen = zeros([slots * this.#words], { dtype: "int32", device: { context } });
    scope.keep([this.logits, this.#distances, this.fed, this.#seen]);
  }

  /** Remembers the tokens of a sequence's text, for the repetition penalty. */
  remember(slot: number, tokens: readonly number[]): void {
    const bits = new Int32Array(this.#words);
    for (const token of tokens) {
      if (token < this.#vocabularySize) bits[token >> 5]! |= 1 << (token & 31);
    }
    using own = fromTypedArray(bits, [bits.length], { device: this.#seen });
    runTemplate({
      action: "remember tokens",
      template: templates.map,
      inputs: { own: own as Tensor },
      results: { seen: this.#seen as Tensor },
      numbers: { first: slot * this.#words },
      body: `  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 word) {
    seen[first + word] = own[word];
  });`,
      size: bits.length,
    }, streamFor(own.context, undefined));
  }

  /**
   * Chooses a token of each row.
   *
   * @param logits [rows, columns].
   * @param settings What `settingsOf()` gives for the rows.
   * @param chosen Two words for each row, for `readTokens()`.
   */
  enqueue(logits: Tensor<"float32">, settings: Tensor<"int32">, chosen: Tensor<"int32">): void {
    const { context } = logits;
    const [rows, columns] = logits.shape as [number, number];
    const stream = streamFor(context, undefined);
    const { form } = storageOf(logits as Tensor).work;
    runTemplate({
      action: "sample tokens",
      template: sampling,
      launchBounds: [THREADS_OF_ROW, 1],
      inputs: { logits: logits as Tensor, settings: settings as Tensor },
      results: {
        chosen: chosen as Tensor,
        fed: this.fed as Tensor,
        seen: this.#seen as Tensor,
        distances: this.#distances as Tensor,
      },
      numbers: { rows, columns, words: this.#words, n: this.#vocabularySize },
      body: `  const i64 row = blockIdx.x;
  gridstride::bitnet::sample_row(row, rows, n, logits + row * columns, settings,
                                 distances + row * columns, words, seen, fed, chosen);`,
      size: rows,
      grid: { grid: rows, block: form === "block" ? 1 : THREADS_OF_ROW },
    }, stream);
  }

  /** Chooses a token of each row, and reads them. Rows without a sequence choose nothing. */
  async choose(
    logits: Tensor<"float32">,
    rows: readonly (SampledRow | undefined)[],
  ): Promise<SampledToken[]> {
    const columns = settingsOf(rows);
    using settings = fromTypedArray(columns, [columns.length], { device: logits });
    using chosen = empty([2 * rows.length], { dtype: "int32", device: logits });
    this.enqueue(logits, settings, chosen);
    return readTokens(await chosen.toArray(), rows.length);
  }

  [Symbol.dispose](): void {
    this.fed.dispose();
    this.logits.dispose();
    this.#distances.dispose();
    this.#seen.dispose();
  }
}
