/**
 * The data of a trace recording, and its validation: a recording may come from a file or a worker.
 * Statistics, advice and trace files are derived from it.
 *
 * All times are milliseconds. Points in time count from the start of the trace on the program's
 * clock. All sizes are bytes.
 *
 * @module
 */

import type { Occupancy } from "../../launch/occupancy.ts";
import type { CopyDirection, CopyHostMemory } from "../../stream/activity.ts";
import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

/**
 * Properties of all work on a stream.
 * @category Recordings
 */
export interface WorkRecord {
  /** The stream, as an index into {@linkcode TraceRecording.streams}. */
  readonly stream: number;
  /** The time at which the program began to enqueue the work. */
  readonly enqueued: number;
  /** The duration of the enqueuing call, including the event before the work. */
  readonly enqueueTime: number;
  /** The time at which the device began the work. */
  readonly start: number;
  /** The device's time between the events before and after the work. */
  readonly duration: number;
}

/**
 * A kernel launch that ran.
 * @category Recordings
 */
export interface KernelRecord extends WorkRecord {
  /** The discriminant. */
  readonly kind: "kernel";
  /** The kernel's name. */
  readonly name: string;
  /** Blocks of the grid: x, y, z. */
  readonly grid: readonly [number, number, number];
  /** Threads of a block: x, y, z. */
  readonly block: readonly [number, number, number];
  /** Registers of a thread; 0 if they are unknown, as on the host device. */
  readonly registersPerThread: number;
  /** Static shared memory of a block. */
  readonly staticSharedMemory: number;
  /** Dynamic shared memory of a block. */
  readonly dynamicSharedMemory: number;
  /** Resident warps as a fraction of a multiprocessor's limit, 0 to 1. */
  readonly occupancy: number;
  /** The resource that limits the occupancy. */
  readonly limiter: Occupancy["limiter"];
  /** Size of the device memory passed as arguments, each allocation once. */
  readonly bytes: number;
}

/**
 * A copy that ran.
 * @category Recordings
 */
export interface CopyRecord extends WorkRecord {
  /** The discriminant. */
  readonly kind: "copy";
  /** The direction. */
  readonly direction: CopyDirection;
  /** The kind of host memory involved. */
  readonly hostMemory: CopyHostMemory;
  /** The size. */
  readonly bytes: number;
}

/**
 * A graph launch that ran.
 * @category Recordings
 */
export interface GraphRecord extends WorkRecord {
  /** The discriminant. */
  readonly kind: "graph";
  /** Number of operations in the graph. */
  readonly nodes: number;
}

/**
 * Work that ran on a stream.
 * @category Recordings
 */
export type TracedWork = KernelRecord | CopyRecord | GraphRecord;

/**
 * A compilation, or a hit in the compile cache.
 * @category Recordings
 */
export interface CompilationRecord {
  /** The name of the source in diagnostics. */
  readonly name: string;
  /** The time of the request. */
  readonly start: number;
  /** The duration. */
  readonly duration: number;
  /** Whether the machine code came from the compile cache. */
  readonly cached: boolean;
}

/**
 * A named range of the program.
 * @category Recordings
 */
export interface RangeRecord {
  /** The name. */
  readonly name: string;
  /** The start. */
  readonly start: number;
  /** The duration, up to now for a range that has not ended. */
  readonly duration: number;
  /** The stream of a range measured on the device; undefined for the program's own time. */
  readonly stream: number | undefined;
}

/**
 * Memory of the device's pools at one time.
 * @category Recordings
 */
export interface MemorySample {
  /** The time. */
  readonly time: number;
  /** Requested bytes of live buffers. */
  readonly live: number;
  /** Bytes that the pools hold of the device. */
  readonly reserved: number;
}

/**
 * Launches of one kernel, of all graphs, or of all kernels together.
 * @category Recordings
 */
export interface LaunchStatistics {
  /** All launches. */
  readonly launches: number;
  /** Launches that were captured into a graph and did not run. */
  readonly captured: number;
  /** Launches that ran untimed because too much timed work was pending. */
  readonly untimed: number;
  /** Device time of the timed launches. */
  readonly time: number;
  /** Mean duration; 0 without timed launches. */
  readonly mean: number;
  /** Shortest duration; 0 without timed launches. */
  readonly min: number;
  /** Longest duration. */
  readonly max: number;
  /** Device memory passed to timed launches, each allocation once a launch. */
  readonly bytes: number;
  /** `bytes` divided by `time`; 0 without timed launches. */
  readonly bytesPerSecond: number;
}

/**
 * Launches of a kernel.
 * @category Recordings
 */
export interface KernelStatistics extends LaunchStatistics {
  /** The kernel's name. */
  readonly kernel: string;
  /** Mean occupancy of the timed launches, weighted by time; 0 without timed launches. */
  readonly occupancy: number;
  /** The limiter of the launches that took the most time; null without timed launches. */
  readonly limiter: Occupancy["limiter"] | null;
}

/**
 * Timed copies.
 * @category Recordings
 */
export interface CopyCount {
  /** Number of timed copies. */
  readonly copies: number;
  /** Their bytes. */
  readonly bytes: number;
  /** Their device time. */
  readonly time: number;
  /** `bytes` divided by `time`; 0 without timed copies. */
  readonly bytesPerSecond: number;
}

/**
 * Copies in one direction.
 * @category Recordings
 */
export interface CopyStatistics extends CopyCount {
  /** Copies of at most 64 KiB. */
  readonly small: CopyCount;
  /** Copies that were captured into a graph and did not run. */
  readonly captured: number;
  /** Copies that ran untimed. */
  readonly untimed: number;
}

/**
 * Counts and sums over a whole trace, including dropped records.
 * @category Recordings
 */
export interface TraceStatistics {
  /** Duration of the trace. */
  readonly duration: number;
  /** Each kernel, the longest total time first. */
  readonly kernels: readonly KernelStatistics[];
  /** All kernels together. */
  readonly launches: LaunchStatistics;
  /** All graphs together. */
  readonly graphs: LaunchStatistics;
  /** Copies from the host to the device. */
  readonly hostToDevice: CopyStatistics;
  /** Copies from the device to the host. */
  readonly deviceToHost: CopyStatistics;
  /** Copies within the device. */
  readonly deviceToDevice: CopyStatistics;
  /** Copies between this device and others, on streams of this one. */
  readonly peer: CopyStatistics;
  /** Activity of the device's pools. */
  readonly memory: {
    /** Allocated buffers. */
    readonly allocations: number;
    /** Their requested bytes. */
    readonly allocatedBytes: number;
    /** Freed buffers. */
    readonly frees: number;
    /** Number of times the pools took memory from the device. */
    readonly growths: number;
    /** Bytes taken from the device. */
    readonly grownBytes: number;
    /** Number of times the pools returned memory to the device. */
    readonly shrinks: number;
    /** Bytes returned to the device. */
    readonly shrunkBytes: number;
    /** Requests that waited for a stream. */
    readonly waits: number;
    /** Requests that failed for lack of memory. */
    readonly failures: number;
    /** Reserved bytes at the start of the trace. */
    readonly initialReserved: number;
    /** Peak of the reserved bytes. */
    readonly peakReserved: number;
    /** Peak of the requested bytes of live buffers. */
    readonly peakLive: number;
  };
  /** Compilations and hits in the compile cache, with the program's time for each. */
  readonly compilations: {
    /** Compiled sources. */
    readonly compiled: number;
    /** Time to compile them. */
    readonly compileTime: number;
    /** Sources found in the compile cache. */
    readonly cached: number;
    /** Time to load them. */
    readonly cachedTime: number;
  };
}

/**
 * The recording of a trace: plain data that `postMessage()` and JSON preserve.
 * @category Recordings
 */
export interface TraceRecording {
  /** The device's label: `cuda:0`. */
  readonly device: string;
  /** Whether `GRIDSTRIDE_FAKE` makes the device up. */
  readonly fake: boolean;
  /** The device's name: `NVIDIA H200`. */
  readonly deviceName: string;
  /** `performance.timeOrigin` of the program: milliseconds since 1970. */
  readonly timeOrigin: number;
  /** `performance.now()` at the start of the trace. */
  readonly begun: number;
  /** Duration of the trace. */
  readonly duration: number;
  /** Largest error of device times on the program's clock. */
  readonly clockError: number;
  /** Cost of a launch, measured with a kernel that does nothing. */
  readonly launchCost: {
    /** The program's time for a launch, median. */
    readonly call: number;
    /** The device's time between the events before and after the kernel, median. */
    readonly empty: number;
  };
  /** The names of the streams. */
  readonly streams: readonly string[];
  /** Work in the order in which the device began it. */
  readonly work: readonly TracedWork[];
  /** Compilations in the order of completion. */
  readonly compilations: readonly CompilationRecord[];
  /** Ranges in the order of their ends, followed by the open ones. */
  readonly ranges: readonly RangeRecord[];
  /** Memory of the pools after each change. */
  readonly memory: readonly MemorySample[];
  /** Number of dropped records of each kind; the oldest are dropped first. */
  readonly dropped: Readonly<Record<"work" | "compilations" | "ranges" | "memory", number>>;
  /** Counts and sums, including dropped records. */
  readonly statistics: TraceStatistics;
}

const KINDS = {
  number: ["a finite number", Number.isFinite],
  text: ["a text", (value: unknown) => typeof value === "string"],
  flag: ["true or false", (value: unknown) => typeof value === "boolean"],
} as const;

/**
 * The form of a value: a kind, a set of allowed values, a list of one form, or the fields of an
 * object, which may depend on the object.
 */
type Form =
  | keyof typeof KINDS
  | ReadonlySet<unknown>
  | readonly [Form]
  | ((value: Readonly<Record<string, unknown>>) => Form)
  | { readonly [field: string]: Form };

function numbers(...names: readonly string[]): Record<string, Form> {
  return Object.fromEntries(names.map((name) => [name, "number"]));
}

const LIMITERS = ["warps", "blocks", "registers", "sharedMemory", "barriers"];

const WORK: Readonly<Record<string, Record<string, Form>>> = {
  kernel: {
    name: "text",
    grid: ["number"],
    block: ["number"],
    limiter: new Set(LIMITERS),
    ...numbers("registersPerThread", "staticSharedMemory", "dynamicSharedMemory"),
    ...numbers("occupancy", "bytes"),
  },
  copy: {
    direction: new Set(["hostToDevice", "deviceToHost", "deviceToDevice", "peer"]),
    hostMemory: new Set(["pinned", "staged", "pageable", "none"]),
    bytes: "number",
  },
  graph: { nodes: "number" },
};

const span: Form = { name: "text", ...numbers("start", "duration") };
const copies = numbers("copies", "bytes", "time", "bytesPerSecond");
const launches = numbers("launches", "captured", "untimed", "time", "mean");
const copyStatistics: Form = { ...copies, small: copies };

const RECORDING: Form = {
  device: "text",
  deviceName: "text",
  ...numbers("timeOrigin", "begun", "duration", "clockError"),
  launchCost: numbers("call", "empty"),
  streams: ["text"],
  work: [({ kind }) => ({
    kind: new Set(Object.keys(WORK)),
    ...numbers("stream", "enqueued", "enqueueTime", "start", "duration"),
    ...WORK[String(kind)],
  })],
  compilations: [{ ...span, cached: "flag" }],
  ranges: [({ stream }) => stream === undefined ? span : { ...span, stream: "number" }],
  memory: [numbers("time", "live", "reserved")],
  dropped: numbers("work", "compilations", "ranges", "memory"),
  statistics: {
    kernels: [{
      ...launches,
      kernel: "text",
      occupancy: "number",
      limiter: new Set([...LIMITERS, null]),
    }],
    launches,
    hostToDevice: copyStatistics,
    deviceToHost: copyStatistics,
    deviceToDevice: copyStatistics,
    peer: copyStatistics,
    memory: numbers("growths", "grownBytes", "shrinks", "initialReserved", "peakReserved"),
  },
};

function check(form: Form, value: unknown, place: string, action: string): void {
  const requireThat = (isRight: boolean, allowed: string) => {
    if (isRight) return;
    throw new TypeError(
      `Cannot ${action} as ${place} must be ${allowed}: it is ${describeValue(value)}`,
    );
  };
  if (typeof form === "string") {
    const [allowed, holds] = KINDS[form];
    requireThat(holds(value), allowed);
  } else if (form instanceof Set) requireThat(form.has(value), `one of ${[...form].join(", ")}`);
  else if (Array.isArray(form)) {
    requireThat(Array.isArray(value), "an array");
    // Also the holes of a sparse array.
    for (const [index, each] of (value as unknown[]).entries()) {
      check(form[0], each, `${place}[${index}]`, action);
    }
  } else {
    requireObject(value, place, action);
    const members = value as Readonly<Record<string, unknown>>;
    if (typeof form === "function") return check(form(members), value, place, action);
    for (const [name, each] of Object.entries(form)) {
      check(each, members[name], `${place}.${name}`, action);
    }
  }
}

/**
 * Checks the fields of a recording that other modules read.
 *
 * @param place The name of the value in the error message.
 * @throws {TypeError} If a field is missing or has the wrong type.
 * @throws {RangeError} If a record names a stream that does not exist.
 */
export function requireRecording(
  value: unknown,
  place: string,
  action: string,
): asserts value is TraceRecording {
  check(RECORDING, value, place, action);
  const { streams, work, ranges } = value as TraceRecording;
  for (const { stream } of [...work, ...ranges]) {
    if (stream === undefined || stream in streams) continue;
    throw new RangeError(
      `Cannot ${action} as the streams of ${place} must be in 0..${streams.length - 1}: ` +
        `one is ${stream}`,
    );
  }
}
