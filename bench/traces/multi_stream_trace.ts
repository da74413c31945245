/**
 * The trace `multi-stream`: a pipeline over several streams.
 *
 * Batches of varying size are copied on one stream, processed by two in turn, and their results sent
 * on a fourth, as when input, computation and communication overlap. A batch is allocated on the
 * copy stream and used by a compute stream. A result is allocated on a compute stream and used by
 * the sending one. Both are freed when the program has enqueued the work, long before it is done.
 * The program sometimes waits for a result. After some steps new compute streams replace the old
 * ones, with blocks still live.
 *
 * @module
 */

import { type GeneratedTrace, generatedTrace } from "./generated_trace.ts";

const COPY = 0;
const SEND = 1;
const FIRST_COMPUTE = 2;
const COMPUTE_STREAMS = 2;
/** Batches of a step; the steps repeat their sizes. */
const BATCHES = 48;
const STEPS = 8;
const LAYERS = 12;
const WIDTH = 4096;
const SINGLE = 4;
/** Batches between two waits. */
const WAIT = 8;
/** Results that are kept for later. */
const KEPT = 4;
/** Steps before which the compute streams are replaced. */
const REPLACED: readonly number[] = [2, 5];

/** The trace. */
export const MULTI_STREAM: GeneratedTrace = generatedTrace(
  "multi-stream",
  `${STEPS} steps of a pipeline over four streams: blocks of one are used on others and freed at ` +
    "once, and streams are replaced.",
  4,
  (builder, random) => {
    const batches = Array.from({ length: BATCHES }, () => random.logarithmic(16, 6000));
    /** Results before their release, oldest first. */
    const results: number[] = [];
    let compute = FIRST_COMPUTE;
    const layers = (rows: number, stream: number) => {
      let output = builder.allocate(rows * WIDTH * SINGLE, stream);
      for (let layer = 0; layer < LAYERS; layer++) {
        const inner = builder.allocate(rows * 4 * WIDTH * SINGLE, stream);
        builder.scratch(rows * SINGLE, stream);
        const next = builder.allocate(rows * WIDTH * SINGLE, stream);
        builder.freeAll([inner, output]);
        output = next;
      }
      return output;
    };
    for (let stream = 0; stream < FIRST_COMPUTE + COMPUTE_STREAMS; stream++) {
      builder.allocate(2 ** 22, stream); // a workspace
    }
    for (let step = 0; step < STEPS; step++) {
      if (REPLACED.includes(step)) {
        for (let index = 0; index < COMPUTE_STREAMS; index++) {
          builder.synchronize(compute + index);
          builder.dispose(compute + index);
        }
        compute += COMPUTE_STREAMS;
      }
      batches.forEach((rows, index) => {
        const stream = compute + index % COMPUTE_STREAMS;
        const input = builder.allocate(rows * WIDTH * SINGLE, COPY);
        builder.use(input, stream);
        const result = layers(rows, stream);
        builder.free(input);
        builder.use(result, SEND);
        const packed = builder.allocate(Math.ceil(rows * WIDTH * SINGLE / 4), SEND);
        builder.use(packed, stream);
        builder.free(packed);
        results.push(result);
        if (results.length > KEPT) builder.free(results.shift()!);
        if (index % WAIT === WAIT - 1) builder.synchronize(SEND);
      });
      builder.point("step");
    }
    builder.freeAll(results);
  },
);
