/**
 * Reproducible snapshots of any size.
 *
 * @module
 */

import { SeededRandom } from "../../../../bench/traces/seeded_random.ts";
import type { MemorySnapshot } from "../../../../src/lab/memory/mod.ts";
import { SMALL_SNAPSHOT } from "./small_snapshot.ts";

const STATES = ["live", "cached", "free", "pending", "unmapped"] as const;

/** Makes a snapshot of a number of events, 0 for no timeline, and of blocks. */
export function syntheticSnapshot(
  { events, blocks }: { readonly events: number; readonly blocks: number },
): MemorySnapshot {
  const random = new SeededRandom(12345);
  const column = (value: (index: number) => number) =>
    Array.from({ length: events }, (_, i) => value(i));
  const perSegment = Math.ceil(4 * Math.sqrt(blocks));
  const segments = Array.from({ length: Math.ceil(blocks / perSegment) }, (_, index) => {
    let bytes = 0;
    const count = Math.min(perSegment, blocks - index * perSegment);
    const made = Array.from({ length: count }, () => {
      const state = STATES[random.integer(0, STATES.length - 1)]!;
      const size = Math.ceil((random.fraction() ** 4 * 2 ** 24 + 1) / 512) * 512;
      const offset = bytes;
      bytes += size;
      const requested = state === "live" ? size - random.integer(0, 511) : 0;
      const [stream, site] = [random.integer(0, 1), state === "live" ? random.integer(0, 1) : null];
      return {
        offset,
        bytes: size,
        state,
        requested,
        stream,
        site,
        age: random.integer(0, 90_000),
      };
    });
    const kind = index % 2 === 0 ? "virtual" as const : "plain" as const;
    return { address: (index + 1) * 2 ** 36, bytes, kind, pool: "large" as const, blocks: made };
  });
  const live = column((index) => 2 ** 30 + random.integer(0, 2 ** 28) + index);
  const timeline = {
    dropped: 0,
    time: column((index) => index / 50),
    action: column((index) => index % 1000 === 0 ? 5 : index % 2),
    address: column(() => 512 * random.integer(1, 4e6)),
    bytes: column(() => 512 * random.integer(1, 2 ** 15)),
    stream: column(() => random.integer(0, 1)),
    site: column(() => random.integer(-1, 1)),
    live,
    reserved: live.map((bytes) => bytes + random.integer(0, 2 ** 28)),
    largestFree: column(() => random.integer(-1, 2 ** 20)),
  };
  return { ...SMALL_SNAPSHOT, segments, timeline: events === 0 ? null : timeline };
}
