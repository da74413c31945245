/**
 * Reads traces from files of any supported format.
 *
 * @module
 */

import { requireOptions } from "../../../ffi/arguments.ts";
import { decodeFile, readSnapshot, validateSnapshot } from "../snapshot/read_snapshot.ts";
import {
  isMinimallocInstance,
  isRmmLog,
  readMinimallocInstance,
  readRmmLog,
} from "./allocator_logs.ts";
import {
  type MemoryTrace,
  parseTrace,
  TRACE_HEADER,
  TraceBuilder,
  TraceError,
} from "./memory_trace.ts";
import { describeValue } from "../../../ffi/describe_value.ts";
import {
  type MemorySnapshot,
  type SnapshotTimeline,
  TIMELINE_ACTIONS,
} from "../snapshot/memory_snapshot.ts";

/**
 * Reads a trace. The first line determines the format:
 *
 * | file                     | begins with                         |
 * | ------------------------ | ----------------------------------- |
 * | a trace as text          | `gridstride memory trace 1`         |
 * | an RMM log               | a line with the column `Action`     |
 * | a minimalloc instance    | a line with `lower` and `upper`     |
 * | a snapshot with timeline | `{`                                 |
 *
 * @param file The whole file.
 * @param name The name of the trace.
 * @param options `multiplier` scales the sizes of a minimalloc instance; the default is 1.
 * @throws {TraceError} If the format is unknown or a line is invalid; the message names the line.
 * @throws {SnapshotError} If a field of a snapshot is invalid; the message names the field.
 * @throws {RangeError} If the multiplier is out of range.
 *
 * @example
 * ```ts
 * import { readTrace } from "@gridstride/cuda/memory";
 *
 * const trace = readTrace("id,lower,upper,size\nb1,0,3,4\n", "example", { multiplier: 1024 });
 * console.log(trace.events[0]); // { kind: "allocate", block: 0, bytes: 4096, stream: 0 }
 * ```
 * @category Traces
 */
export function readTrace(
  file: string | Uint8Array,
  name: string,
  options: { readonly multiplier?: number } = {},
): MemoryTrace {
  requireOptions(options, ["multiplier"], "read a trace");
  const text = decodeFile(file, (offence) => {
    throw new TraceError(`read trace ${name}`, undefined, `the file ${offence}`);
  });
  const firstLine = /^[^\r\n]{0,4096}/.exec(text)![0];
  if (isRmmLog(firstLine)) return readRmmLog(text, name);
  if (isMinimallocInstance(firstLine)) {
    return readMinimallocInstance(text, name, options.multiplier);
  }
  if (/^\s*\{/.test(text)) return traceOfSnapshot(readSnapshot(text), name);
  // Traces of other versions get the error of the trace reader.
  if (firstLine.startsWith("gridstride")) return parseTrace(text, name);
  throw new TraceError(
    `read trace ${name}`,
    1,
    `the file must be a trace (it begins with ${JSON.stringify(TRACE_HEADER)}), a log of RMM ` +
      "(Thread,Time,Action,Pointer,Size,Stream), an instance of minimalloc " +
      "(id,lower,upper,size) or a snapshot (JSON): it is none of them",
  );
}

/**
 * Converts the timeline of a snapshot to a trace. Blocks that the timeline frees without an
 * allocation, and live blocks that it does not mention, come first, by address. Reserved and released
 * memory and refused requests are left out. A timeline does not record uses by other streams.
 *
 * @param snapshot A snapshot with a timeline.
 * @param name The name of the trace.
 * @throws {TraceError} If there is no timeline, or it frees a block twice or allocates a live block;
 *   the message names the event.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { recordHistory, snapshotPool, traceOfSnapshot } from "@gridstride/cuda/memory";
 *
 * using device = openDevice();
 * const history = recordHistory(device.pool);
 * device.allocate("float32", 1000).free();
 * const trace = traceOfSnapshot(snapshotPool(device.pool, history), "training");
 * console.log(trace.events.map(({ kind }) => kind)); // [ "allocate", "free" ]
 * ```
 * @category Traces
 */
export function traceOfSnapshot(snapshot: MemorySnapshot, name: string): MemoryTrace {
  const { timeline } = validateSnapshot(snapshot);
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
