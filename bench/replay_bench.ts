/**
 * The time of the memory pool per event of a trace, over simulated memory. A replay begins with an
 * empty pool and includes its growth.
 */

import {
  DEFAULT_REPLAY_CAPACITY,
  type MemoryTrace,
  REPLAY_POLICIES,
  type ReplayAllocator,
} from "../src/lab/memory/mod.ts";
import { measure, scaled } from "./support/measure.ts";
import { BUILT_IN_TRACES } from "./traces/built_in_traces.ts";

/** Plays all events but points. */
function play(events: MemoryTrace["events"], allocator: ReplayAllocator): void {
  for (const event of events) {
    switch (event.kind) {
      case "allocate":
        allocator.allocate(event.block, event.bytes, event.stream, event.alignment);
        break;
      case "free":
        allocator.free(event.block);
        break;
      case "use":
        allocator.use(event.block, event.stream);
        break;
      case "synchronize":
        allocator.synchronize(event.stream);
        break;
      case "dispose":
        allocator.dispose(event.stream);
        break;
      case "point":
        break;
    }
  }
}

for (const { name, create } of BUILT_IN_TRACES) {
  const events = create().events.slice(0, scaled(Infinity, 500));
  const replay = { group: `replay of ${name}`, calls: events.length };
  for (const policy of REPLAY_POLICIES) {
    const isMapped = policy.name === "gridstride";
    const title = isMapped ? "mapped memory" : "plain segments";
    measure(title, { ...replay, baseline: isMapped }, () => {
      const allocator = policy.create({ capacityBytes: DEFAULT_REPLAY_CAPACITY });
      play(events, allocator);
      allocator[Symbol.dispose]?.();
    });
  }
}
