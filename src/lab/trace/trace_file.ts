/**
 * Recordings of traces as a file that Perfetto (https://ui.perfetto.dev) and `chrome://tracing` open:
 * JSON in Chrome's trace event format.
 *
 * A device is a process; its streams, what the program enqueued, compiled, and its ranges are
 * threads. The numbers of threads are those of no other process, nor of a process: readers name
 * threads by them alone. Times are whole nanoseconds, written as microseconds.
 *
 * @module
 */

import { assignLanes } from "./trace_lanes.ts";
import type { RangeRecord, TracedWork, TraceRecording } from "./trace_recording.ts";

/** Characters of a chunk, at least. */
const CHUNK = 65_536;
/** Threads that a process has room for. */
const THREADS = 1_000_000;

/** A value of the arguments of an event. */
type Arguments = Readonly<Record<string, string | number | boolean>>;

/** An event, but for its process. */
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

/** A span that has its name and arguments with it. */
interface NamedSlice extends Slice {
  readonly name: string;
  readonly args?: Arguments;
}

/** Where the recordings of a file begin, and what numbers are taken. */
interface FileState {
  readonly origin: TraceRecording;
  flows: number;
}

/** The text of a file of at least one recording, in pieces. */
export function* traceText(recordings: readonly TraceRecording[]): Generator<string, void, void> {
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

/** When a recording began, in milliseconds since 1970. */
function beginOf({ timeOrigin, begun }: TraceRecording): number {
  return timeOrigin + begun;
}

function otherData(recordings: readonly TraceRecording[]): Readonly<Record<string, unknown>> {
  return {
    producer: "gridstride",
    begun: new Date(Math.min(...recordings.map(beginOf))).toISOString(),
    recordings: recordings.map(({ device, deviceName, clockError, launchCost, dropped }) => ({
      device,
      deviceName,
      clockErrorMicroseconds: clockError * 1000,
      launchCostMicroseconds: launchCost.call * 1000,
      dropped,
    })),
  };
}

/** All events of a recording. Those of a thread are in their order, enclosing ones first. */
function* eventsOf(
  recording: TraceRecording,
  pid: number,
  state: FileState,
): Generator<FileEvent> {
  // Apart, as of a sum of times since 1970 no nanoseconds would be left.
  const { timeOrigin, begun } = state.origin;
  const offset = (recording.timeOrigin - timeOrigin) + (recording.begun - begun);
  const time: Clock = (milliseconds) => Math.max(0, Math.round((offset + milliseconds) * 1e6));
  const threads = new Threads(pid);
  yield { name: "process_name", ph: "M", args: { name: processName(recording) } };
  yield { name: "process_sort_index", ph: "M", args: { sort_index: pid } };
  yield* lanesOf("ranges", "range", rangeSlices(recording, time), threads);
  yield* lanesOf("compilations", "compilation", compilationSlices(recording, time), threads);
  yield* workEvents(recording, time, threads, state);
  yield* streamRanges(recording, time, threads);
  yield* memoryEvents(recording, time);
}

/** From milliseconds since the recording began to nanoseconds in the file. */
type Clock = (milliseconds: number) => number;

function processName({ device, deviceName }: TraceRecording): string {
  return `${device} (${deviceName})`;
}

/** Numbers and names the threads of a process. */
class Threads {
  readonly #pid: number;
  #count = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** A new thread, and the events that name it. */
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

/** Spans that may overlap, on as many threads as that takes. */
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

function rangeSlice({ name, start, duration }: RangeRecord, time: Clock): NamedSlice {
  return { name, begin: time(start), end: time(start + duration) };
}

function rangeSlices({ ranges }: TraceRecording, time: Clock): NamedSlice[] {
  return ranges.filter(({ stream }) => stream === undefined)
    .map((range) => rangeSlice(range, time));
}

function* streamRanges(
  { ranges, streams }: TraceRecording,
  time: Clock,
  threads: Threads,
): Generator<FileEvent> {
  const slices = new Map<number, NamedSlice[]>();
  for (const range of ranges) {
    if (range.stream === undefined) continue;
    const those = slices.get(range.stream);
    if (those === undefined) slices.set(range.stream, [rangeSlice(range, time)]);
    else those.push(rangeSlice(range, time));
  }
  for (const number of [...slices.keys()].sort((one, other) => one - other)) {
    yield* lanesOf(`${streams[number]}: ranges`, "range", slices.get(number)!, threads);
  }
}

function compilationSlices({ compilations }: TraceRecording, time: Clock): NamedSlice[] {
  return compilations.map(({ name, start, duration, cached }) => ({
    name: cached ? `${name} (cached)` : name,
    begin: time(start),
    end: time(start + duration),
    args: { cached },
  }));
}

/** A piece of work where the file has it: on the program's thread, and on its stream. */
interface PlacedWork {
  readonly work: TracedWork;
  /** The number of the arrow from one to the other. */
  readonly flow: number;
  enqueued: Slice;
  ran: Slice;
}

/** What was enqueued, what ran, and which belongs to which. */
function* workEvents(
  recording: TraceRecording,
  time: Clock,
  threads: Threads,
  state: FileState,
): Generator<FileEvent> {
  if (recording.work.length === 0) return;
  const placed = recording.work.map((work) => placeWork(work, ++state.flows, time));
  const byCall = placed.toSorted((one, other) => one.enqueued.begin - other.enqueued.begin);
  const afterLastCall = successive();
  for (const each of byCall) each.enqueued = afterLastCall(0, each.enqueued);
  const afterLast = successive();
  for (const each of placed) each.ran = afterLast(each.work.stream, each.ran);
  yield* enqueueEvents(byCall, threads);
  yield* streamEvents(placed, recording.streams, threads);
}

function placeWork(work: TracedWork, flow: number, time: Clock): PlacedWork {
  const { enqueued, enqueueTime, start, duration } = work;
  return {
    work,
    flow,
    enqueued: { begin: time(enqueued), end: time(enqueued + enqueueTime) },
    ran: { begin: time(start), end: time(start + duration) },
  };
}

function* enqueueEvents(placed: readonly PlacedWork[], threads: Threads): Generator<FileEvent> {
  const { tid, events } = threads.add("enqueue");
  yield* events;
  for (const each of placed) {
    yield span(titleOf(each.work), "enqueue", tid, each.enqueued);
    if (hasArrow(each)) yield { ...arrow(each), ph: "s", ts: each.enqueued.begin / 1000, tid };
  }
}

function* streamEvents(
  placed: readonly PlacedWork[],
  streams: readonly string[],
  threads: Threads,
): Generator<FileEvent> {
  // Those whose work was dropped have nothing to show; there may be many.
  const used = new Set(placed.map(({ work }) => work.stream));
  const tids: number[] = [];
  for (const number of [...used].sort((one, other) => one - other)) {
    const { tid, events } = threads.add(streams[number]!);
    tids[number] = tid;
    yield* events;
  }
  for (const each of placed) {
    const { work, ran } = each;
    const tid = tids[work.stream]!;
    yield span(titleOf(work), work.kind, tid, ran, argumentsOf(work));
    if (hasArrow(each)) yield { ...arrow(each), ph: "f", bp: "e", ts: ran.begin / 1000, tid };
  }
}

/** An arrow cannot lead back: so it would, where the clocks are not known well enough. */
function hasArrow({ enqueued, ran }: PlacedWork): boolean {
  return ran.begin >= enqueued.begin;
}

function arrow({ flow }: PlacedWork): Pick<FileEvent, "name" | "cat" | "id"> {
  return { name: "enqueued", cat: "enqueue", id: flow };
}

/**
 * Places what is one after the other on several threads: rounding must not let one reach into the
 * next, nor leave nothing of it.
 */
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
    "registers per thread": work.registersPerThread,
    "static shared memory": work.staticSharedMemory,
    "dynamic shared memory": work.dynamicSharedMemory,
    occupancy: work.occupancy,
    "limited by": work.limiter,
    bytes: work.bytes,
  };
}

/** Memory: what is live and what is free, which viewers stack up to what is reserved. */
function* memoryEvents({ memory }: TraceRecording, time: Clock): Generator<FileEvent> {
  for (const { time: when, live, reserved } of memory) {
    const args = { live, free: Math.max(0, reserved - live) };
    yield { name: "memory", ph: "C", ts: time(when) / 1000, args };
  }
}
