/**
 * Validates recordings, which may come from a file or a worker.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { Occupancy } from "../../launch/occupancy.ts";
import type { TraceRecording } from "./recording.ts";
import type { CopyDirection, CopyHostMemory } from "../../stream/activity.ts";

/** Throws if a value is malformed; `place` names the value in the message. */
type Check = (value: unknown, place: string, action: string) => void;

function refuse(action: string, place: string, allowed: string, value: unknown): never {
  throw new TypeError(
    `Cannot ${action} as ${place} must be ${allowed}: it is ${describeValue(value)}`,
  );
}

const number: Check = (value, place, action) => {
  if (!Number.isFinite(value)) refuse(action, place, "a finite number", value);
};

const text: Check = (value, place, action) => {
  if (typeof value !== "string") refuse(action, place, "a text", value);
};

const flag: Check = (value, place, action) => {
  if (typeof value !== "boolean") refuse(action, place, "true or false", value);
};

function oneOf(values: readonly unknown[]): Check {
  return (value, place, action) => {
    if (!values.includes(value)) refuse(action, place, `one of ${values.join(", ")}`, value);
  };
}

function listOf(check: Check): Check {
  return (value, place, action) => {
    if (!Array.isArray(value)) refuse(action, place, "an array", value);
    for (let index = 0; index < value.length; index++) {
      check(value[index], `${place}[${index}]`, action);
    }
  };
}

function record(fields: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(fields);
  return (value, place, action) => {
    requireObject(value, place, action);
    const members = value as Readonly<Record<string, unknown>>;
    for (const [name, check] of checks) check(members[name], `${place}.${name}`, action);
  };
}

function numbers<Name extends string>(...names: readonly Name[]): Record<Name, Check> {
  return Object.fromEntries(names.map((name) => [name, number])) as Record<Name, Check>;
}

const LIMITERS: readonly Occupancy["limiter"][] = [
  "warps",
  "blocks",
  "registers",
  "sharedMemory",
  "barriers",
];
const DIRECTIONS: readonly CopyDirection[] = [
  "hostToDevice",
  "deviceToHost",
  "deviceToDevice",
  "peer",
];
const HOST_MEMORY: readonly CopyHostMemory[] = ["pinned", "staged", "pageable", "none"];

const work = numbers("stream", "enqueued", "enqueueTime", "start", "duration");
const WORK: Readonly<Record<string, Check>> = {
  kernel: record({
    ...work,
    name: text,
    grid: listOf(number),
    block: listOf(number),
    limiter: oneOf(LIMITERS),
    ...numbers("registersPerThread", "staticSharedMemory", "dynamicSharedMemory"),
    ...numbers("occupancy", "bytes"),
  }),
  copy: record({
    ...work,
    direction: oneOf(DIRECTIONS),
    hostMemory: oneOf(HOST_MEMORY),
    bytes: number,
  }),
  graph: record({ ...work, nodes: number }),
};

const anyWork: Check = (value, place, action) => {
  requireObject(value, place, action);
  const { kind } = value as { kind?: unknown };
  oneOf(Object.keys(WORK))(kind, `${place}.kind`, action);
  WORK[kind as string]!(value, place, action);
};

const maybeNumber: Check = (value, place, action) => {
  if (value !== undefined) number(value, place, action);
};

const copies = numbers("copies", "bytes", "time", "bytesPerSecond");
const launches = numbers("launches", "captured", "untimed", "time", "mean");
const copyStatistics = record({ ...copies, small: record(copies) });

const RECORDING = record({
  device: text,
  deviceName: text,
  ...numbers("timeOrigin", "begun", "duration", "clockError"),
  launchCost: record(numbers("call", "empty")),
  streams: listOf(text),
  work: listOf(anyWork),
  compilations: listOf(record({ name: text, ...numbers("start", "duration"), cached: flag })),
  ranges: listOf(record({ name: text, ...numbers("start", "duration"), stream: maybeNumber })),
  memory: listOf(record(numbers("time", "live", "reserved"))),
  dropped: record(numbers("work", "compilations", "ranges", "memory")),
  statistics: record({
    kernels: listOf(record({
      ...launches,
      kernel: text,
      occupancy: number,
      limiter: oneOf([...LIMITERS, null]),
    })),
    launches: record(launches),
    hostToDevice: copyStatistics,
    deviceToHost: copyStatistics,
    deviceToDevice: copyStatistics,
    peer: copyStatistics,
    memory: record(
      numbers("growths", "grownBytes", "shrinks", "initialReserved", "peakReserved"),
    ),
  }),
});

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
  RECORDING(value, place, action);
  const { streams, work, ranges } = value as TraceRecording;
  for (const { stream } of [...work, ...ranges]) {
    if (stream === undefined || stream in streams) continue;
    throw new RangeError(
      `Cannot ${action} as the streams of ${place} must be in 0..${streams.length - 1}: ` +
        `one is ${stream}`,
    );
  }
}
