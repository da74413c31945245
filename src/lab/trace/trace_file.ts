/**
 * Trace files: JSON in Chrome's trace event format, for Perfetto (https://ui.perfetto.dev) and
 * `chrome://tracing`.
 *
 * Each device is a process. Its streams, enqueuing calls, compilations and ranges are threads with
 * ids that are unique in the file, because viewers name threads by id alone. Times are whole
 * nanoseconds, written as microseconds.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { namedFile, writeNamed } from "../../launch/module/named_file.ts";
import { requireRecording, type TracedWork, type TraceRecording } from "./recording.ts";

/** Minimum characters of a chunk. */
const CHUNK = 65_536;
/** Thread ids reserved for each process. */
const THREADS = 1_000_000;
const SAVE = "save a trace";

type Arguments = Readonly<Record<string, string | number | boolean>>;

/** An event without its process id. */
interface FileEvent {
  readonly name: string;
  readonly ph: "X" | "C" | "M" | "s" | "f";
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly tid?: number;
  readonly id?: number;
  readonly bp?: "e";
  readonly args?: Arguments;
}

/** A span on a thread, in nanoseconds. */
interface Slice {
  readonly begin: number;
  readonly end: number;
}

interface NamedSlice extends Slice {
  readonly name: string;
  readonly args?: Arguments;
}

/** The earliest recording of a file and the number of arrows so far. */
interface FileState {
  readonly origin: TraceRecording;
  flows: number;
}

/**
 * Writes recordings to a file for Perfetto (https://ui.perfetto.dev) and `chrome://tracing`.
 *
 * @param path The file to write; an existing file is replaced once all is written.
 * @param recordings The results of `trace.stop()` or `trace.report()`, of one device or several.
 * @throws {TypeError} If the path is neither text nor a file URL, or an element is not a recording.
 * @throws {RangeError} If there is no recording.
 * @throws {Deno.errors.NotFound | Deno.errors.NotCapable} If the file cannot be written.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { DeviceTrace, saveTrace } from "@gridstride/cuda/trace";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 100, { fill: 1 });
 * using trace = new DeviceTrace(device);
 * device.kernels.scale(x, 2, x);
 * await saveTrace(await Deno.makeTempFile({ suffix: ".json" }), [await trace.stop()]);
 * ```
 * @category Trace files
 */
export async function saveTrace(
  path: string | URL,
  recordings: readonly TraceRecording[],
): Promise<void> {
  const place = namedFile(path, SAVE);
  requireRecordings(recordings, SAVE);
  const encoder = new TextEncoder();
  await writeNamed(place, SAVE, async (write) => {
    for (const chunk of traceText(recordings)) await write(encoder.encode(chunk));
  });
}

/**
 * Generates the text of a trace file in chunks. The text of a million events can exceed the maximum
 * length of a string.
 *
 * @param recordings Recordings of one device or several, also of several workers, on one time axis.
 * @throws {TypeError} If an element is not a recording.
 * @throws {RangeError} If there is no recording.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { DeviceTrace, traceFile } from "@gridstride/cuda/trace";
 *
 * using device = openDevice();
 * using trace = new DeviceTrace(device);
 * device.allocate("float32", 1000, { fill: 1 }).free();
 * const response = new Response(
 *   ReadableStream.from(traceFile([await trace.stop()])).pipeThrough(new TextEncoderStream()),
 *   { headers: { "content-type": "application/json" } },
 * );
 * console.log((await response.json()).traceEvents.length > 0); // true
 * ```
 * @category Trace files
 */
export function traceFile(
  recordings: readonly TraceRecording[],
): Generator<string, void, void> {
  requireRecordings(recordings, "write a trace file");
  return traceText(recordings);
}

function requireRecordings(recordings: unknown, action: string): void {
  if (!Array.isArray(recordings)) {
    throw new TypeError(
      `Cannot ${action} as recordings must be an array: it is ${describeValue(recordings)}`,
    );
  }
  if (recordings.length === 0) {
    throw new RangeError(`Cannot ${action} as recordings must have at least one: it has none`);
  }
  for (let index = 0; index < recordings.length; index++) {
    requireRecording(recordings[index], `recordings[${index}]`, action);
  }
}

function* traceText(recordings: readonly TraceRecording[]): Generator<string, void, void> {
  const [origin] = recordings.toSorted((one, other) => beginOf(one) - beginOf(other));
  const state = { origin: origin!, flows: 0 };
  let chunk = `{"displayTimeUnit":"ns","otherData":${
    JSON.stringify(otherData(recordings))
  },"traceEvents":[\n`;
  let separator = "";
  for (const [index, recording] of recordings.entries()) {
    const pid = index + 1;
    for (const event of eventsOf(recording, pid, state)) {
      chunk += separator + JSON.stringify({ ...event, pid });
      separator = ",\n";
      if (chunk.length < CHUNK) continue;
      yield chunk;
      chunk = "";
    }
  }
  yield `${chunk}\n]}\n`;
}

function beginOf({ timeOrigin, begun }: TraceRecording): number {
  return timeOrigin + begun;
}

function otherData(recordings: readonly TraceRecording[]): Readonly<Record<string, unknown>> {
  return {
    producer: "gridstride",
    begun: new Date(Math.min(...recordings.map(beginOf))).toISOString(),
    recordings: recordings.map(({ device, fake, deviceName, clockError, launchCost, dropped }) => ({
      device,
      fake,
      deviceName,
      clockErrorMicroseconds: clockError * 1000,
      launchCostMicroseconds: launchCost.call * 1000,
      dropped,
    })),
  };
}

/** Converts milliseconds of a recording to nanoseconds of the file. */
type Clock = (milliseconds: number) => number;

/** All events of a recording; those of a thread in order, enclosing spans first. */
function* eventsOf(
  recording: TraceRecording,
  pid: number,
  state: FileState,
): Generator<FileEvent> {
  const { device, fake, deviceName, streams, memory } = recording;
  // Subtracted first: a sum of times since 1970 loses the nanoseconds.
  const { timeOrigin, begun } = state.origin;
  const offset = (recording.timeOrigin - timeOrigin) + (recording.begun - begun);
  const time: Clock = (milliseconds) => Math.max(0, Math.round((offset + milliseconds) * 1e6));
  const threads = new Threads(pid);
  yield {
    name: "process_name",
    ph: "M",
    args: { name: `${device} (${fake ? "fake " : ""}${deviceName})` },
  };
  yield { name: "process_sort_index", ph: "M", args: { sort_index: pid } };
  const ranges = Map.groupBy(recording.ranges, ({ stream }) => stream);
  const rangesOf = (stream: number | undefined) =>
    ranges.get(stream)?.map((range) => ({ name: range.name, ...slice(range, time) })) ?? [];
  const compilations = recording.compilations.map(({ name, cached, ...span }) => ({
    name: cached ? `${name} (cached)` : name,
    ...slice(span, time),
    args: { cached },
  }));
  yield* lanesOf("ranges", "range", rangesOf(undefined), threads);
  yield* lanesOf("compilations", "compilation", compilations, threads);
  yield* workEvents(recording, time, threads, state);
  for (const [number, name] of streams.entries()) {
    yield* lanesOf(`${name}: ranges`, "range", rangesOf(number), threads);
  }
  // Viewers stack live and free memory up to the reserved memory.
  for (const { time: when, live, reserved } of memory) {
    const args = { live, free: Math.max(0, reserved - live) };
    yield { name: "memory", ph: "C", ts: time(when) / 1000, args };
  }
}

function slice(
  { start, duration }: { readonly start: number; readonly duration: number },
  time: Clock,
): Slice {
  return { begin: time(start), end: time(start + duration) };
}

class Threads {
  readonly #pid: number;
  #count = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  add(name: string): { readonly tid: number; readonly events: readonly FileEvent[] } {
    const sort_index = this.#count++;
    const tid = this.#pid * THREADS + sort_index;
    return {
      tid,
      events: [
        { name: "thread_name", ph: "M", tid, args: { name } },
        { name: "thread_sort_index", ph: "M", tid, args: { sort_index } },
      ],
    };
  }
}

function span(
  name: string,
  cat: string,
  tid: number,
  { begin, end }: Slice,
  args?: Arguments,
): FileEvent {
  const event = { name, ph: "X", cat, ts: begin / 1000, dur: (end - begin) / 1000, tid } as const;
  return args === undefined ? event : { ...event, args };
}

/** Draws spans on as many threads as their overlaps require. */
function* lanesOf(
  title: string,
  cat: string,
  slices: readonly NamedSlice[],
  threads: Threads,
): Generator<FileEvent> {
  const lanes = assignLanes(slices);
  const tids: number[] = [];
  for (const lane of new Set(lanes.toSorted((one, other) => one - other))) {
    const { tid, events } = threads.add(lane === 0 ? title : `${title} ${lane + 1}`);
    tids.push(tid);
    yield* events;
  }
  const order = slices.map((slice, index) => ({ slice, tid: tids[lanes[index]!]! }))
    .sort(({ slice: one }, { slice: other }) => one.begin - other.begin || other.end - one.end);
  for (const { slice, tid } of order) yield span(slice.name, cat, tid, slice, slice.args);
}

/**
 * Assigns spans greedily to lanes. Two spans of one lane are disjoint or nested, because a track of
 * a trace file cannot show spans that partly overlap.
 *
 * @returns The lane of each span.
 */
function assignLanes(spans: readonly Slice[]): number[] {
  const order = spans.map((_, index) => index).sort((one, other) =>
    spans[one]!.begin - spans[other]!.begin || spans[other]!.end - spans[one]!.end
  );
  // The ends of the open spans of each lane, innermost last.
  const lanes: number[][] = [];
  const assigned: number[] = new Array(spans.length).fill(0);
  for (const index of order) {
    const { begin, end } = spans[index]!;
    for (const open of lanes) {
      while (open.length > 0 && open.at(-1)! <= begin) open.pop();
    }
    let lane = lanes.findIndex((open) => open.length === 0 || end <= open.at(-1)!);
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane]!.push(end);
    assigned[index] = lane;
  }
  return assigned;
}

/** The enqueuing calls, the work on the streams, and arrows between them. */
function* workEvents(
  { work, streams }: TraceRecording,
  time: Clock,
  threads: Threads,
  state: FileState,
): Generator<FileEvent> {
  if (work.length === 0) return;
  const afterLast = successive();
  const placed = work.map((each) => ({
    work: each,
    flow: ++state.flows,
    enqueued: slice({ start: each.enqueued, duration: each.enqueueTime }, time),
    ran: afterLast(each.stream, slice(each, time)),
  }));
  const byCall = placed.toSorted((one, other) => one.enqueued.begin - other.enqueued.begin);
  const afterLastCall = successive();
  for (const each of byCall) each.enqueued = afterLastCall(0, each.enqueued);
  // An arrow cannot point back in time, as an error of the clocks would make it.
  const hasArrow = ({ enqueued, ran }: typeof placed[number]) => ran.begin >= enqueued.begin;
  const arrow = { name: "enqueued", cat: "enqueue" } as const;
  const calls = threads.add("enqueue");
  yield* calls.events;
  for (const each of byCall) {
    const { work, flow: id, enqueued } = each;
    yield span(titleOf(work), "enqueue", calls.tid, enqueued);
    const ts = enqueued.begin / 1000;
    if (hasArrow(each)) yield { ...arrow, id, ph: "s", ts, tid: calls.tid };
  }
  // A stream without recorded work gets no thread.
  const used = new Set(work.map(({ stream }) => stream));
  const tids: number[] = [];
  for (const number of [...used].sort((one, other) => one - other)) {
    const { tid, events } = threads.add(streams[number]!);
    tids[number] = tid;
    yield* events;
  }
  for (const each of placed) {
    const { work, flow: id, ran } = each;
    const tid = tids[work.stream]!;
    yield span(titleOf(work), work.kind, tid, ran, argumentsOf(work));
    if (hasArrow(each)) yield { ...arrow, id, ph: "f", bp: "e", ts: ran.begin / 1000, tid };
  }
}

/** Places consecutive spans on threads: rounding must neither overlap nor erase them. */
function successive(): (thread: number, slice: Slice) => Slice {
  const ends: number[] = [];
  return (thread, { begin, end }) => {
    const from = Math.max(begin, ends[thread] ?? -Infinity);
    const to = Math.max(end, from + 1);
    ends[thread] = to;
    return { begin: from, end: to };
  };
}

const COPIES = {
  hostToDevice: "copy host to device",
  deviceToHost: "copy device to host",
  deviceToDevice: "copy within device",
  peer: "copy between devices",
} as const;

function titleOf(work: TracedWork): string {
  if (work.kind === "graph") return `graph of ${work.nodes}`;
  return work.kind === "copy" ? COPIES[work.direction] : work.name;
}

function argumentsOf(work: TracedWork): Arguments {
  if (work.kind === "graph") return { nodes: work.nodes };
  if (work.kind === "copy") return { bytes: work.bytes, "host memory": work.hostMemory };
  return {
    grid: work.grid.join(" × "),
    block: work.block.join(" × "),
    "registers per thread": work.registersPerThread || "unknown",
    "static shared memory": work.staticSharedMemory,
    "dynamic shared memory": work.dynamicSharedMemory,
    occupancy: work.occupancy,
    "limited by": work.limiter,
    bytes: work.bytes,
  };
}
