/**
 * What an event of a trace takes: the built-in traces replayed against our pool over memory that
 * is only pretended, so that it is the pool's own time. A replay begins with an empty pool, whose
 * growing is part of it.
 */

import { BUILT_IN_TRACES, type MemoryTrace, replayPolicy } from "../src/lab/memory/mod.ts";
import type { ReplayAllocator } from "../src/lab/memory/replay/replay_policy.ts";
import { DEFAULT_REPLAY_CAPACITY } from "../src/lab/memory/replay/replay.ts";
import { measure, scaled } from "./support/measure.ts";

/** What a trace asks, as far as an allocator hears of it. */
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
  for (
    const [title, policyName] of [["mapped memory", "gridstride"], [
      "plain segments",
      "gridstride-plain",
    ]] as const
  ) {
    const policy = replayPolicy(policyName);
    measure(title, { ...replay, baseline: policyName === "gridstride" }, () => {
      const allocator = policy.create({ capacityBytes: DEFAULT_REPLAY_CAPACITY });
      play(events, allocator);
      allocator[Symbol.dispose]?.();
    });
  }
}
