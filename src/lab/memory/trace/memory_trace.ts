/**
 * Memory traces: the requests of a program to a memory pool, in order.
 *
 * A trace as text has one event per line:
 *
 * ```text
 * gridstride memory trace 1
 * # a comment
 * a 0 1048576 0        block 0: allocate 1 MiB on stream 0
 * a 1 4096 0 65536     block 1: allocate 4 KiB on stream 0, aligned to 64 KiB
 * u 1 1                stream 1 uses block 1 too
 * f 0                  free block 0
 * s 0                  the program waited for stream 0
 * d 1                  dispose stream 1
 * p step               a named point: the end of a repeated step
 * end 7                the number of events, to detect truncated files
 * ```
 *
 * Block numbers count the allocations from 0, to detect missing lines. Numbers are decimal. No
 * event names a disposed stream. `trace_checker.ts` holds the rules.
 *
 * @module
 */

/** The first line of a trace. */
export const TRACE_HEADER = "gridstride memory trace 1";

/** One request of a program. */
export type TraceEvent =
  | {
    readonly kind: "allocate";
    readonly block: number;
    readonly bytes: number;
    readonly stream: number;
    /** A power of two; absent for the alignment of the pool. */
    readonly alignment?: number;
  }
  | { readonly kind: "free"; readonly block: number }
  | { readonly kind: "use"; readonly block: number; readonly stream: number }
  | { readonly kind: "synchronize"; readonly stream: number }
  | { readonly kind: "dispose"; readonly stream: number }
  | { readonly kind: "point"; readonly name: string };

/** A trace. */
export interface MemoryTrace {
  /** Its name in tables. */
  readonly name: string;
  /** Its content and origin, in a sentence. */
  readonly description: string;
  /** The events, in order. */
  readonly events: readonly TraceEvent[];
}
