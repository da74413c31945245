/**
 * How long a policy takes per event, apart from the accounts that a replay keeps.
 *
 * @module
 */

import type { MemoryTrace } from "../trace/memory_trace.ts";
import type { ReplayAllocator } from "./replay_policy.ts";

/** Passes over the trace, each with a new allocator; the fastest counts. */
const PASSES = 5;

/** Plays a trace without any accounts; how many events reached the allocator. */
function play({ events }: MemoryTrace, allocator: ReplayAllocator, refused: Uint8Array): number {
  let operations = 0;
  for (const event of events) {
    switch (event.kind) {
      case "allocate":
        refused[event.block] =
          allocator.allocate(event.block, event.bytes, event.stream, event.alignment) ? 0 : 1;
        break;
      case "free":
        if (refused[event.block] !== 0) continue;
        allocator.free(event.block);
        break;
      case "use":
        if (refused[event.block] !== 0) continue;
        allocator.use(event.block, event.stream);
        break;
      case "synchronize":
        allocator.synchronize(event.stream);
        break;
      case "dispose":
        allocator.dispose(event.stream);
        break;
      case "point":
        continue;
    }
    operations++;
  }
  return operations;
}

/**
 * Measures the time per event.
 *
 * The fastest of several passes counts, since what disturbs a pass only makes it slower, and the
 * first ones run before the compiler has seen the code often enough.
 *
 * @param trace A trace that keeps the rules.
 * @param create Makes the allocator; not part of the time.
 * @returns Nanoseconds; `null` for a trace without any event.
 */
export function measureOperation(
  trace: MemoryTrace,
  create: () => ReplayAllocator,
): number | null {
  const blocks = trace.events.reduce((count, { kind }) => count + Number(kind === "allocate"), 0);
  let fastest = Infinity;
  for (let pass = 0; pass < PASSES; pass++) {
    const refused = new Uint8Array(blocks);
    const allocator = create();
    try {
      const start = performance.now();
      const operations = play(trace, allocator, refused);
      const milliseconds = performance.now() - start;
      if (operations === 0) return null;
      fastest = Math.min(fastest, milliseconds * 1e6 / operations);
    } finally {
      allocator[Symbol.dispose]?.();
    }
  }
  return fastest;
}
