/**
 * The traces that come with Gridstride: generated, the same on every machine and in every run.
 *
 * @module
 */

import { createLoadTrace, LOAD_DESCRIPTION } from "./load_trace.ts";
import type { MemoryTrace } from "./memory_trace.ts";
import { createMinimallocTrace, MINIMALLOC_DESCRIPTION } from "./minimalloc_trace.ts";
import { createMultiStreamTrace, MULTI_STREAM_DESCRIPTION } from "./multi_stream_trace.ts";
import { createSawtoothTrace, SAWTOOTH_DESCRIPTION } from "./sawtooth_trace.ts";
import { createServingTrace, SERVING_DESCRIPTION } from "./serving_trace.ts";
import { createTrainingTrace, TRAINING_DESCRIPTION } from "./training_trace.ts";

/** A trace that is made when it is asked for. */
export interface BuiltInTrace {
  /** What the command line and the tables call it. */
  readonly name: string;
  /** What it is, in a sentence. */
  readonly description: string;
  /** Makes it; always the same. */
  create(): MemoryTrace;
}

/**
 * All built-in traces.
 *
 * @example
 * ```ts
 * import { BUILT_IN_TRACES } from "@gridstride/cuda/memory";
 *
 * for (const { name, create } of BUILT_IN_TRACES) console.log(name, create().events.length);
 * ```
 */
export const BUILT_IN_TRACES: readonly BuiltInTrace[] = [
  { name: "training", description: TRAINING_DESCRIPTION, create: createTrainingTrace },
  { name: "serving", description: SERVING_DESCRIPTION, create: createServingTrace },
  { name: "load", description: LOAD_DESCRIPTION, create: createLoadTrace },
  { name: "minimalloc", description: MINIMALLOC_DESCRIPTION, create: createMinimallocTrace },
  { name: "multi-stream", description: MULTI_STREAM_DESCRIPTION, create: createMultiStreamTrace },
  { name: "sawtooth", description: SAWTOOTH_DESCRIPTION, create: createSawtoothTrace },
];
