/**
 * The trace in a snapshot: what the program asked for while the timeline was recorded.
 *
 * The timeline may have begun when blocks were already there. Those that it frees, and those that
 * are live at its end without having been allocated in it, come first, by address. Memory that the
 * pool took and gave back is what the pool did, not what was asked of it, and is left out, as is
 * what it had to refuse. Uses on other streams are not in a timeline.
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

/** A block that was there before the timeline began. */
interface EarlierBlock {
  readonly address: number;
  readonly bytes: number;
  readonly stream: number;
}

/**
 * Makes a trace of a snapshot's timeline.
 *
 * @param snapshot A snapshot with a timeline.
 * @param name What the trace is called.
 * @throws {TraceError} If there is no timeline, or it frees a block twice or allocates one that is
 *   live; the message names the event.
 *
 * @example
 * ```ts ignore
 * import { readSnapshot, traceOfSnapshot } from "@gridstride/cuda/memory";
 *
 * const snapshot = readSnapshot(Deno.readFileSync("snapshot.pickle"));
 * console.log(traceOfSnapshot(snapshot, "training").events.length);
 * ```
 */
export function traceOfSnapshot(snapshot: MemorySnapshot, name: string): MemoryTrace {
  if (snapshot.timeline === null) {
    throw new TraceError(
      `make trace ${name} of a snapshot`,
      undefined,
      "timeline must be there: it is null, so nothing was recorded",
    );
  }
  return new SnapshotTracer(snapshot, snapshot.timeline, name).trace();
}

class SnapshotTracer {
  readonly #snapshot: MemorySnapshot;
  readonly #timeline: SnapshotTimeline;
  readonly #name: string;
  readonly #builder = new TraceBuilder();
  /** Numbers of live blocks by address. */
  readonly #live = new Map<number, number>();

  constructor(snapshot: MemorySnapshot, timeline: SnapshotTimeline, name: string) {
    this.#snapshot = snapshot;
    this.#timeline = timeline;
    this.#name = name;
  }

  trace(): MemoryTrace {
    const earlier = this.#earlierBlocks().sort((a, b) => a.address - b.address);
    for (const { address, bytes, stream } of earlier) {
      this.#live.set(address, this.#builder.allocate(bytes, stream));
    }
    for (let index = 0; index < this.#timeline.action.length; index++) this.#play(index);
    const { source, device } = this.#snapshot;
    return this.#builder.build(
      this.#name,
      `The timeline of a snapshot of ${source} on ${device.label}; ${earlier.length} blocks ` +
        "were there before.",
    );
  }

  #earlierBlocks(): EarlierBlock[] {
    const { action, address, bytes } = this.#timeline;
    const earlier: EarlierBlock[] = [];
    const live = new Set<number>();
    const seen = new Set<number>();
    action.forEach((code, index) => {
      if (this.#isEmpty(index)) return;
      const at = address[index]!;
      const isFree = TIMELINE_ACTIONS[code] === "free";
      if (isFree && !seen.has(at)) {
        earlier.push({ address: at, bytes: bytes[index]!, stream: this.#streamOf(index) });
      }
      if (isFree) live.delete(at);
      else if (TIMELINE_ACTIONS[code] === "allocate") live.add(at);
      else return;
      seen.add(at);
    });
    return [...earlier, ...this.#blocksLiveAtTheEnd(live)];
  }

  #blocksLiveAtTheEnd(known: ReadonlySet<number>): EarlierBlock[] {
    return this.#snapshot.segments.flatMap(({ address, blocks }) =>
      blocks
        .filter(({ state, offset }) => state === "live" && !known.has(address + offset))
        .map(({ offset, requested, stream }) => ({
          address: address + offset,
          bytes: requested,
          stream: stream ?? 0,
        }))
    );
  }

  #play(index: number): void {
    const address = this.#timeline.address[index]!;
    const stream = this.#streamOf(index);
    switch (TIMELINE_ACTIONS[this.#timeline.action[index]!]) {
      case "allocate":
        if (this.#isEmpty(index)) return this.#builder.scratch(0, stream);
        if (this.#live.has(address)) this.#refuse(index, "the address of a free block");
        this.#live.set(address, this.#builder.allocate(this.#timeline.bytes[index]!, stream));
        return;
      case "free": {
        if (this.#isEmpty(index)) return;
        const block = this.#live.get(address);
        if (block === undefined) this.#refuse(index, "the address of a live block");
        this.#live.delete(address);
        return this.#builder.free(block);
      }
      case "wait":
        return this.#builder.synchronize(stream);
      default:
        return;
    }
  }

  /** Blocks of 0 bytes have no address by which a free could be told from another. */
  #isEmpty(index: number): boolean {
    return this.#timeline.address[index] === 0 && this.#timeline.bytes[index] === 0;
  }

  /** Where no stream is told it is the first one. */
  #streamOf(index: number): number {
    return Math.max(0, this.#timeline.stream[index]!);
  }

  #refuse(index: number, requirement: string): never {
    const address = describeValue(this.#timeline.address[index]);
    throw new TraceError(
      `make trace ${this.#name} of a snapshot`,
      undefined,
      `timeline.address[${index}] must be ${requirement}: it is ${address}`,
    );
  }
}
