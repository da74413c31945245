/**
 * All generated traces, in the order of tables.
 *
 * @module
 */

import type { GeneratedTrace } from "./generated_trace.ts";
import { LOAD } from "./load_trace.ts";
import { MINIMALLOC } from "./minimalloc_trace.ts";
import { MULTI_STREAM } from "./multi_stream_trace.ts";
import { SAWTOOTH } from "./sawtooth_trace.ts";
import { SERVING } from "./serving_trace.ts";
import { TRAINING } from "./training_trace.ts";

/** All generated traces. */
export const BUILT_IN_TRACES: readonly GeneratedTrace[] = [
  TRAINING,
  SERVING,
  LOAD,
  MINIMALLOC,
  MULTI_STREAM,
  SAWTOOTH,
];

/** Finds a generated trace by its name. */
export function builtInTrace(name: string): GeneratedTrace {
  const trace = BUILT_IN_TRACES.find((candidate) => candidate.name === name);
  if (trace === undefined) throw new RangeError(`Cannot replay as there is no trace ${name}`);
  return trace;
}
