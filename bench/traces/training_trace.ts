/**
 * The trace `training`: training a transformer of 1.3 billion parameters in mixed precision.
 *
 * The model has the shape of GPT-3 XL (Brown et al., "Language Models are Few-Shot Learners", 2020,
 * table 2.1: 24 layers, width 2 048, heads of 128, context 2 048), its vocabulary padded to 50 304.
 * Parameters and gradients are 16-bit; Adam keeps a 32-bit copy, mean and variance of each
 * parameter. The layers save the tensors of Korthikanti et al., "Reducing Activation Recomputation in
 * Large Transformer Models" (2022), section 4, for the backward pass, with an attention that keeps
 * one 32-bit logarithm per row instead of the scores (Dao et al., "FlashAttention", 2022).
 *
 * A step accumulates gradients over micro-batches of different lengths, as with samples bucketed by
 * length. Every step repeats the lengths.
 *
 * @module
 */

import type { TraceBuilder } from "../../src/lab/memory/trace/memory_trace.ts";
import { type GeneratedTrace, generatedTrace } from "./generated_trace.ts";

const LAYERS = 24;
const WIDTH = 2048;
const HEADS = 16;
const CONTEXT = 2048;
const VOCABULARY = 50304;
const BATCH = 4;
const MICRO_BATCHES = 4;
const STEPS = 6;
const HALF = 2;
const SINGLE = 4;
/** cuBLAS's default workspace on GPUs before Hopper: 4 MiB per handle. */
const WORKSPACE = 4 * 2 ** 20;
/** The most elements that one optimizer kernel updates. */
const OPTIMIZER_CHUNK = 2 ** 26;

/** The elements of a layer's parameters, in the order of its module. */
const LAYER_PARAMETERS: readonly number[] = [
  ...[WIDTH, WIDTH], // layer norm
  ...[3 * WIDTH * WIDTH, 3 * WIDTH], // query, key and value
  ...[WIDTH * WIDTH, WIDTH], // attention's projection
  ...[WIDTH, WIDTH], // layer norm
  ...[4 * WIDTH * WIDTH, 4 * WIDTH], // up
  ...[4 * WIDTH * WIDTH, WIDTH], // down
];

/** Elements of all parameters: embeddings, layers, the last norm; the output reuses the first. */
const PARAMETERS: readonly number[] = [
  VOCABULARY * WIDTH,
  CONTEXT * WIDTH,
  ...Array.from({ length: LAYERS }, () => LAYER_PARAMETERS).flat(),
  WIDTH,
  WIDTH,
];

/** The blocks that a layer keeps for its backward pass, in the order of their allocation. */
interface SavedLayer {
  readonly attention: readonly number[];
  readonly feedForward: readonly number[];
}

class TrainingRun {
  readonly builder: TraceBuilder;
  /** Gradients by parameter during a step. */
  #gradients: number[] = [];
  #hasOptimizerState = false;

  constructor(builder: TraceBuilder) {
    this.builder = builder;
  }

  /** Trains on micro-batches of the given lengths. */
  run(lengths: readonly number[]): void {
    for (const elements of PARAMETERS) this.builder.allocate(elements * HALF);
    this.builder.allocate(WORKSPACE);
    for (let step = 0; step < STEPS; step++) {
      for (const length of lengths) this.#microBatch(BATCH * length);
      this.#update();
      this.builder.freeAll(this.#gradients);
      this.#gradients = [];
      this.builder.point("step");
    }
  }

  /** The forward and backward pass of a micro-batch. */
  #microBatch(tokens: number): void {
    const inputs = [this.builder.allocate(tokens * 8), this.builder.allocate(tokens * 8)];
    const saved = [this.builder.allocate(tokens * WIDTH * HALF)];
    const layers = Array.from({ length: LAYERS }, () => this.#forward(tokens));
    saved.push(...this.#normForward(tokens));
    const loss = this.#loss(tokens);
    let gradient = this.#outputBackward(tokens, loss);
    gradient = this.#normBackward(tokens, gradient, PARAMETERS.length - 2);
    this.builder.freeAll(saved.splice(1));
    for (let layer = LAYERS - 1; layer >= 0; layer--) {
      gradient = this.#backward(tokens, layer, layers[layer]!, gradient);
    }
    this.#gradient(1);
    this.#gradient(0);
    this.builder.free(gradient);
    this.builder.freeAll([...saved, ...inputs]);
  }

  /** Output, mean and deviation of a layer norm. */
  #normForward(tokens: number): number[] {
    return [tokens * WIDTH * HALF, tokens * SINGLE, tokens * SINGLE].map((bytes) =>
      this.builder.allocate(bytes)
    );
  }

  #forward(tokens: number): SavedLayer {
    const { builder } = this;
    const attention = this.#normForward(tokens);
    attention.push(builder.allocate(tokens * 3 * WIDTH * HALF));
    attention.push(builder.allocate(tokens * WIDTH * HALF)); // the attention's output
    attention.push(builder.allocate(tokens * HEADS * SINGLE)); // a logarithm per row
    attention.push(builder.allocate(16)); // the random state of the dropout
    attention.push(...this.#project(tokens));
    const feedForward = this.#normForward(tokens);
    feedForward.push(builder.allocate(tokens * 4 * WIDTH * HALF));
    feedForward.push(builder.allocate(tokens * 4 * WIDTH * HALF)); // after the activation
    feedForward.push(...this.#project(tokens));
    return { attention, feedForward };
  }

  /** Projection, dropout and addition; mask and sum are kept. */
  #project(tokens: number): number[] {
    const projected = this.builder.allocate(tokens * WIDTH * HALF);
    const mask = this.builder.allocate(tokens * WIDTH);
    const dropped = this.builder.allocate(tokens * WIDTH * HALF);
    this.builder.free(projected);
    const sum = this.builder.allocate(tokens * WIDTH * HALF);
    this.builder.free(dropped);
    return [mask, sum];
  }

  /** Logits in 16 bits, their 32-bit copy and its logarithm, which is kept. */
  #loss(tokens: number): number[] {
    const logits = this.builder.allocate(tokens * VOCABULARY * HALF);
    const single = this.builder.allocate(tokens * VOCABULARY * SINGLE);
    const logarithms = this.builder.allocate(tokens * VOCABULARY * SINGLE);
    this.builder.freeAll([single, logits]);
    return [logarithms, this.builder.allocate(SINGLE), this.builder.allocate(SINGLE)];
  }

  #outputBackward(tokens: number, loss: readonly number[]): number {
    const single = this.builder.allocate(tokens * VOCABULARY * SINGLE);
    this.builder.freeAll(loss);
    const logits = this.builder.allocate(tokens * VOCABULARY * HALF);
    this.builder.free(single);
    this.#gradient(0);
    const gradient = this.builder.allocate(tokens * WIDTH * HALF);
    this.builder.free(logits);
    return gradient;
  }

  /** Replaces the gradient of a layer norm's output by that of its input. */
  #normBackward(tokens: number, output: number, parameter: number): number {
    const input = this.builder.allocate(tokens * WIDTH * HALF);
    this.#gradient(parameter);
    this.#gradient(parameter + 1);
    this.builder.free(output);
    return input;
  }

  #backward(tokens: number, layer: number, saved: SavedLayer, output: number): number {
    const first = 2 + layer * LAYER_PARAMETERS.length;
    const middle = this.#half(tokens, first + 6, saved.feedForward, output, 4 * WIDTH);
    return this.#half(tokens, first, saved.attention, middle, 3 * WIDTH);
  }

  /**
   * The backward pass of half a layer: norm, a widening matrix, a narrowing one. Saved blocks are
   * freed in reverse order after their use.
   */
  #half(
    tokens: number,
    parameter: number,
    saved: readonly number[],
    output: number,
    widest: number,
  ): number {
    const { builder } = this;
    const last = [...saved].reverse();
    const dropped = builder.allocate(tokens * WIDTH * HALF);
    builder.freeAll(last.splice(0, 2));
    const inner = builder.allocate(tokens * (widest === 4 * WIDTH ? widest : WIDTH) * HALF);
    this.#gradient(parameter + 4);
    this.#gradient(parameter + 5);
    builder.free(dropped);
    const wide = builder.allocate(tokens * widest * HALF);
    builder.free(inner);
    builder.freeAll(last.splice(0, last.length - 3));
    const normal = builder.allocate(tokens * WIDTH * HALF);
    this.#gradient(parameter + 2);
    this.#gradient(parameter + 3);
    builder.free(wide);
    const input = this.#normBackward(tokens, normal, parameter);
    builder.freeAll(last);
    const sum = builder.allocate(tokens * WIDTH * HALF);
    builder.freeAll([input, output]);
    return sum;
  }

  /** Keeps the first gradient of a step; later ones are added to it and freed. */
  #gradient(parameter: number): void {
    const gradient = this.builder.allocate(PARAMETERS[parameter]! * HALF);
    if (this.#gradients[parameter] === undefined) this.#gradients[parameter] = gradient;
    else this.builder.free(gradient);
  }

  /** Norm of the gradients, then Adam. The first step allocates its state. */
  #update(): void {
    const { builder } = this;
    const norms = PARAMETERS.map(() => builder.allocate(SINGLE));
    const total = builder.allocate(PARAMETERS.length * SINGLE);
    builder.freeAll(norms);
    if (!this.#hasOptimizerState) {
      for (const elements of PARAMETERS) {
        for (let state = 0; state < 3; state++) builder.allocate(elements * SINGLE);
      }
      this.#hasOptimizerState = true;
    }
    for (const chunk of optimizerChunks()) {
      const gradients = chunk.map((elements) => builder.allocate(elements * SINGLE));
      builder.scratch(chunk.length * 5 * 8); // the pointers that the kernel is given
      builder.freeAll(gradients);
    }
    builder.free(total);
  }
}

/** The parameters in groups of one optimizer kernel each. */
function optimizerChunks(): number[][] {
  const chunks: number[][] = [[]];
  let elements = 0;
  for (const parameter of PARAMETERS) {
    if (elements > 0 && elements + parameter > OPTIMIZER_CHUNK) {
      chunks.push([]);
      elements = 0;
    }
    chunks.at(-1)!.push(parameter);
    elements += parameter;
  }
  return chunks;
}

/** The trace. */
export const TRAINING: GeneratedTrace = generatedTrace(
  "training",
  `${STEPS} steps of training a transformer of 1.3 billion parameters in mixed precision, ` +
    `gradients accumulated over ${MICRO_BATCHES} micro-batches of different lengths.`,
  1,
  (builder, random) => {
    // Multiples of 8, which tensor cores prefer.
    const lengths = Array.from(
      { length: MICRO_BATCHES },
      () => 8 * random.integer(64, CONTEXT / 8),
    );
    new TrainingRun(builder).run(lengths);
  },
);
