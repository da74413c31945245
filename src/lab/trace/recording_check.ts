/**
 * Validates recordings, which may come from a file or a worker.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { TraceRecording } from "./recording.ts";

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
