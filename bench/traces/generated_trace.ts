/**
 * Generated traces, identical on every machine and in every run.
 *
 * @module
 */

import type { MemoryTrace } from "../../src/lab/memory/mod.ts";
import { TraceBuilder } from "../../src/lab/memory/trace/memory_trace.ts";
import { SeededRandom } from "./seeded_random.ts";

/** A trace that is generated on demand. */
export interface GeneratedTrace {
  /** Its name in tables and on the command line. */
  readonly name: string;
  /** Its description, in a sentence. */
  readonly description: string;
  /** Generates it. */
  create(): MemoryTrace;
}

/** Makes a generated trace of a program that adds its events. */
export function generatedTrace(
  name: string,
  description: string,
  seed: number,
  run: (builder: TraceBuilder, random: SeededRandom) => void,
): GeneratedTrace {
  return {
    name,
    description,
    create() {
      const builder = new TraceBuilder();
      run(builder, new SeededRandom(seed));
      return builder.build(name, description);
    },
  };
}
