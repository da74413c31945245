/**
 * The trace `multi-stream`: a pipeline over several streams.
 *
 * Batches of varying size are copied on one stream, worked on by two in turn, and their results
 * sent away on a fourth, as when input, computation and communication overlap. A batch is allocated
 * on the copy stream and used by a compute stream; a result is allocated on a compute stream and
 * used by the sending one; both are freed as soon as the program has enqueued the work, long before
 * it is done. The program waits for a result now and then. After some batches the compute streams
 * are disposed and others take their place, as when a worker is replaced, while blocks that they
 * used live on.
 *
 * @module
 */

import type { MemoryTrace } from "./memory_trace.ts";
import { SeededRandom } from "./seeded_random.ts";
import { TraceBuilder } from "./trace_builder.ts";

const COPY = 0;
const SEND = 1;
const FIRST_COMPUTE = 2;
const COMPUTE_STREAMS = 2;
/** Batches of a step, of which the same sizes come again, and steps. */
const BATCHES = 48;
const STEPS = 8;
/** Layers that a batch goes through. */
const LAYERS = 12;
const WIDTH = 4096;
const SINGLE = 4;
/** A result is waited for after so many batches. */
const WAIT = 8;
/** Results that are kept for later, such as what is sent together. */
const KEPT = 4;
/** In which steps the compute streams are replaced, before the first batch. */
const REPLACED: readonly number[] = [2, 5];

class PipelineRun {
  readonly builder = new TraceBuilder();
  readonly #rows: readonly number[];
  #compute = FIRST_COMPUTE;
  /** Results that are not freed yet, oldest first. */
  readonly #results: number[] = [];

  constructor(random: SeededRandom) {
    this.#rows = Array.from({ length: BATCHES }, () => random.logarithmic(16, 6000));
  }

  run(): void {
    for (let stream = 0; stream < FIRST_COMPUTE + COMPUTE_STREAMS; stream++) {
      this.builder.allocate(2 ** 22, stream); // a workspace of each
    }
    for (let step = 0; step < STEPS; step++) {
      if (REPLACED.includes(step)) this.#replaceStreams();
      this.#rows.forEach((rows, index) => this.#batch(rows, index));
      this.builder.point("step");
    }
    this.builder.freeAll(this.#results);
  }

  #batch(rows: number, index: number): void {
    const { builder } = this;
    const stream = this.#compute + index % COMPUTE_STREAMS;
    const input = builder.allocate(rows * WIDTH * SINGLE, COPY);
    builder.use(input, stream);
    const result = this.#layers(rows, stream);
    builder.free(input);
    builder.use(result, SEND);
    const packed = builder.allocate(Math.ceil(rows * WIDTH * SINGLE / 4), SEND);
    builder.use(packed, stream);
    builder.free(packed);
    this.#results.push(result);
    if (this.#results.length > KEPT) builder.free(this.#results.shift()!);
    if (index % WAIT === WAIT - 1) builder.synchronize(SEND);
  }

  #layers(rows: number, stream: number): number {
    let output = this.builder.allocate(rows * WIDTH * SINGLE, stream);
    for (let layer = 0; layer < LAYERS; layer++) {
      const inner = this.builder.allocate(rows * 4 * WIDTH * SINGLE, stream);
      this.builder.scratch(rows * SINGLE, stream);
      const next = this.builder.allocate(rows * WIDTH * SINGLE, stream);
      this.builder.freeAll([inner, output]);
      output = next;
    }
    return output;
  }

  #replaceStreams(): void {
    for (let index = 0; index < COMPUTE_STREAMS; index++) {
      this.builder.synchronize(this.#compute + index);
      this.builder.dispose(this.#compute + index);
    }
    this.#compute += COMPUTE_STREAMS;
  }
}

/** Makes the trace `multi-stream`. */
export function createMultiStreamTrace(): MemoryTrace {
  const run = new PipelineRun(new SeededRandom(4));
  run.run();
  return run.builder.build("multi-stream", MULTI_STREAM_DESCRIPTION);
}

/** What the trace is. */
export const MULTI_STREAM_DESCRIPTION: string =
  `${STEPS} steps of a pipeline over four streams: blocks of one are used on others and freed at ` +
  "once, and streams are replaced.";
