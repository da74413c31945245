/**
 * The graphs of decode steps, for few sizes.
 *
 * @module
 */

import type { Decoder } from "./decoder.ts";
import type { DecodeStep, StepSampling } from "./step.ts";

/** Longest sequences of graphs: attention to few keys takes fewer launches. */
const FIRST_LONGEST = 256;
const LONGEST_FACTOR = 4;

/** Graphs of steps with powers of two of sequences and few lengths, captured when they are first needed. */
export class StepGraphs implements Disposable {
  readonly #decoder: Decoder;
  readonly #sampling: StepSampling;
  readonly #maxSequences: number;
  readonly #steps = new Map<string, DecodeStep>();

  constructor(decoder: Decoder, sampling: StepSampling, maxSequences: number) {
    this.#decoder = decoder;
    this.#sampling = sampling;
    this.#maxSequences = maxSequences;
  }

  /** The graph for so many sequences of so many tokens, or a larger one. */
  async of(sequences: number, tokens: number): Promise<DecodeStep> {
    const { contextLength } = this.#decoder.config;
    const rows = Math.min(2 ** Math.ceil(Math.log2(sequences)), this.#maxSequences);
    let longest = FIRST_LONGEST;
    while (longest < tokens) longest *= LONGEST_FACTOR;
    longest = Math.min(longest, contextLength);
    const key = `${rows} ${longest}`;
    const known = this.#steps.get(key);
    if (known !== undefined) return known;
    const step = await this.#decoder.captureStep(rows, longest, this.#sampling);
    this.#steps.set(key, step);
    return step;
  }

  [Symbol.dispose](): void {
    for (const step of this.#steps.values()) step[Symbol.dispose]();
    this.#steps.clear();
  }
}
