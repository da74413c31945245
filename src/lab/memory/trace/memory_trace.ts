/**
 * Traces: what a program asked a pool for, in order, without what the pool did about it.
 *
 * As text a trace is one event per line, so that it can be read, cut and compared:
 *
 * ```text
 * gridstride memory trace 1
 * # anything
 * a 0 1048576 0        block 0: allocate 1 MiB on stream 0
 * a 1 4096 0 65536     block 1: allocate 4 KiB on stream 0, aligned to 64 KiB
 * u 1 1                block 1 is used on stream 1 too
 * f 0                  free block 0
 * s 0                  stream 0 was waited for
 * d 1                  stream 1 is disposed
 * p step               a named point: the end of a repeated step
 * end 7                the number of events: a file cut short lacks it
 * ```
 *
 * Block numbers count the allocations from 0, so that a lost line shows; numbers are decimal. A
 * stream that is disposed is not named again. `trace_checker.ts` holds the rules.
 *
 * @module
 */

/** The first line of a trace. */
export const TRACE_HEADER = "gridstride memory trace 1";

/** What a program did. */
export type TraceEvent =
  | {
    readonly kind: "allocate";
    readonly block: number;
    readonly bytes: number;
    readonly stream: number;
    /** A power of two; absent means the pool's own. */
    readonly alignment?: number;
  }
  | { readonly kind: "free"; readonly block: number }
  | { readonly kind: "use"; readonly block: number; readonly stream: number }
  | { readonly kind: "synchronize"; readonly stream: number }
  | { readonly kind: "dispose"; readonly stream: number }
  | { readonly kind: "point"; readonly name: string };

/** A trace. */
export interface MemoryTrace {
  /** What the tables call it. */
  readonly name: string;
  /** What it is and where it comes from, in a sentence. */
  readonly description: string;
  /** What happened, in order. */
  readonly events: readonly TraceEvent[];
}
