/**
 * Converts the timeline of a snapshot to a trace.
 *
 * The timeline may begin when blocks exist already. Blocks that it frees without an allocation, and
 * live blocks that it does not mention, come first, by address. Reserved and released memory and
 * refused requests are left out. A timeline does not record uses by other streams.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import {
  type MemorySnapshot,
  type SnapshotTimeline,
  TIMELINE_ACTIONS,
} from "../snapshot/memory_snapshot.ts";
import type { MemoryTrace } from "./memory_trace.ts";
import { TraceBuilder } from "./trace_builder.ts";
import { TraceError } from "./trace_error.ts";

/**
 * Converts the timeline of a snapshot to a trace.
 *
 * @param snapshot A snapshot with a timeline.
 * @param name The name of the trace.
 * @throws {TraceError} If there is no timeline, or it frees a block twice or allocates a live block;
 *   the message names the event.
 *
 * @example
 * ```ts ignore
 * import { readSnapshot, traceOfSnapshot } from "@gridstride/cuda/memory";
 *
 * const snapshot = readSnapshot(Deno.readFileSync("snapshot.json"));
 * console.log(traceOfSnapshot(snapshot, "training").events.length);
 * ```
 */
export function traceOfSnapshot(snapshot: MemorySnapshot, name: string): MemoryTrace {
  const { timeline } = snapshot;
  const action = `make trace ${name} of a snapshot`;
  if (timeline === null) {
    throw new TraceError(
      action,
      undefined,
      "timeline must be there: it is null, so nothing was recorded",
    );
  }
  const builder = new TraceBuilder();
  /** Numbers of live blocks by address. */
  const live = new Map<number, number>();
  const earlier = earlierBlocks(snapshot, timeline).sort((a, b) => a.address - b.address);
  for (const { address, bytes, stream } of earlier) {
    live.set(address, builder.allocate(bytes, stream));
  }
  timeline.action.forEach((code, index) => {
    const address = timeline.address[index]!;
    const bytes = timeline.bytes[index]!;
    const stream = streamOf(timeline, index);
    const refuse = (requirement: string): never => {
      const found = describeValue(address);
      throw new TraceError(
        action,
        undefined,
        `timeline.address[${index}] must be ${requirement}: it is ${found}`,
      );
    };
    switch (TIMELINE_ACTIONS[code]) {
      case "allocate":
        if (isEmpty(timeline, index)) return builder.scratch(0, stream);
        if (live.has(address)) refuse("the address of a free block");
        live.set(address, builder.allocate(bytes, stream));
        return;
      case "free":
        if (isEmpty(timeline, index)) return;
        builder.free(live.get(address) ?? refuse("the address of a live block"));
        live.delete(address);
        return;
      case "wait":
        builder.synchronize(stream);
    }
  });
  const { source, device } = snapshot;
  return builder.build(
    name,
    `The timeline of a snapshot of ${source} on ${device.label}; ${earlier.length} blocks ` +
      "were there before.",
  );
}

/** Blocks from before the timeline began. */
function earlierBlocks(
  { segments }: MemorySnapshot,
  timeline: SnapshotTimeline,
): { address: number; bytes: number; stream: number }[] {
  const { action, address, bytes } = timeline;
  const earlier: { address: number; bytes: number; stream: number }[] = [];
  /** The last mention of each address: whether it was an allocation. */
  const mentioned = new Map<number, boolean>();
  action.forEach((code, index) => {
    const name = TIMELINE_ACTIONS[code];
    if (isEmpty(timeline, index) || (name !== "free" && name !== "allocate")) return;
    const at = address[index]!;
    if (name === "free" && !mentioned.has(at)) {
      earlier.push({ address: at, bytes: bytes[index]!, stream: streamOf(timeline, index) });
    }
    mentioned.set(at, name === "allocate");
  });
  for (const segment of segments) {
    for (const { state, offset, requested, stream } of segment.blocks) {
      const at = segment.address + offset;
      if (state !== "live" || mentioned.get(at) === true) continue;
      earlier.push({ address: at, bytes: requested, stream: stream ?? 0 });
    }
  }
  return earlier;
}

/** Blocks of 0 bytes have no address, so their frees cannot be matched. */
function isEmpty({ address, bytes }: SnapshotTimeline, index: number): boolean {
  return address[index] === 0 && bytes[index] === 0;
}

/** The stream of an event; events without a stream count as stream 0. */
function streamOf({ stream }: SnapshotTimeline, index: number): number {
  return Math.max(0, stream[index]!);
}
